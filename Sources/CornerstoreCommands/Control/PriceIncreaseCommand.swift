import ArgumentParser
import ControlWire
import StoreWire

/// `cornerstore price-increase`: orders and withdraws price increases of subscriptions, and shows and gives answers.
struct PriceIncreaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "price-increase",
        abstract: "Ask a customer to accept a higher subscription price.",
        discussion: """
            The device asks at the app's next launch, unless the app defers it (paymentQueueShouldShowPriceConsent).

              cornerstore price-increase add com.example.app.club 6.99 --account anna@example.com
              cornerstore price-increase list --account anna@example.com
              cornerstore price-increase accept com.example.app.club --account anna@example.com
              cornerstore price-increase withdraw com.example.app.club --account anna@example.com
            """,
        subcommands: [List.self, Add.self, Accept.self, Decline.self, Withdraw.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        static func text(_ increases: [ControlAPI.PriceIncrease], _ style: Style) -> String {
            let rows = increases.map {
                [
                    $0.account ?? "", $0.productId, "\($0.oldPrice) \($0.currency)", "\($0.newPrice) \($0.currency)",
                    $0.answer ?? "none yet",
                ]
            }
            return Table(heading: ["account", "product", "from", "to", "answer"], rows: rows).text(style)
        }

        /// Gives the customer's answer and shows the increase.
        func answer(_ product: String, _ subscriber: Subscriber, accepts: Bool) async throws {
            let client = try control.client()
            let bundleID = try await subscriber.bundleID(of: product, client)
            let increase: ControlAPI.PriceIncrease = try await client.send(
                .answerPriceIncrease(environment.environment),
                ControlAPI.PriceAnswer(
                    bundleId: bundleID, productId: product, account: subscriber.account, accepts: accepts))
            try Console.current.report(increase, json: output.json) { Self.text([increase], $0) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List an account's price increases and answers, or the newest 200 of all accounts.")
        @Option(help: ArgumentHelp("The subscriber's account.", valueName: "email"))
        var account: String?
        @OptionGroup var options: Options

        func run() async throws {
            let increases: [ControlAPI.PriceIncrease] = try await options.control.client().send(
                .priceIncreases(options.environment.environment, account: account))
            try Console.current.report(increases, json: options.output.json) { style in
                increases.isEmpty ? "No price increases." : Options.text(increases, style)
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a price increase. It replaces an earlier one for the same product.")
        @Argument(help: "The subscription's identifier.")
        var product: String
        @Argument(help: "The new price, in the account's currency.")
        var price: String
        @OptionGroup var subscriber: Subscriber
        @OptionGroup var options: Options

        func validate() throws {
            guard Money(decimal: price, currency: "XXX") != nil else {
                throw ValidationError("The price must be a decimal such as 9.99, not “\(price)”.")
            }
        }

        func run() async throws {
            let client = try options.control.client()
            let bundleID = try await AppSelection.bundleID(of: product, app: subscriber.app, client)
            let increase: ControlAPI.PriceIncrease = try await client.send(
                .increasePrice(options.environment.environment),
                ControlAPI.NewPriceIncrease(
                    bundleId: bundleID, productId: product, account: subscriber.account, price: price))
            try Console.current.report(increase, json: options.output.json) { Options.text([increase], $0) }
        }
    }

    /// The options that name a subscriber and an app.
    struct Subscriber: ParsableArguments {
        @Option(help: ArgumentHelp("The subscriber's account.", valueName: "email"))
        var account: String
        @Option(
            help: ArgumentHelp(
                "The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
        var app: String?

        /// Returns the app's bundle identifier. An app that is named need not sell the product any more.
        func bundleID(of product: String, _ client: ControlClient) async throws -> String {
            if let app { return app }
            return try await AppSelection.bundleID(of: product, app: nil, client)
        }
    }

    struct Accept: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Accept a price increase for the customer, as on the customer's device.")
        @Argument(help: "The subscription's identifier.")
        var product: String
        @OptionGroup var subscriber: Subscriber
        @OptionGroup var options: Options

        func run() async throws { try await options.answer(product, subscriber, accepts: true) }
    }

    struct Decline: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Decline a price increase for the customer. The subscription ends with its current period.")
        @Argument(help: "The subscription's identifier.")
        var product: String
        @OptionGroup var subscriber: Subscriber
        @OptionGroup var options: Options

        func run() async throws { try await options.answer(product, subscriber, accepts: false) }
    }

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Withdraw a price increase that the customer has not answered.")
        @Argument(help: "The subscription's identifier.")
        var product: String
        @OptionGroup var subscriber: Subscriber
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            let client = try control.client()
            let bundleID = try await subscriber.bundleID(of: product, client)
            try await client.perform(
                .withdrawPriceIncrease(
                    environment.environment, account: subscriber.account, bundle: bundleID, product: product))
            Console.current.print(Console.current.style.good("Withdrawn."))
        }
    }
}
