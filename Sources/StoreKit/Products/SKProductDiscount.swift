import Foundation
import StoreWire

/// An offer of a subscription at another price for a time.
open class SKProductDiscount: NSObject {
    /// How an offer is paid.
    public enum PaymentMode: UInt, Sendable {
        case payAsYouGo = 0
        case payUpFront = 1
        case freeTrial = 2
    }

    /// Whether it is for new subscribers or for those the app chooses.
    public enum `Type`: UInt, Sendable {
        case introductory = 0
        case subscription = 1
    }

    private let offer: OfferDescription?
    private let locale: Locale

    /// An empty discount, for subclasses in tests.
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
    /// Formats ``price``.
    open var priceLocale: Locale { locale }
    /// The offer's name in the catalog; nil for an introductory one.
    open var identifier: String? { offer?.offerID }
    /// One of the periods that the offer lasts.
    open var subscriptionPeriod: SKProductSubscriptionPeriod {
        offer.map { SKProductSubscriptionPeriod($0.period) } ?? SKProductSubscriptionPeriod()
    }
    /// How many of those periods.
    open var numberOfPeriods: Int { offer?.numberOfPeriods ?? 0 }
    /// How it is paid.
    open var paymentMode: PaymentMode {
        switch offer?.paymentMode {
        case .payAsYouGo, nil: .payAsYouGo
        case .payUpFront: .payUpFront
        case .free: .freeTrial
        }
    }
    /// Introductory when it has no identifier.
    open var type: SKProductDiscount.`Type` { offer?.offerID == nil ? .introductory : .subscription }
}
