import ArgumentParser
import Store
import StoreServer

/// `cornerstore content rule`: who decides about what is submitted.
struct ContentRuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule",
        abstract: "Say whether what is submitted from now on is reviewed by somebody, or approved at once.",
        discussion: """
            Review is manual unless a rule says otherwise. A product's rule goes before its app's.

              cornerstore content rule automatic --app com.example.book
              cornerstore content rule manual --product com.example.book.chapter2
            """)

    @Argument(help: "manual or automatic.")
    var review: ContentReview
    @Option(help: ArgumentHelp("The product; all of the app when none is given.", valueName: "product-id"))
    var product: String?
    @Option(help: ArgumentHelp("The app, when several sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let bundleID: String
        if let product {
            bundleID = try await Seller.find(product, app: app, client)
        } else if let app {
            bundleID = app
        } else {
            throw CommandError(.usage, "Say for what: --product, or --app for all products of an app.")
        }
        try await client.perform(
            "PUT", "/content/rule",
            ControlAPI.ContentRule(bundleId: bundleID, productId: product, review: review.rawValue))
        Console.current.print("Review is \(review.rawValue) for \(product ?? "all of \(bundleID)").")
    }
}

extension ContentReview: ExpressibleByArgument {}
