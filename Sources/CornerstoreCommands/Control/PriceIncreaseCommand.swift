import ArgumentParser
import ControlWire
import StoreWire

/// `cornerstore price-increase`: orders price increases of subscriptions and shows the customers' answers.
struct PriceIncreaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "price-increase",
        abstract: "Ask a customer to accept a higher subscription price.",
        discussion: """
            The device asks at the app's next launch, unless the app defers it (paymentQueueShouldShowPriceConsent).

              cornerstore price-increase add com.example.app.club 6.99 --account anna@example.com
              cornerstore price-increase list --account anna@example.com
            """,
        subcommands: [List.self, Add.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @Option(help: ArgumentHelp("The subscriber's account.", valueName: "email"))
        var account: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        static func text(_ increases: [ControlAPI.PriceIncrease], _ style: Style) -> String {
            let rows = increases.map {
                [
                    $0.productId, "\($0.oldPrice) \($0.currency)", "\($0.newPrice) \($0.currency)",
                    $0.answer ?? "none yet",
                ]
            }
            return Table(heading: ["product", "from", "to", "answer"], rows: rows).text(style)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List an account's price increases and answers.")
        @OptionGroup var options: Options

        func run() async throws {
            let increases: [ControlAPI.PriceIncrease] = try await options.control.client().send(
                .priceIncreases(options.environment.environment, account: options.account))
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
        @Option(
            help: ArgumentHelp(
                "The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var options: Options

        func validate() throws {
            guard Money(decimal: price, currency: "XXX") != nil else {
                throw ValidationError("The price must be a decimal such as 9.99, not “\(price)”.")
            }
        }

        func run() async throws {
            let client = try options.control.client()
            let bundleID = try await AppSelection.bundleID(of: product, app: app, client)
            let increase: ControlAPI.PriceIncrease = try await client.send(
                .increasePrice(options.environment.environment),
                ControlAPI.NewPriceIncrease(
                    bundleId: bundleID, productId: product, account: options.account, price: price))
            try Console.current.report(increase, json: options.output.json) { Options.text([increase], $0) }
        }
    }
}
