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
/// The affiliate token of the sale (`String`). The store counts the views of items by it.
public let SKStoreProductParameterAffiliateToken = "at"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The campaign that led to the page (`String`, at most 40 characters). The store counts the views of items by it.
public let SKStoreProductParameterCampaignToken = "ct"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The provider of the campaign (`String`). The store counts the views of items by it.
public let SKStoreProductParameterProviderToken = "pt"
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The advertising partner (`String`). Accepted and ignored.
public let SKStoreProductParameterAdvertisingPartnerToken = "advp"

/// The item that a product view controller should load.
struct StoreProductParameters: Sendable, Equatable {
    var itemIdentifier: Int64?
    var productIdentifier: ProductID?
    var campaign: VisitCampaign?
    /// The address that the browser opens after the page.
    var returnAddress: URL?

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
        let (affiliate, campaign, provider) = (
            Self.token(parameters[SKStoreProductParameterAffiliateToken]),
            Self.token(parameters[SKStoreProductParameterCampaignToken]),
            Self.token(parameters[SKStoreProductParameterProviderToken])
        )
        if affiliate != nil || campaign != nil || provider != nil {
            self.campaign = VisitCampaign(affiliate: affiliate, campaign: campaign, provider: provider)
        }
    }

    /// A token's text. Apps also give the provider's number as a number. A value that the store would not count is
    /// dropped.
    private static func token(_ value: Any?) -> String? {
        let text = value as? String ?? value.flatMap(Self.number).map(String.init)
        return text.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
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
