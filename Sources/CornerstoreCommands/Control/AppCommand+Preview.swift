import ArgumentParser
import ControlWire

extension AppCommand {
    /// `cornerstore app preview`: the products as an app's request for products finds them.
    struct Preview: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an app's products as devices get them, and the invalid identifiers with the reason.",
            discussion: """
                A device learns only that an identifier is invalid (SKProductsResponse.invalidProductIdentifiers). This command \
                says why: the product is unknown, a draft, not in the storefront, or removed from sale.

                  cornerstore app preview com.example.app
                  cornerstore app preview com.example.app --storefront DEU --language de
                  cornerstore app preview com.example.app --product com.example.app.coins --account anna@example.com
                """)
        @Argument(help: "The app's bundle id.")
        var bundleID: String
        @Option(help: ArgumentHelp("Ask for this identifier only; any text.", valueName: "product-id"))
        var product: String?
        @Option(
            help: ArgumentHelp(
                "The storefront's country code. The default is the customer's, else the app's.", valueName: "country"))
        var storefront: String?
        @Option(
            help: ArgumentHelp(
                "The device's languages, best first, with commas between them, such as de,en.", valueName: "languages"))
        var language: String?
        @Option(
            help: ArgumentHelp(
                "The customer, by address or id. The default is a customer who is not signed in.", valueName: "account")
        )
        var account: String?
        @Option(help: ArgumentHelp("Continue after this identifier, for the next page.", valueName: "product-id"))
        var after: String?
        @Option(parsing: .unconditional, help: "The maximum number of identifiers, 1 to 200.")
        var limit = 50
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            let preview: ControlAPI.Preview = try await control.client().send(
                .preview(
                    environment.environment,
                    PreviewQuery(
                        bundle: bundleID, product: product, storefront: storefront, language: language,
                        account: account, after: after, limit: limit)))
            try Console.current.report(preview, json: output.json) { style in
                let head = Table.fields(
                    [
                        ("app", preview.bundleId), ("name", preview.name),
                        ("storefront", "\(preview.storefront) \(preview.storefrontId)"), ("account", preview.account),
                        ("may pay", preview.paymentsAllowed.map { $0 ? "yes" : "no" }), ("next", preview.next),
                    ], style)
                let products = Table(
                    heading: ["product", "price", "name", "description", "period", "owned"],
                    rows: preview.products.map { product in
                        [
                            product.productId, product.price.text, product.displayName, product.description,
                            product.subscription?.period ?? "", product.owned == true ? "owned" : "",
                        ]
                    })
                let invalid = Table(
                    heading: ["invalid identifier", "reason"], rows: preview.invalid.map { [$0.productId, $0.message] })
                let tables = [
                    preview.products.isEmpty ? nil : products.text(style),
                    preview.invalid.isEmpty ? nil : invalid.text(style),
                ]
                return ([head] + tables.compactMap { $0 }).joined(separator: "\n\n")
            }
        }
    }
}
