import ArgumentParser
import ControlWire

/// `cornerstore code`: creates and lists codes for free products.
struct CodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "code",
        abstract: "Create, list and withdraw codes. Each code gives a product for free, once.",
        discussion: """
            An app asks the customer for a code with presentCodeRedemptionSheet().

              cornerstore code add com.example.app.coins
              cornerstore code list
              cornerstore code withdraw 7K2M9Q4RX8T1V5WZ
            """,
        subcommands: [List.self, Add.self, Withdraw.self], defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the codes, newest first.")
        @OptionGroup var options: Options

        func run() async throws {
            let codes: [ControlAPI.Code] = try await options.control.client().send(
                .codes(options.environment.environment))
            try Console.current.report(codes, json: options.output.json) { style in
                guard !codes.isEmpty else { return "No codes." }
                let rows = codes.map { [$0.code, $0.productId, $0.transactionId ?? "not redeemed"] }
                return Table(heading: ["code", "product", "transaction"], rows: rows).text(style)
            }
        }
    }

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Withdraw a code that nobody has redeemed.")
        @Argument(help: "The code.")
        var code: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            try await control.client().perform(.withdrawCode(environment.environment, code: code))
            Console.current.print(Console.current.style.good("Withdrawn."))
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a code.")
        @Argument(help: "The product's identifier.")
        var product: String
        @Option(
            help: ArgumentHelp(
                "The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
        var app: String?
        @OptionGroup var options: Options

        func run() async throws {
            let client = try options.control.client()
            let bundleID = try await AppSelection.bundleID(of: product, app: app, client)
            let code: ControlAPI.Code = try await client.send(
                .addCode(options.environment.environment), ControlAPI.NewCode(bundleId: bundleID, productId: product))
            try Console.current.report(code, json: options.output.json) { _ in code.code }
        }
    }
}
