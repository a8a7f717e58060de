import ArgumentParser
import ControlWire

/// `cornerstore content submit`: submits a version for review.
struct ContentSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit a version for review.",
        discussion: """
            Without VERSION, the command submits the newest version that is Ready to Submit.

              cornerstore content submit com.example.book.chapter2
              cornerstore content submit com.example.book.chapter2 1.1
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version. The default is the newest version that allows this step.")
    var version: String?

    func run() async throws {
        try await ContentStepAction(step: .submit, states: ["READY_TO_SUBMIT"], target: target, version: version).run()
    }
}

/// `cornerstore content review`: starts a review.
struct ContentReviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "As the reviewer: start the review of a submitted version.",
        discussion: """
              cornerstore content review com.example.book.chapter2
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version. The default is the newest version that allows this step.")
    var version: String?

    func run() async throws {
        try await ContentStepAction(step: .review, states: ["WAITING_FOR_REVIEW"], target: target, version: version)
            .run()
    }
}

/// `cornerstore content approve`: approves a version.
struct ContentApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "As the reviewer: approve a version, which production then delivers to buyers.",
        discussion: """
              cornerstore content approve com.example.book.chapter2
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version. The default is the newest version that allows this step.")
    var version: String?

    func run() async throws {
        try await ContentStepAction(
            step: .approve, states: ["WAITING_FOR_REVIEW", "IN_REVIEW"], target: target, version: version
        ).run()
    }
}

/// `cornerstore content reject`: rejects a version.
struct ContentRejectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reject",
        abstract: "As the reviewer: reject a version with a reason.",
        discussion: """
            The sandbox still delivers the rejected version, so that the developer can see the reviewed content.

              cornerstore content reject com.example.book.chapter2 --reason "The pictures are blank."
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version. The default is the newest version that allows this step.")
    var version: String?
    @Option(help: "The reason for the rejection.")
    var reason: String

    func run() async throws {
        try await ContentStepAction(
            step: .reject, states: ["WAITING_FOR_REVIEW", "IN_REVIEW"], target: target, version: version
        ).run(ControlAPI.Rejection(reason: reason))
    }
}

/// `cornerstore content remove`: removes a version from sale.
struct ContentRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a version from sale. The next older approved version replaces it.",
        discussion: """
              cornerstore content remove com.example.book.chapter2 1.1
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version to remove.")
    var version: String

    func run() async throws {
        try await ContentStepAction(
            step: .remove,
            states: ["READY_TO_SUBMIT", "WAITING_FOR_REVIEW", "IN_REVIEW", "APPROVED", "REJECTED"], target: target,
            version: version
        ).run()
    }
}
