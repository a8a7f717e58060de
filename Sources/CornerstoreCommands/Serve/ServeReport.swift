import CornerstoreEncoding
import Foundation
import Store
import StoreServer

/// The addresses and files of a running store and its merchant.
struct ServeReport: Encodable {
    struct App: Encodable {
        var bundleId: String
        var name: String?
        var productIds: [String]
    }

    var control: String
    var sandbox: String
    var production: String
    var storefront: String
    /// The number of items that the storefront shows.
    var items: Int
    /// The merchant's base URL; nil for a store without a merchant.
    var merchant: String?
    /// The console's base URL; nil for a store without a console.
    var console: String?
    /// The number of products on the merchant's list; nil for a store without a merchant.
    var merchantProducts: Int?
    var apps: [App]
    var notes: [String]
    var dataDirectory: String
    /// The path of the receipts' root certificate.
    var receiptRoot: String
    /// The path of the signed payloads' root certificate.
    var jwsRoot: String
    /// The path of the file with the apps' shared secrets.
    var sharedSecrets: String
    /// The path of the file with the sandbox tester's e-mail address and password.
    var sandboxTester: String
    /// The e-mail address of the sandbox tester.
    var testerAccount: String?

    init(_ both: StoreAndMerchant, _ addresses: Addresses) {
        let application = both.store
        let data = application.configuration.dataDirectory
        control = addresses.control
        sandbox = addresses.sandbox
        production = addresses.production
        storefront = addresses.storefront
        items = application.catalog.value.items.count
        merchant = addresses.merchant
        console = addresses.console
        merchantProducts = both.merchant.map { _ in both.listedProducts }
        apps = application.catalog.value.apps.map {
            App(bundleId: $0.bundleID.rawValue, name: $0.name, productIds: $0.products.map(\.productID.rawValue))
        }
        notes = application.catalogNotes
        dataDirectory = data.path
        receiptRoot = data.appendingPathComponent("roots/receipt-root.der").path
        jwsRoot = data.appendingPathComponent("roots/jws-root.der").path
        sharedSecrets = data.appendingPathComponent("shared-secrets.json").path
        sandboxTester = data.appendingPathComponent(SandboxTester.fileName).path
        testerAccount = SandboxTester.read(from: data)?.email
    }

    /// The addresses, the files, and commands to try.
    /// - Parameter configuration: the store's configuration. The text has no part of the database's URL, which may
    ///   contain a password.
    func text(_ style: Style, _ configuration: StoreServerConfiguration) -> String {
        let apps = apps.map { app in
            let count = app.productIds.count
            let products = "\(count) product\(count == 1 ? "" : "s")"
            return "  \(style.bold(app.bundleId))  \(products)"
                + (app.name.map { "  \(style.dim(Style.printable($0)))" } ?? "")
        }
        let addresses = Table.fields(
            [
                ("  sandbox", sandbox), ("  production", production), ("  control", control),
                ("  storefront", storefront),
                ("  merchant", merchant), ("  console", console),
            ], style)
        let files = Table.fields(
            [
                ("  data", dataDirectory), ("  receipt root", receiptRoot), ("  JWS root", jwsRoot),
                ("  shared secrets", sharedSecrets),
                ("  sandbox tester", testerAccount.map { "\($0), password in \(sandboxTester)" }),
            ], style)
        let product = self.apps.lazy.flatMap(\.productIds).first
        // A second terminal may lack the variable CORNERSTORE_DATA.
        let isDefault = dataDirectory == DataOptions.directory(DataOptions.defaultPath).path
        let place = isDefault ? "" : " --data " + dataDirectory.shellWord
        let hint = product.map { "Try: cornerstore buy \($0.shellWord)\(place)\n" } ?? ""
        let variable = isDefault ? "" : "CORNERSTORE_DATA=\(dataDirectory.shellWord) "
        let prefix = configuration.schemaPrefix
        let schema = prefix == StoreDatabases.Location.schemaPrefix ? "" : " --schema \(prefix)_merchant"
        let database = configuration.databaseURL == nil ? "" : " --database URL" + schema
        let load = "\(variable)cornerstore merchant products load FILE\(database)"
        let shelf = merchantProducts == 0 ? "The merchant has no products. Add them: \(load)\n" : ""
        let count =
            switch self.apps.count {
            case 0: "It has no app yet. Register one: \(variable)cornerstore app register BUNDLE"
            case 1: "It has one app:"
            default: "It has \(self.apps.count) apps:"
            }
        return """
            \(style.good("The store is running.")) \(([count] + apps).joined(separator: "\n"))

            \(addresses)

            \(files)

            \(hint)\(shelf)Press Ctrl-C to stop it.
            """
    }
}
