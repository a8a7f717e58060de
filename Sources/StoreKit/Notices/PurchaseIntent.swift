import Foundation
import StoreWire

/// A link that asks an app to offer a product. Apple documents it for testing promoted purchases:
/// `itms-services://?action=purchaseIntent&bundleId=com.example.app&productIdentifier=com.example.app.coins`.
struct PurchaseIntent: Sendable, Equatable {
    var bundleID: BundleID
    var productID: ProductID

    /// Nil for another kind of link, and for one that does not name exactly one app and one product.
    init?(_ url: URL) {
        guard url.absoluteString.utf8.count <= 2048, url.scheme?.lowercased() == "itms-services",
            let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems
        else { return nil }
        func value(_ name: String) -> String? {
            let values = items.filter { $0.name == name }.compactMap(\.value)
            guard values.count == 1, let value = values.first, (1...StoreLimits.identifier).contains(value.utf8.count)
            else { return nil }
            return value
        }
        guard value("action") == "purchaseIntent", let bundleID = value("bundleId"),
            let productID = value("productIdentifier")
        else { return nil }
        self.bundleID = BundleID(bundleID)
        self.productID = ProductID(productID)
    }
}
