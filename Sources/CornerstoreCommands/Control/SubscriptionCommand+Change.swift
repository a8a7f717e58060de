import ArgumentParser
import ControlWire

/// Changes of one subscription by the customer or the operator.
extension SubscriptionCommand {
    /// The account and the subscription that a command changes.
    struct Selection: ParsableArguments {
        @Argument(help: "The account, by address or id.")
        var account: String
        @Option(
            help: ArgumentHelp(
                "The product of the subscription; needed when the account has several.", valueName: "product-id"))
        var product: String?
        @Option(
            help: ArgumentHelp(
                "The app of the subscription; needed when several of the account have the same product id.",
                valueName: "bundle-id"))
        var app: String?
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// Finds the subscription.
        /// - Throws: ``CommandError`` `refused` when the account has no such subscription, `usage` when several.
        func found(_ client: ControlClient) async throws -> ControlAPI.Subscription {
            let all: [ControlAPI.Subscription] = try await client.send(
                .subscriptions(environment.environment, account: account))
            // A family-shared subscription follows the purchaser's.
            let found = all.filter {
                $0.sharedBy == nil && (product == nil || $0.productId == product) && (app == nil || $0.bundleId == app)
            }
            guard let one = found.first else {
                throw CommandError(.refused, "The account \(account) has no such subscription.")
            }
            guard found.count == 1 else {
                let choices = found.map { "\($0.productId) of \($0.bundleId)" }.joined(separator: ", ")
                throw CommandError(
                    .usage, "The account has several subscriptions. Choose one with --product and --app: \(choices).")
            }
            return one
        }

        /// Changes the subscription, and reports its new state.
        func change(_ change: ControlAPI.SubscriptionChange) async throws {
            let client = try control.client()
            let one = try await found(client)
            try report(
                try await client.send(
                    .changeSubscription(environment.environment, id: one.originalTransactionId), change))
        }

        /// Lets something happen to the subscription, and reports its new state.
        func act(_ action: SubscriptionAction, _ body: ControlAPI.SubscriptionExtension? = nil) async throws {
            let client = try control.client()
            let one = try await found(client)
            let route = ControlRoute.actOnSubscription(
                environment.environment, id: one.originalTransactionId, action)
            if let body {
                try report(try await client.send(route, body))
            } else {
                try report(try await client.send(route))
            }
        }

        private func report(_ subscription: ControlAPI.Subscription) throws {
            try Console.current.report(subscription, json: output.json) { SubscriptionCommand.text([subscription], $0) }
        }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn auto-renew off. The subscription ends with its period, or now if a payment is overdue.",
            discussion: """
                  cornerstore subscription cancel anna@example.com
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.change(ControlAPI.SubscriptionChange(willRenew: false)) }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn auto-renew on again, before the period ends.",
            discussion: """
                  cornerstore subscription enable anna@example.com
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.change(ControlAPI.SubscriptionChange(willRenew: true)) }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change the plan: to a higher level now, to a lower one with the next renewal.",
            discussion: """
                The current product takes an earlier choice back.

                  cornerstore subscription change anna@example.com --to com.example.club.yearly
                """)
        @OptionGroup var selection: Selection
        @Option(help: ArgumentHelp("Another product of the same group.", valueName: "product-id"))
        var to: String

        func run() async throws { try await selection.change(ControlAPI.SubscriptionChange(productId: to)) }
    }

    struct Renew: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the period now and renew. Sandbox only.",
            discussion: """
                Auto-renew is on afterwards.

                  cornerstore subscription renew anna@example.com
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.act(.renew) }
    }

    struct Fail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the period now and let the payment of the renewal fail, until “recover”. Sandbox only.",
            discussion: """
                “cornerstore app grace” gives the app's subscribers a grace period.

                  cornerstore subscription fail anna@example.com
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.act(.fail) }
    }

    struct Recover: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Try an overdue payment again, as when the customer corrected the payment data.",
            discussion: """
                  cornerstore subscription recover anna@example.com
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.act(.recover) }
    }

    struct Expire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn auto-renew off and end the period now. Sandbox only.",
            discussion: """
                  cornerstore subscription expire anna@example.com
                """)
        @OptionGroup var selection: Selection

        func run() async throws { try await selection.act(.expire) }
    }

    struct Extend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move the end of the period to a later date.",
            discussion: """
                A subscription can be extended twice in 365 days, and not in a free period.

                  cornerstore subscription extend anna@example.com --days 30
                """)
        @OptionGroup var selection: Selection
        @Option(parsing: .unconditional, help: "The days, 1 to 90.")
        var days: Int

        func run() async throws { try await selection.act(.extend, ControlAPI.SubscriptionExtension(days: days)) }
    }

    struct ExtendAll: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "extend-all", abstract: "Extend all active subscriptions of a product.",
            discussion: """
                  cornerstore subscription extend-all com.example.club.monthly --days 7
                """)
        @Argument(help: "The subscription product.")
        var product: String
        @Option(parsing: .unconditional, help: "The days, 1 to 90.")
        var days: Int
        @Option(help: ArgumentHelp("The app; needed when several have this product.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let client = try control.client()
            let bundle = try await AppSelection.bundleID(of: product, app: app, client)
            let result: ControlAPI.MassExtended = try await client.send(
                .extendSubscriptions(environment.environment),
                ControlAPI.MassExtension(bundleId: bundle, productId: product, days: days))
            try Console.current.report(result, json: output.json) { style in
                style.good("Extended.")
                    + " \(result.succeeded) subscriptions of \(product) by \(days) days; \(result.failed) could not be."
            }
        }
    }

    struct Refund: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refund the last period, in full or in part, refuse a refund, or take one back.",
            discussion: """
                “cornerstore transaction refund” refunds earlier periods.

                  cornerstore subscription refund anna@example.com
                  cornerstore subscription refund anna@example.com --prorated
                  cornerstore subscription refund anna@example.com --decline
                  cornerstore subscription refund anna@example.com --reverse
                """)
        @OptionGroup var selection: Selection
        @Flag(help: "Refund only the part of the period that is not over.")
        var prorated = false
        @Flag(help: "Refuse the refund. The subscription does not change; the app's server receives REFUND_DECLINED.")
        var decline = false
        @Flag(help: "Take the refund back, and charge its amount again.")
        var reverse = false

        func validate() throws {
            guard [prorated, decline, reverse].count(where: { $0 }) <= 1 else {
                throw ValidationError("Give one of --prorated, --decline and --reverse.")
            }
        }

        func run() async throws {
            let client = try selection.control.client()
            let environment = selection.environment.environment
            let one = try await selection.found(client)
            if decline {
                try await client.perform(.declineRefund(environment, id: one.transactionId))
                return try Console.current.report(["declined": true], json: selection.output.json) { _ in
                    "Declined. The subscription stays as it is."
                }
            }
            let result: ControlAPI.Refunded =
                reverse
                ? try await client.send(.reverseRefund(environment, id: one.transactionId))
                : try await client.send(
                    .refund(environment, id: one.transactionId),
                    ControlAPI.Refund(share: prorated ? "prorated" : nil))
            try Console.current.report(result, json: selection.output.json) { style in
                style.good(reverse ? "Reversed." : "Refunded.")
                    + " \(result.amount) \(result.currency) for \(one.productId) \(one.transactionId)."
            }
        }
    }
}
