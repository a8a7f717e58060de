import Foundation
import StoreWire

// The keys of `SKStoreProductViewController`. Apple publishes the constants and not the text behind them; the text here
// is the one in common use. Read them through the constants.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The number of the app or product (`NSNumber`); required at Apple's, and here unless a product is named.
public let SKStoreProductParameterITunesItemIdentifier = "id"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The identifier of an in-app purchase of the app (`String`).
public let SKStoreProductParameterProductIdentifier = "productIdentifier"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// A custom product page (`String`). Taken and not used: the store has one page for each item.
public let SKStoreProductParameterCustomProductPageIdentifier = "ppid"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Who is to be credited for the sale (`String`). Taken and not used.
public let SKStoreProductParameterAffiliateToken = "at"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The campaign that led to the page (`String`). Taken and not used.
public let SKStoreProductParameterCampaignToken = "ct"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The provider of the campaign (`String`). Taken and not used.
public let SKStoreProductParameterProviderToken = "pt"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The advertising partner (`String`). Taken and not used.
public let SKStoreProductParameterAdvertisingPartnerToken = "advp"

/// What a product view controller was asked to load.
struct StoreProductParameters: Sendable, Equatable {
    var itemIdentifier: Int64?
    var productIdentifier: ProductID?

    /// Takes the number as `NSNumber`, as any integer, or in digits, since all are seen; nil when it is none of them.
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
