import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

extension CatalogApp {
    /// The app with everything that a `.storekit` file requires: a file version that supports all its features, and
    /// Xcode's identifiers of the file, the products and the offers. Both reading and writing complete the app, so that
    /// a converted file describes the same app as the original.
    var completedForStoreKit: CatalogApp {
        var settings = settings
        if needsVersionFive, settings.version.major < 5 {
            settings.version = StoreKitFileVersion(major: 5, minor: 0)
        }
        // The files of Xcode 12 have no identifier.
        if settings.version.major > 1 {
            settings.identifier = settings.identifier ?? Self.madeID(bundleID.rawValue)
        }
        return CatalogApp(
            bundleID: bundleID, name: name, products: products.map(\.completedForStoreKit), groups: groups,
            settings: settings, unknown: unknown)
    }

    private var needsVersionFive: Bool {
        products.compactMap(\.subscription).contains {
            $0.introductoryOffers.count > 1 || !$0.billingPlans.isEmpty
        }
    }

    /// Eight hexadecimal digits, as Xcode generates them, derived from a text.
    fileprivate static func madeID(_ text: String) -> String {
        Hexadecimal.encoded(SHA256.hash(data: Data(text.utf8)).prefix(4), .upper)
    }
}

extension CatalogProduct {
    fileprivate var completedForStoreKit: CatalogProduct {
        var product = self
        product.internalID = internalID ?? CatalogApp.madeID(productID.rawValue)
        guard var subscription else { return product }
        subscription.introductoryOffers = named(subscription.introductoryOffers, "introductory")
        subscription.promotionalOffers = named(subscription.promotionalOffers, "adHoc")
        subscription.codeOffers = named(subscription.codeOffers, "code")
        subscription.winBackOffers = named(subscription.winBackOffers, "winback")
        product.subscription = subscription
        return product
    }

    private func named(_ offers: [CatalogOffer], _ list: String) -> [CatalogOffer] {
        offers.enumerated().map { index, offer in
            var offer = offer
            offer.internalID = offer.internalID ?? CatalogApp.madeID("\(productID)\n\(list)\n\(index)")
            return offer
        }
    }
}
