import ArgumentParser
import ControlWire
import Store

/// `cornerstore content rule`: chooses manual or automatic review.
struct ContentRuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule",
        abstract: "Choose whether new submissions are reviewed manually or approved at once.",
        discussion: """
            The default is manual review. A product's rule overrides its app's rule.

              cornerstore content rule automatic --app com.example.book
              cornerstore content rule manual --product com.example.book.chapter2
            """)

    @Argument(help: "manual or automatic.")
    var review: ContentReview
    @Option(
        help: ArgumentHelp(
            "The product. Without it, the rule applies to all products of the app.", valueName: "product-id"))
    var product: String?
    @Option(
        help: ArgumentHelp(
            "The app's bundle id. Required without --product, or when several apps sell the product.",
            valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let bundleID: String
        if let product {
            bundleID = try await AppSelection.bundleID(of: product, app: app, client)
        } else if let app {
            bundleID = app
        } else {
            throw CommandError(.usage, "Give --product, or --app for all products of an app.")
        }
        try await client.perform(
            .setContentRule, ControlAPI.ContentRule(bundleId: bundleID, productId: product, review: review.rawValue))
        Console.current.print("Review is \(review.rawValue) for \(product ?? "all products of \(bundleID)").")
    }
}

extension ContentReview: ExpressibleByArgument {}
