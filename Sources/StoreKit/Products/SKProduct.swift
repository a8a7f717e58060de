import Foundation
import StoreWire

/// A product as the store describes it.
open class SKProduct: NSObject {
    /// The unit of a subscription period.
    public enum PeriodUnit: UInt, Sendable {
        /// A day.
        case day = 0
        /// A week.
        case week = 1
        /// A calendar month.
        case month = 2
        /// A calendar year.
        case year = 3
    }

    private let values: ProductDescription?

    /// Creates an empty product, for subclasses in tests.
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
    /// The exact price of one unit, in the currency of ``priceLocale``.
    open var price: NSDecimalNumber { values.map { NSDecimalNumber(string: $0.price.decimal) } ?? .zero }
    /// The locale that formats ``price`` with its currency.
    open var priceLocale: Locale { Locale(identifier: values?.priceLocale ?? "en_US_POSIX") }
    /// The product's identifier.
    open var productIdentifier: String { values?.productID.rawValue ?? "" }
    /// Whether the store hosts content of the product that buyers can download now.
    open var isDownloadable: Bool { values?.content != nil }
    /// The older name of ``isDownloadable`` (macOS 10.8 to 10.14).
    open var downloadable: Bool { isDownloadable }
    /// The sizes of the hosted content in bytes, one for each part.
    open var downloadContentLengths: [NSNumber] {
        values?.content?.lengths.map { NSNumber(value: $0) } ?? []
    }
    /// The older name of ``downloadContentLengths`` (macOS 10.14).
    open var contentLengths: [NSNumber] { downloadContentLengths }
    /// The current version of the hosted content; empty when the store hosts none.
    open var downloadContentVersion: String { values?.content?.version ?? "" }
    /// The older name of ``downloadContentVersion`` (macOS 10.14).
    open var contentVersion: String { downloadContentVersion }
    /// Whether the buyer can share the product with the family.
    open var isFamilyShareable: Bool { values?.isFamilyShareable ?? false }
    /// The length of one renewal period; nil for products that are not subscriptions.
    open var subscriptionPeriod: SKProductSubscriptionPeriod? {
        values?.subscription.map { SKProductSubscriptionPeriod($0.period) }
    }
    /// The introductory offer for new subscribers; nil when the subscription has none.
    open var introductoryPrice: SKProductDiscount? {
        values?.subscription?.introductoryOffer.map { SKProductDiscount($0, locale: priceLocale) }
    }
    /// The identifier of the subscription group. A customer holds one subscription of a group at a time.
    open var subscriptionGroupIdentifier: String? { values?.subscription?.groupID.rawValue }
    /// The promotional offers of the subscription.
    open var discounts: [SKProductDiscount] {
        values?.subscription?.promotionalOffers.map { SKProductDiscount($0, locale: priceLocale) } ?? []
    }
}
