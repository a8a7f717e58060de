import ArgumentParser
import ControlWire

/// The steps of the developer and the reviewer.
extension ProductCommand {
    struct Submit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Submit products for review, alone or together with a version of the app.",
            discussion: """
                All products are submitted, or none.

                  cornerstore product submit com.example.monkeys.credits5
                  cornerstore product submit com.example.monkeys.credits5 com.example.monkeys.jungle --app-version 1.2
                """)
        @Argument(help: ArgumentHelp("The products' identifiers.", valueName: "product"))
        var products: [String]
        @Option(help: ArgumentHelp("The version of the app that is submitted too.", valueName: "version"))
        var appVersion: String?
        @OptionGroup var target: ManagedTarget
        @OptionGroup var options: ManagedOptions

        func run() async throws {
            let client = try options.control.client()
            var known: [ControlAPI.ManagedProduct] = []
            for product in products { known.append(try await target.product(product, client)) }
            guard let bundleID = known.first?.bundleId, known.allSatisfy({ $0.bundleId == bundleID }) else {
                throw CommandError(.usage, "The products belong to several apps. Submit those of one app at a time.")
            }
            let submission = ControlAPI.Submission(
                products: known.map { .init(productId: $0.productId, revision: $0.revision) },
                appVersion: appVersion, by: options.author)
            try options.report(
                try await client.send(.managed(.submit(bundleID)), submission) as [ControlAPI.ManagedProduct])
        }
    }

    struct Review: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "As the reviewer: start the review of a submitted product.",
            discussion: """
                  cornerstore product review com.example.monkeys.credits5
                """)
        @OptionGroup var step: ProductStep

        func run() async throws { try await step.take(.review) }
    }

    struct Approve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "As the reviewer: approve a submitted product, which production then sells.",
            discussion: """
                  cornerstore product approve com.example.monkeys.credits5
                """)
        @OptionGroup var step: ProductStep

        func run() async throws { try await step.take(.approve) }
    }

    struct Reject: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "As the reviewer: reject a submitted product with a reason.",
            discussion: """
                  cornerstore product reject com.example.monkeys.credits5 --reason "The name is misleading."
                """)
        @OptionGroup var step: ProductStep
        @Option(help: "The reason for the rejection.")
        var reason: String

        func run() async throws { try await step.take(.reject, reason: reason) }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a product from sale in both environments.",
            discussion: """
                  cornerstore product remove com.example.monkeys.credits5
                """)
        @OptionGroup var step: ProductStep

        func run() async throws { try await step.take(.remove) }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a product on sale again that was removed from sale.",
            discussion: """
                  cornerstore product restore com.example.monkeys.credits5
                """)
        @OptionGroup var step: ProductStep

        func run() async throws { try await step.take(.restore) }
    }
}

/// The product and the options of a step.
struct ProductStep: ParsableArguments {
    @Argument(help: "The product's identifier.")
    var product: String
    @OptionGroup var target: ManagedTarget
    @OptionGroup var options: ManagedOptions

    func take(_ step: ManagedRoute.Step, reason: String? = nil) async throws {
        let client = try options.control.client()
        let known = try await target.product(product, client)
        let body = ControlAPI.ManagedStep(revision: known.revision, reason: reason, by: options.author)
        try options.report(
            try await client.send(.managed(.step(step, known.bundleId, known.productId)), body)
                as ControlAPI.ManagedProduct)
    }
}
