import Foundation
import StoreWire

/// A subscription's promotional offer with the proof that the app's server made it to this customer. Discounts compare
/// by value.
// @unchecked: all stored properties are constants.
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
    private let values: SignedOffer

    /// An empty discount, for subclasses in tests; the store refuses it with ``SKError/Code/missingOfferParams``.
    public override init() {
        values = SignedOffer(
            offerID: "", keyID: "", nonce: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), signature: "",
            timestamp: 0)
        super.init()
    }

    /// The offer and what the app's server signed.
    ///
    /// - Parameters:
    ///   - identifier: the offer's, as `SKProductDiscount` gives it.
    ///   - keyIdentifier: names the key that signed.
    ///   - nonce: made for this signature alone.
    ///   - signature: ECDSA over P-256 with SHA-256, as DER in Base64.
    ///   - timestamp: when it was signed, in milliseconds since 1970. The store takes it for 24 hours.
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
    /// Names the key that signed.
    open var keyIdentifier: String { values.keyID }
    /// Made for this signature alone.
    open var nonce: UUID { values.nonce }
    /// ECDSA over P-256 with SHA-256, as DER in Base64.
    open var signature: String { values.signature }
    /// When it was signed, in milliseconds since 1970.
    open var timestamp: NSNumber { NSNumber(value: values.timestamp) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKPaymentDiscount else { return false }
        return SignedOffer(self) == SignedOffer(other)
    }

    open override var hash: Int { SignedOffer(self).hashValue }
}

extension SignedOffer {
    /// Reads the overridable properties, so that a subclass's answers count.
    init(_ discount: SKPaymentDiscount) {
        self.init(
            offerID: discount.identifier, keyID: discount.keyIdentifier, nonce: discount.nonce,
            signature: discount.signature, timestamp: discount.timestamp.int64Value)
    }
}

extension ProductDescription {
    /// What the sheet shows: the price of the promotional offer where there is such a one.
    func price(with offer: SignedOffer?) -> Money {
        guard let offer else { return price }
        let wanted = subscription?.promotionalOffers.first { $0.offerID?.hasSameBytes(as: offer.offerID) ?? false }
        return wanted?.price ?? price
    }
}
