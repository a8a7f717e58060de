import Foundation
import StoreWire

// @unchecked: all stored properties are constants.
/// A promotional offer of a subscription, signed by the app's server for this customer. Discounts compare by value.
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
    private let values: SignedOffer

    /// Creates an empty discount, for subclasses in tests. The store refuses it with
    /// ``SKError/Code/missingOfferParams``.
    public override init() {
        values = SignedOffer(
            offerID: "", keyID: "", nonce: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), signature: "",
            timestamp: 0)
        super.init()
    }

    /// Creates a discount from the values that the app's server signed.
    ///
    /// - Parameters:
    ///   - identifier: the offer's identifier (``SKProductDiscount/identifier``).
    ///   - keyIdentifier: the identifier of the signing key.
    ///   - nonce: a UUID used for this signature only.
    ///   - signature: an ECDSA signature over P-256 with SHA-256, as DER in Base64.
    ///   - timestamp: the time of signing, in milliseconds since 1970. The store accepts it for 24 hours.
    public init(identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber) {
        values = SignedOffer(
            offerID: identifier, keyID: keyIdentifier, nonce: nonce, signature: signature,
            timestamp: timestamp.int64Value)
        super.init()
    }

    init(_ offer: SignedOffer) {
        values = offer
        super.init()
    }

    /// The offer's identifier.
    open var identifier: String { values.offerID }
    /// The identifier of the signing key.
    open var keyIdentifier: String { values.keyID }
    /// A UUID used for this signature only.
    open var nonce: UUID { values.nonce }
    /// An ECDSA signature over P-256 with SHA-256, as DER in Base64.
    open var signature: String { values.signature }
    /// The time of signing, in milliseconds since 1970.
    open var timestamp: NSNumber { NSNumber(value: values.timestamp) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKPaymentDiscount else { return false }
        return SignedOffer(self) == SignedOffer(other)
    }

    open override var hash: Int { SignedOffer(self).hashValue }
}

extension SignedOffer {
    /// Reads the overridable properties, so that a subclass can replace them.
    init(_ discount: SKPaymentDiscount) {
        self.init(
            offerID: discount.identifier, keyID: discount.keyIdentifier, nonce: discount.nonce,
            signature: discount.signature, timestamp: discount.timestamp.int64Value)
    }
}

extension ProductDescription {
    /// The price that the sheet shows: the promotional offer's price when the product has that offer, else its own.
    func price(withOffer offerID: String?) -> Money {
        guard let offerID else { return price }
        let wanted = subscription?.promotionalOffers.first { $0.offerID?.hasSameBytes(as: offerID) ?? false }
        return wanted?.price ?? price
    }
}
