import Foundation
import StoreWire

// The keys of `SKStoreProductViewController`. Apple publishes the constants but not their values. The values here are
// the ones in common use. Use the constants.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The item number of the app or product (`NSNumber`). Apple requires it; here it is optional when the parameters name
/// a product.
public let SKStoreProductParameterITunesItemIdentifier = "id"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The identifier of an in-app purchase of the app (`String`).
public let SKStoreProductParameterProductIdentifier = "productIdentifier"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// A custom product page (`String`). Accepted and ignored: the store has one page for each item.
public let SKStoreProductParameterCustomProductPageIdentifier = "ppid"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The affiliate token of the sale (`String`). Accepted and ignored.
public let SKStoreProductParameterAffiliateToken = "at"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The campaign that led to the page (`String`). Accepted and ignored.
public let SKStoreProductParameterCampaignToken = "ct"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The provider of the campaign (`String`). Accepted and ignored.
public let SKStoreProductParameterProviderToken = "pt"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The advertising partner (`String`). Accepted and ignored.
public let SKStoreProductParameterAdvertisingPartnerToken = "advp"

/// The item that a product view controller should load.
struct StoreProductParameters: Sendable, Equatable {
    var itemIdentifier: Int64?
    var productIdentifier: ProductID?

    /// Accepts the item number as `NSNumber`, as any integer, or as digits, because apps use all of them. Nil for other
    /// values, and when the parameters name neither an item nor a product.
    init?(_ parameters: [String: Any]) {
        if let item = parameters[SKStoreProductParameterITunesItemIdentifier] {
            guard let number = Self.number(item), number > 0 else { return nil }
            itemIdentifier = number
        }
        if let product = parameters[SKStoreProductParameterProductIdentifier] {
            guard let text = product as? String, !text.isEmpty, text.utf8.count <= StoreLimits.identifier else {
                return nil
            }
            productIdentifier = ProductID(text)
        }
        guard itemIdentifier != nil || productIdentifier != nil else { return nil }
    }

    private static func number(_ value: Any) -> Int64? {
        switch value {
        case let number as NSNumber: Int64(exactly: number)
        case let number as any BinaryInteger: Int64(exactly: number)
        case let text as String: Int64(text)
        default: nil
        }
    }
}
