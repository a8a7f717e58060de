import StoreWire

/// An addition to Apple's API: StoreKit 2's signature of a promotional offer, which ``SKPaymentDiscount`` cannot hold.
extension SKMutablePayment {
    /// Sets a promotional offer that the app's server signed as a JWS, as StoreKit 2's purchase option
    /// `promotionalOffer(_:compactJWS:)` does. It replaces `paymentDiscount`, and setting that replaces it.
    ///
    /// - Parameters:
    ///   - offerID: the offer's identifier (``SKProductDiscount/identifier``).
    ///   - compactJWS: the JWS in compact form, as Apple's server libraries make it
    ///     (`PromotionalOfferV2SignatureCreator`). The store accepts it for 24 hours and for one purchase.
    public func setPromotionalOffer(_ offerID: String, compactJWS: String) {
        values.offer = nil
        values.offerJWS = OfferJWS(offerID: offerID, compactJWS: compactJWS)
    }
}
