import ArgumentParser
import StoreServer

/// `cornerstore content submit`: hands a version to review.
struct ContentSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit a version for review.",
        discussion: """
            Without VERSION it is the newest that is Ready to Submit.

              cornerstore content submit com.example.book.chapter2
              cornerstore content submit com.example.book.chapter2 1.1
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version.")
    var version: String?

    func run() async throws {
        try await ContentStepAction(step: "submit", states: ["READY_TO_SUBMIT"], target: target, version: version).run()
    }
}

/// `cornerstore content review`: begins a review.
struct ContentReviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "As the reviewer: begin to review a version that was submitted.",
        discussion: """
              cornerstore content review com.example.book.chapter2
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version.")
    var version: String?

    func run() async throws {
        try await ContentStepAction(step: "review", states: ["WAITING_FOR_REVIEW"], target: target, version: version)
            .run()
    }
}

/// `cornerstore content approve`: puts a version on sale.
struct ContentApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "As the reviewer: approve a version, which production gives to buyers from now on.",
        discussion: """
              cornerstore content approve com.example.book.chapter2
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version.")
    var version: String?

    func run() async throws {
        try await ContentStepAction(
            step: "approve", states: ["WAITING_FOR_REVIEW", "IN_REVIEW"], target: target, version: version
        ).run()
    }
}

/// `cornerstore content reject`: sends a version back.
struct ContentRejectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reject",
        abstract: "As the reviewer: reject a version, and say why.",
        discussion: """
            The sandbox still gives it, so that the developer sees what the reviewer saw.

              cornerstore content reject com.example.book.chapter2 --reason "The pictures are blank."
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version.")
    var version: String?
    @Option(help: "Why.")
    var reason: String

    func run() async throws {
        try await ContentStepAction(
            step: "reject", states: ["WAITING_FOR_REVIEW", "IN_REVIEW"], target: target, version: version
        ).run(ControlAPI.Rejection(reason: reason))
    }
}

/// `cornerstore content remove`: takes a version from sale.
struct ContentRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a version from sale; the next older approved one takes its place.",
        discussion: """
              cornerstore content remove com.example.book.chapter2 1.1
            """)

    @OptionGroup var target: ContentTarget
    @Argument(help: "The version.")
    var version: String

    func run() async throws {
        try await ContentStepAction(
            step: "remove",
            states: ["READY_TO_SUBMIT", "WAITING_FOR_REVIEW", "IN_REVIEW", "APPROVED", "REJECTED"], target: target,
            version: version
        ).run()
    }
}
