import ArgumentParser
import StoreServer

/// `cornerstore promote`: a product that a customer taps in the store itself.
struct PromoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Promote a product to an account, as if the customer had tapped it in the store.",
        discussion: """
            The app is asked (shouldAddStorePayment) when it is next launched, within a day.

              cornerstore promote com.example.app.coins --account anna@example.com
            """)

    @Argument(help: "The product's identifier.")
    var product: String
    @Option(help: ArgumentHelp("Who tapped it.", valueName: "email"))
    var account: String
    @Option(help: ArgumentHelp("The app, when several sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let client = try control.client()
        let bundleID = try await Seller.find(product, app: app, client)
        let promoted: ControlAPI.Promoted = try await client.send(
            "POST", ControlClient.path(environment.environment, "promoted"),
            ControlAPI.Promotion(bundleId: bundleID, productId: product, account: account))
        try Console.current.report(promoted, json: output.json) { style in
            style.good("Promoted.") + " \(bundleID) is asked about \(product) at its next launch."
        }
    }
}
