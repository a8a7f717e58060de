import ArgumentParser
import ControlWire

extension AppCommand {
    /// `cornerstore app show`: an app with its products.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an app with its products, or one product in all storefronts.",
            discussion: """
                Without --product the prices are those of the app's default storefront.

                  cornerstore app show com.example.app
                  cornerstore app show com.example.app --product com.example.app.coins --json
                """)
        @Argument(help: "The app's bundle id.")
        var bundleID: String
        @Option(help: ArgumentHelp("Show only this product.", valueName: "product-id"))
        var product: String?
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let app: ControlAPI.CatalogApp = try await control.client().send(.app(bundle: bundleID, product: product))
            try Console.current.report(app, json: output.json) { style in
                let head = Table.fields(
                    [
                        ("app", app.bundleId), ("name", app.name), ("app id", app.appId.map(String.init)),
                        ("storefront", app.storefront), ("file", app.file),
                        ("line", app.products.count == 1 ? app.products[0].line.map(String.init) : nil),
                    ], style)
                let rows = app.products.map { product in
                    let price = product.prices.first { $0.storefront == app.storefront } ?? product.prices.first
                    return [
                        product.productId, product.kind, price.map { "\($0.price) \($0.currency)" } ?? "not sold",
                        product.referenceName ?? "", product.texts.map(\.locale).joined(separator: " "),
                        product.subscription?.period ?? "",
                    ]
                }
                let table = Table(
                    heading: ["product", "kind", "price", "reference name", "languages", "period"], rows: rows)
                return head + "\n\n" + table.text(style)
            }
        }
    }

    /// `cornerstore app secret`: the shared secret of an app.
    struct Secret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the shared secret of an app, the “password” of a verifyReceipt request.")
        @Argument(help: "The app's bundle id.")
        var bundleID: String
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let secret: ControlAPI.SharedSecret = try await control.client().send(.revealSecret(bundle: bundleID))
            try Console.current.report(secret, json: output.json) { _ in secret.sharedSecret }
        }
    }

    /// `cornerstore app problems`: the state of the catalog's files.
    struct Problems: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the catalog's files, and why a changed one was not loaded.")
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let state: ControlAPI.CatalogState = try await control.client().send(.catalog)
            try Console.current.report(state, json: output.json) { style in
                var fields: [(String, String?)] = state.files.map { ("file", $0) }
                fields.append(("loaded", state.loadedDate))
                let files = Table.fields(fields, style)
                guard !state.problems.isEmpty else { return files + "\nNo problems." }
                let problems = state.problems.map { problem in
                    let place = [problem.line, problem.column].compactMap { $0.map(String.init) }
                    return Style.printable(
                        ([([problem.file] + place).joined(separator: ":")]
                            + (problem.keyPath.isEmpty ? [] : [problem.keyPath]) + [problem.message])
                            .joined(separator: ": "))
                }
                return files + "\nThe old catalog stays in use:\n" + problems.joined(separator: "\n")
            }
        }
    }
}
