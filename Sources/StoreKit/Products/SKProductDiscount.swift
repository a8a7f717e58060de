import Foundation
import StoreWire

/// A subscription offer: another price for a limited time.
open class SKProductDiscount: NSObject {
    /// The payment mode of an offer.
    public enum PaymentMode: UInt, Sendable {
        /// The customer pays the offer's price for each period of the offer.
        case payAsYouGo = 0
        /// The customer pays the offer's price once, for all its periods.
        case payUpFront = 1
        /// The customer pays nothing.
        case freeTrial = 2
    }

    /// The type of an offer.
    public enum `Type`: UInt, Sendable {
        /// An introductory offer, for new subscribers.
        case introductory = 0
        /// A promotional offer, for current and former subscribers that the app chooses.
        case subscription = 1
    }

    private let offer: OfferDescription?
    private let locale: Locale

    /// Creates an empty discount, for subclasses in tests.
    public override init() {
        offer = nil
        locale = Locale(identifier: "en_US_POSIX")
        super.init()
    }

    init(_ offer: OfferDescription, locale: Locale) {
        self.offer = offer
        self.locale = locale
        super.init()
    }

    /// The price of one ``subscriptionPeriod``.
    open var price: NSDecimalNumber { offer.map { NSDecimalNumber(string: $0.price.decimal) } ?? .zero }
    /// The locale that formats ``price`` with its currency.
    open var priceLocale: Locale { locale }
    /// The offer's identifier in the catalog; nil for an introductory offer.
    open var identifier: String? { offer?.offerID }
    /// The length of one period of the offer.
    open var subscriptionPeriod: SKProductSubscriptionPeriod {
        offer.map { SKProductSubscriptionPeriod($0.period) } ?? SKProductSubscriptionPeriod()
    }
    /// The number of periods that the offer lasts.
    open var numberOfPeriods: Int { offer?.numberOfPeriods ?? 0 }
    /// The payment mode of the offer.
    open var paymentMode: PaymentMode {
        switch offer?.paymentMode {
        case .payAsYouGo, nil: .payAsYouGo
        case .payUpFront: .payUpFront
        case .free: .freeTrial
        }
    }
    /// The type of the offer: introductory when it has no identifier.
    open var type: SKProductDiscount.`Type` { offer?.offerID == nil ? .introductory : .subscription }
}
