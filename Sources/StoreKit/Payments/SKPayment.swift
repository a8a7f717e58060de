import Foundation
import StoreWire

/// A request to buy a quantity of one product. Payments compare by value.
open class SKPayment: NSObject, NSCopying, NSMutableCopying {
    /// The payment's values. Only ``SKMutablePayment`` and initialisers change them.
    final var values = PaymentValues()

    /// Creates an empty payment, for subclasses in tests. The queue refuses a payment without a product.
    public override init() { super.init() }

    /// Creates a payment for one unit of `product`.
    public convenience init(product: SKProduct) {
        self.init()
        values.productIdentifier = product.productIdentifier
    }

    /// Creates a payment for one unit of the product with this identifier. Apple deprecated this method in favour of
    /// ``init(product:)``.
    open class func payment(withProductIdentifier identifier: String) -> SKPayment {
        let payment = SKPayment()
        payment.values.productIdentifier = identifier
        return payment
    }

    /// The identifier of the product to buy (``SKProduct/productIdentifier``).
    open var productIdentifier: String { values.productIdentifier }
    /// Reserved by Apple. A payment that sets it fails with ``SKError/Code/unauthorizedRequestData``.
    open var requestData: Data? { values.requestData }
    /// The number of units to buy, from 1 to 10. The default is 1.
    open var quantity: Int { values.quantity }
    /// The app's own opaque name for its user. The text of a UUID appears in receipts as `app_account_token`.
    open var applicationUsername: String? { values.applicationUsername }
    /// Whether a sandbox store defers the payment as if a parent had to approve it.
    open var simulatesAskToBuyInSandbox: Bool { values.simulatesAskToBuyInSandbox }
    /// The signed promotional offer that sets the subscription's price; nil for the regular price.
    open var paymentDiscount: SKPaymentDiscount? { values.offer.map(SKPaymentDiscount.init) }

    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = SKPayment()
        copy.values = PaymentValues(of: self)
        return copy
    }

    open func mutableCopy(with zone: NSZone? = nil) -> Any {
        let copy = SKMutablePayment()
        copy.values = PaymentValues(of: self)
        return copy
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKPayment else { return false }
        return PaymentValues(of: self) == PaymentValues(of: other)
    }

    open override var hash: Int { PaymentValues(of: self).hashValue }
}

/// A payment whose properties can be set.
open class SKMutablePayment: SKPayment {
    open override class func payment(withProductIdentifier identifier: String) -> SKPayment {
        let payment = SKMutablePayment()
        payment.values.productIdentifier = identifier
        return payment
    }

    open override var productIdentifier: String {
        get { values.productIdentifier }
        set { values.productIdentifier = newValue }
    }
    open override var requestData: Data? {
        get { values.requestData }
        set { values.requestData = newValue }
    }
    open override var quantity: Int {
        get { values.quantity }
        set { values.quantity = newValue }
    }
    open override var applicationUsername: String? {
        get { values.applicationUsername }
        set { values.applicationUsername = newValue }
    }
    open override var simulatesAskToBuyInSandbox: Bool {
        get { values.simulatesAskToBuyInSandbox }
        set { values.simulatesAskToBuyInSandbox = newValue }
    }
    open override var paymentDiscount: SKPaymentDiscount? {
        get { values.offer.map(SKPaymentDiscount.init) }
        set {
            values.offer = newValue.map(SignedOffer.init)
            if newValue != nil { values.offerJWS = nil }
        }
    }
}

/// The values of a payment.
struct PaymentValues: Hashable, Codable, Sendable {
    var productIdentifier = ""
    var requestData: Data?
    var quantity = 1
    var applicationUsername: String?
    var simulatesAskToBuyInSandbox = false
    /// The promotional offer with StoreKit 1's signature; nil for none.
    var offer: SignedOffer?
    /// The promotional offer signed as a JWS; nil for none. Also nil in journals of older versions.
    var offerJWS: OfferJWS?

    /// The promotional offer's identifier, in either form; nil for none.
    var offerID: String? { offer?.offerID ?? offerJWS?.offerID }
}

extension PaymentValues {
    /// Reads the overridable properties, so that a subclass can replace them.
    init(of payment: SKPayment) {
        self.init(
            productIdentifier: payment.productIdentifier, requestData: payment.requestData, quantity: payment.quantity,
            applicationUsername: payment.applicationUsername,
            simulatesAskToBuyInSandbox: payment.simulatesAskToBuyInSandbox,
            offer: payment.paymentDiscount.map(SignedOffer.init), offerJWS: payment.values.offerJWS)
    }
}
