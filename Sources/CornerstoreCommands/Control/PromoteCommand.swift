import ArgumentParser
import ControlWire

/// `cornerstore promote`: starts a purchase from the store's product page.
struct PromoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Promote a product to an account, as if the customer had tapped it in the store.",
        discussion: """
            The app receives the payment (shouldAddStorePayment) at once if it runs, or at its next launch within a day.

              cornerstore promote com.example.app.coins --account anna@example.com
            """)

    @Argument(help: "The product's identifier.")
    var product: String
    @Option(help: ArgumentHelp("The account that tapped the product.", valueName: "email"))
    var account: String
    @Option(
        help: ArgumentHelp("The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let client = try control.client()
        let bundleID = try await AppSelection.bundleID(of: product, app: app, client)
        let promoted: ControlAPI.Promoted = try await client.send(
            .promote(environment.environment),
            ControlAPI.Promotion(bundleId: bundleID, productId: product, account: account))
        try Console.current.report(promoted, json: output.json) { style in
            style.good("Promoted.")
                + " \(bundleID) receives the payment for \(product) at once if it runs, or at its next launch."
        }
    }
}
