import Foundation
import StoreWire

extension StoreAPIKey {
    /// Signs a promotional offer for StoreKit 2, as `PromotionalOfferV2SignatureCreator` of Apple's libraries does.
    ///
    /// The claims are Apple's ("Generating JWS to sign App Store requests"). A Cornerstore accepts the JWS for one
    /// purchase within 24 hours.
    /// - Parameters:
    ///   - offerID: the offer's identifier.
    ///   - productID: the subscription that has the offer.
    ///   - transactionID: the identifier of any transaction of the customer in the app, or of the app transaction; nil
    ///     for a JWS that any customer can use.
    ///   - nonce: a UUID that is used for this signature only.
    ///   - now: the time of signing, in seconds since 1970.
    /// - Returns: the JWS in compact form.
    /// - Throws: an error when the key cannot sign.
    public func promotionalOffer(
        _ offerID: String, of productID: ProductID, transactionID: String? = nil, nonce: UUID = UUID(), at now: Int64
    ) throws -> String {
        try signed(
            OfferClaims(
                iss: issuerID, bid: bundleID.rawValue, iat: now, nonce: nonce.uuidString.lowercased(),
                productId: productID.rawValue, offerIdentifier: offerID, transactionId: transactionID))
    }

    private struct OfferClaims: Encodable {
        var iss: String
        var bid: String
        let aud = "promotional-offer"
        var iat: Int64
        var nonce: String
        var productId: String
        var offerIdentifier: String
        var transactionId: String?
    }
}
