import StoreWire

/// An offer that a customer accepted and that begins with a later renewal.
struct WaitingOffer: Sendable, Equatable {
    /// The offer's name.
    var name: NamedOffer
    /// The terms of the day on which the customer accepted the offer; nil in rows of older versions.
    var accepted: AcceptedOffer?

    /// Creates an offer that waits.
    init(name: NamedOffer, accepted: AcceptedOffer?) { (self.name, self.accepted) = (name, accepted) }

    /// Creates the offer that a customer accepts now.
    init(_ chosen: ChosenOffer, in storefront: Storefront) {
        self.init(name: chosen.name, accepted: AcceptedOffer(chosen, in: storefront))
    }

    /// Returns the terms with which a renewal sells the offer; nil when the offer is lost.
    ///
    /// They are the accepted terms, also after the catalog has changed or removed the offer. The catalog's terms apply
    /// when the accepted price is in another currency, because the customer moved, and to rows of older versions.
    /// - Parameter plan: the subscription that the renewal buys.
    func terms(of plan: CatalogSubscription, in storefront: Storefront) -> AcceptedOffer? {
        accepted?.sold(in: storefront)
            ?? plan.offer(name).map { AcceptedOffer(ChosenOffer(name: name, offer: $0), in: storefront) }
    }
}

/// The terms of an offer on the day on which a customer accepted it.
struct AcceptedOffer: Sendable, Equatable {
    /// The price in the customer's currency, how it is paid, and how long the offer lasts. It has no identifier.
    var offer: OfferDescription
    /// Whether an introductory offer comes first.
    var stacks: Bool
    /// Whether the subscription ends with the offer.
    var endsSubscription: Bool

    /// Creates terms.
    init(_ offer: OfferDescription, stacks: Bool, endsSubscription: Bool) {
        self.offer = offer
        self.offer.offerID = nil
        self.stacks = stacks
        self.endsSubscription = endsSubscription
    }

    /// Creates the terms that the catalog has now.
    init(_ chosen: ChosenOffer, in storefront: Storefront) {
        self.init(
            chosen.offer.description(in: storefront), stacks: chosen.stacks,
            endsSubscription: chosen.offer.endsSubscription)
    }

    /// Returns the terms in a storefront; nil when the price is in another currency. A free offer is free everywhere.
    fileprivate func sold(in storefront: Storefront) -> AcceptedOffer? {
        guard offer.price.currency != storefront.currency else { return self }
        guard offer.paymentMode == .free else { return nil }
        var moved = self
        moved.offer.price = Money(milliunits: 0, currency: storefront.currency)
        return moved
    }
}
