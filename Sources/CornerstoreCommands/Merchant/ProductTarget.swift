import ArgumentParser
import Merchant
import MerchantWire
import StoreWire

/// The product that a command is about. The app may be left out when there is no doubt.
struct ProductTarget: ParsableArguments {
    @Argument(help: "The product's identifier, as the store has it.")
    var product: String
    @Option(
        help: ArgumentHelp(
            "The app's bundle id; may be left out when the merchant has one app.", valueName: "bundle-id"))
    var app: String?

    var productID: ProductID { ProductID(product) }

    /// The app of a product that is on the list.
    /// - Throws: ``CommandError`` when it is not there, or in several apps.
    func known(in list: [MerchantProduct]) throws -> BundleID {
        let products = list.filter { listed in app.map { BundleID($0) == listed.bundleID } ?? true }
        let sellers = products.filter { $0.productID == productID }.map(\.bundleID)
        guard let seller = sellers.first else {
            if let app, products.isEmpty {
                throw CommandError(
                    .refused,
                    "No app \(Style.printable(app)) is on the list. "
                        + Suggestion.text(for: app, among: Self.apps(of: list).map(\.rawValue)))
            }
            throw CommandError(
                .refused,
                "There is no product \(Style.printable(product)) on the list. "
                    + Suggestion.text(for: product, among: products.map(\.productID.rawValue)))
        }
        guard sellers.count == 1 else { throw Self.doubt("Several apps have that product", sellers) }
        return seller
    }

    /// The app of a product that may be new.
    /// - Throws: ``CommandError`` when it could be several.
    func seller(in list: [MerchantProduct]) throws -> BundleID {
        if let app { return BundleID(app) }
        let sellers = list.filter { $0.productID == productID }.map(\.bundleID)
        if sellers.count == 1 { return sellers[0] }
        let apps = Self.apps(of: list)
        guard !apps.isEmpty else {
            throw CommandError(.usage, "Nothing is on the list yet. Name the app of the first product: --app BUNDLE.")
        }
        guard apps.count == 1 else { throw Self.doubt("The merchant has several apps", apps) }
        return apps[0]
    }

    private static func apps(of list: [MerchantProduct]) -> [BundleID] { Set(list.map(\.bundleID)).sorted() }

    private static func doubt(_ why: String, _ apps: [BundleID]) -> CommandError {
        let names = apps.map { Style.printable($0.rawValue) }.joined(separator: ", ")
        return CommandError(.usage, "\(why); choose with --app one of \(names).")
    }
}
