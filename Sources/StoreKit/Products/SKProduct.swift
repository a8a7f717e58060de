import Foundation
import StoreWire

/// What the store tells of a product.
open class SKProduct: NSObject {
    /// The units of a subscription's period.
    public enum PeriodUnit: UInt, Sendable {
        case day = 0
        case week = 1
        case month = 2
        case year = 3
    }

    private let values: ProductDescription?

    /// An empty product, for subclasses in tests.
    public override init() {
        values = nil
        super.init()
    }

    init(_ description: ProductDescription) {
        values = description
        super.init()
    }

    /// The description in the customer's language.
    open var localizedDescription: String { values?.description ?? "" }
    /// The name in the customer's language.
    open var localizedTitle: String { values?.displayName ?? "" }
    /// The exact price of one, in the currency of ``priceLocale``.
    open var price: NSDecimalNumber { values.map { NSDecimalNumber(string: $0.price.decimal) } ?? .zero }
    /// Formats ``price`` with its currency.
    open var priceLocale: Locale { Locale(identifier: values?.priceLocale ?? "en_US_POSIX") }
    /// The product's identifier.
    open var productIdentifier: String { values?.productID.rawValue ?? "" }
    /// Whether the store hosts content for it that can be downloaded now.
    open var isDownloadable: Bool { values?.content != nil }
    /// The older name of ``isDownloadable`` (macOS 10.8 to 10.14).
    open var downloadable: Bool { isDownloadable }
    /// The sizes of the hosted content in bytes, one for each part.
    open var downloadContentLengths: [NSNumber] {
        values?.content?.lengths.map { NSNumber(value: $0) } ?? []
    }
    /// The older name of ``downloadContentLengths`` (macOS 10.14).
    open var contentLengths: [NSNumber] { downloadContentLengths }
    /// The version of the hosted content that a buyer gets now; empty when there is none.
    open var downloadContentVersion: String { values?.content?.version ?? "" }
    /// The older name of ``downloadContentVersion`` (macOS 10.14).
    open var contentVersion: String { downloadContentVersion }
    /// Whether the family of the buyer may use it.
    open var isFamilyShareable: Bool { values?.isFamilyShareable ?? false }
    /// The length of one paid period; only for subscriptions.
    open var subscriptionPeriod: SKProductSubscriptionPeriod? {
        values?.subscription.map { SKProductSubscriptionPeriod($0.period) }
    }
    /// The offer for new subscribers.
    open var introductoryPrice: SKProductDiscount? {
        values?.subscription?.introductoryOffer.map { SKProductDiscount($0, locale: priceLocale) }
    }
    /// The group of subscriptions of which a customer holds one.
    open var subscriptionGroupIdentifier: String? { values?.subscription?.groupID.rawValue }
    /// The offers that the app may make.
    open var discounts: [SKProductDiscount] {
        values?.subscription?.promotionalOffers.map { SKProductDiscount($0, locale: priceLocale) } ?? []
    }
}
