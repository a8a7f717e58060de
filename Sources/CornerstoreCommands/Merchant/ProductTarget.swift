import ArgumentParser
import Merchant
import MerchantWire
import StoreWire

/// The arguments that select a product. The app is optional when only one app matches.
struct ProductTarget: ParsableArguments {
    @Argument(help: "The product's identifier in the store.")
    var product: String
    @Option(
        help: ArgumentHelp(
            "The app's bundle id. Required when the merchant has several apps.", valueName: "bundle-id"))
    var app: String?

    var productID: ProductID { ProductID(product) }

    /// Returns the app of an existing product.
    /// - Throws: ``CommandError`` when no app or several apps have the product.
    func known(in list: [MerchantProduct]) throws -> BundleID {
        guard !list.isEmpty else {
            throw CommandError(
                .refused, "The merchant has no products. Add one with “cornerstore merchant products put” or “load”.")
        }
        let products = list.filter { listed in app.map { BundleID($0) == listed.bundleID } ?? true }
        let sellers = products.filter { $0.productID == productID }.map(\.bundleID)
        guard let seller = sellers.first else {
            if let app, products.isEmpty {
                throw CommandError(
                    .refused,
                    "There is no app \(Style.printable(app)) on the list. "
                        + Suggestion.text(for: app, among: Self.apps(of: list).map(\.rawValue)))
            }
            throw CommandError(
                .refused,
                "There is no product \(Style.printable(product)) on the list. "
                    + Suggestion.text(for: product, among: products.map(\.productID.rawValue)))
        }
        guard sellers.count == 1 else { throw Self.doubt("Several apps have this product", sellers) }
        return seller
    }

    /// Returns the app of a product that may be new.
    /// - Throws: ``CommandError`` when no app or several apps match.
    func seller(in list: [MerchantProduct]) throws -> BundleID {
        if let app { return BundleID(app) }
        let sellers = list.filter { $0.productID == productID }.map(\.bundleID)
        if sellers.count == 1 { return sellers[0] }
        let apps = Self.apps(of: list)
        guard !apps.isEmpty else {
            throw CommandError(.usage, "The list is empty. Give the app of the first product with --app BUNDLE.")
        }
        guard apps.count == 1 else { throw Self.doubt("The merchant has several apps", apps) }
        return apps[0]
    }

    private static func apps(of list: [MerchantProduct]) -> [BundleID] { Set(list.map(\.bundleID)).sorted() }

    private static func doubt(_ why: String, _ apps: [BundleID]) -> CommandError {
        let names = apps.map { Style.printable($0.rawValue) }.joined(separator: ", ")
        return CommandError(.usage, "\(why). Choose one with --app: \(names).")
    }
}
