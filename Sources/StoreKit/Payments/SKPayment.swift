import Foundation
import StoreWire

/// A request to buy a quantity of one product. Payments compare by value.
open class SKPayment: NSObject, NSCopying, NSMutableCopying {
    /// Changed only by ``SKMutablePayment`` and by initialisers.
    final var values = PaymentValues()

    /// An empty payment, for subclasses in tests; the queue refuses it until it names a product.
    public override init() { super.init() }

    /// A payment for one of `product`.
    public convenience init(product: SKProduct) {
        self.init()
        values.productIdentifier = product.productIdentifier
    }

    /// A payment for one of the product of that identifier. Apple deprecated it in favour of ``init(product:)``.
    open class func payment(withProductIdentifier identifier: String) -> SKPayment {
        let payment = SKPayment()
        payment.values.productIdentifier = identifier
        return payment
    }

    /// The product's identifier, as `SKProduct` gives it.
    open var productIdentifier: String { values.productIdentifier }
    /// Reserved by Apple; a payment that carries it fails with ``SKError/Code/unauthorizedRequestData``.
    open var requestData: Data? { values.requestData }
    /// How many to buy: 1 unless told otherwise, at most 10.
    open var quantity: Int { values.quantity }
    /// The app's own opaque name for its user; a UUID's text reaches receipts as `app_account_token`.
    open var applicationUsername: String? { values.applicationUsername }
    /// Whether a sandbox store defers the payment as if a parent had to approve it.
    open var simulatesAskToBuyInSandbox: Bool { values.simulatesAskToBuyInSandbox }
    /// The promotional offer at whose price a subscription is to be sold.
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
        set { values.offer = newValue.map(SignedOffer.init) }
    }
}

/// What a payment says, as a value.
struct PaymentValues: Hashable, Codable, Sendable {
    var productIdentifier = ""
    var requestData: Data?
    var quantity = 1
    var applicationUsername: String?
    var simulatesAskToBuyInSandbox = false
    var offer: SignedOffer?
}

extension PaymentValues {
    /// Reads the overridable properties, so that a subclass's answers count.
    init(of payment: SKPayment) {
        self.init(
            productIdentifier: payment.productIdentifier, requestData: payment.requestData, quantity: payment.quantity,
            applicationUsername: payment.applicationUsername,
            simulatesAskToBuyInSandbox: payment.simulatesAskToBuyInSandbox,
            offer: payment.paymentDiscount.map(SignedOffer.init))
    }
}
