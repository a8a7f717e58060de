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

extension CatalogProduct {
    /// A product that was read from a `.storekit` file, with what such a file cannot say from an earlier description of
    /// the product: the parts that ``StoreKitFileWriter`` lists as omitted.
    func keepingWhatStoreKitOmits(of earlier: CatalogProduct) -> CatalogProduct {
        let earlier = earlier.completedForStoreKit
        var product = self
        product.prices = prices.keepingExceptions(of: earlier.prices)
        product.availability = earlier.availability
        product.isHosted = earlier.isHosted
        guard var subscription, let old = earlier.subscription else { return product }
        subscription.preservesPrice = old.preservesPrice
        subscription.introductoryOffers = Self.kept(subscription.introductoryOffers, of: old.introductoryOffers)
        subscription.promotionalOffers = Self.kept(subscription.promotionalOffers, of: old.promotionalOffers)
        subscription.codeOffers = Self.kept(subscription.codeOffers, of: old.codeOffers)
        subscription.winBackOffers = Self.kept(subscription.winBackOffers, of: old.winBackOffers)
        product.subscription = subscription
        return product
    }

    /// The offers with the rest of the earlier ones that have the same identifier, or without one, Xcode's identifier.
    private static func kept(_ offers: [CatalogOffer], of earlier: [CatalogOffer]) -> [CatalogOffer] {
        offers.map { offer in
            let named = earlier.filter { isSame($0.offerID, offer.offerID) }
            let identified = named.first { isSame($0.internalID, offer.internalID) }
            guard let old = identified ?? (offer.offerID == nil ? nil : named.first) else { return offer }
            var kept = offer
            kept.winBack = old.winBack
            if offer.paymentMode != .free, let prices = old.prices {
                kept.prices = offer.prices?.keepingExceptions(of: prices)
            }
            return kept
        }
    }

    private static func isSame(_ first: String?, _ second: String?) -> Bool {
        guard let first, let second else { return first == nil && second == nil }
        return first.hasSameBytes(as: second)
    }
}

extension CatalogPrices {
    /// The amount with the earlier amounts by storefront and currency.
    fileprivate func keepingExceptions(of earlier: CatalogPrices) -> CatalogPrices {
        CatalogPrices(amount: amount, byStorefront: earlier.byStorefront, byCurrency: earlier.byCurrency)
    }
}
