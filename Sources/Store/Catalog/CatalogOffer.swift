import StoreWire

/// An introductory, promotional ("ad hoc"), win-back or code offer of a subscription.
public struct CatalogOffer: Sendable, Hashable {
    /// The offer's identifier. Only promotional and win-back offers have one, and Xcode does not ensure that it is
    /// unique.
    public var offerID: String?
    /// The seller's own name for the offer; customers do not see it.
    public var referenceName: String?
    /// Xcode's own identifier of the offer.
    public var internalID: String?
    /// How the customer pays: as they go, up front, or not at all.
    public var paymentMode: OfferDescription.PaymentMode
    /// The price of a period, nil or zero when the offer is free. If Xcode left a price at a free offer, it is in
    /// ``unknown``.
    public var prices: CatalogPrices?
    /// The length of one period of the offer.
    public var period: SubscriptionPeriod
    /// The number of periods; nil when the file does not say, which means 1.
    public var numberOfPeriods: Int?
    /// The customers who can use a code offer: `new`, `existing`, `expired`. Nil for other offers.
    public var eligibility: [String]?
    /// Whether a code can be combined with an introductory offer.
    public var isStackable: Bool?
    /// Whether the subscription renews after a free code offer (`autoRenewEnabled`); nil when the file does not say,
    /// which means that it does.
    public var renews: Bool?
    /// The customers who can use a win-back offer outside the sandbox; nil for everyone who no longer subscribes.
    public var winBack: WinBackCriteria?
    /// The billing plan that the offer belongs to (version 5).
    public var billingPlanType: String?
    /// The keys that this program does not know.
    public var unknown: [String: JSONValue]

    /// Creates an offer.
    public init(
        offerID: String?, referenceName: String?, internalID: String?, paymentMode: OfferDescription.PaymentMode,
        prices: CatalogPrices?, period: SubscriptionPeriod, numberOfPeriods: Int?, eligibility: [String]?,
        isStackable: Bool?, renews: Bool? = nil, winBack: WinBackCriteria? = nil,
        billingPlanType: String?, unknown: [String: JSONValue]
    ) {
        self.offerID = offerID
        self.referenceName = referenceName
        self.internalID = internalID
        self.paymentMode = paymentMode
        self.prices = prices
        self.period = period
        self.numberOfPeriods = numberOfPeriods
        self.eligibility = eligibility
        self.isStackable = isStackable
        self.renews = renews
        self.winBack = winBack
        self.billingPlanType = billingPlanType
        self.unknown = unknown
    }

    /// The name by which codes are created for the offer: the reference name.
    public var codeName: String? { referenceName ?? offerID ?? internalID }

    /// Whether the subscription ends with the offer. Only free offers can do that.
    var endsSubscription: Bool { renews == false && paymentMode == .free }

    /// Whether both describe the same offer. Compares Xcode's identifiers if both have one, else all other properties.
    func isSame(as other: CatalogOffer) -> Bool {
        if let internalID, let otherID = other.internalID { return internalID.hasSameBytes(as: otherID) }
        var copy = other
        copy.internalID = internalID
        return self == copy
    }

    /// Describes the offer in a storefront for devices.
    public func description(in storefront: Storefront) -> OfferDescription {
        let prices = paymentMode == .free ? .free : prices ?? .free
        return OfferDescription(
            offerID: offerID, price: prices.price(in: storefront),
            paymentMode: paymentMode, period: period, numberOfPeriods: numberOfPeriods ?? 1
        )
    }
}

/// The customers who can use a win-back offer, as App Store Connect counts them.
public struct WinBackCriteria: Sendable, Hashable {
    /// The shortest time that the customer has paid for, in months; nil for any.
    public var paidMonths: Int?
    /// The months since the customer last subscribed, at least; nil for any.
    public var lapsedMonths: Int?
    /// The months since the customer last subscribed, at most; nil for any.
    public var mostLapsedMonths: Int?
    /// The months to wait after a win-back offer before the next; nil for none.
    public var waitMonths: Int?
    /// Whether the offer comes before those of normal priority.
    public var isPreferred: Bool

    /// Creates criteria.
    public init(
        paidMonths: Int? = nil, lapsedMonths: Int? = nil, mostLapsedMonths: Int? = nil, waitMonths: Int? = nil,
        isPreferred: Bool = false
    ) {
        self.paidMonths = paidMonths
        self.lapsedMonths = lapsedMonths
        self.mostLapsedMonths = mostLapsedMonths
        self.waitMonths = waitMonths
        self.isPreferred = isPreferred
    }
}

/// A way to pay for a subscription period (version 5): at once, or monthly with a commitment.
public struct CatalogBillingPlan: Sendable, Hashable {
    /// The type: `BILLED_UPFRONT` or `MONTHLY`.
    public var type: String
    /// The amount of each charge, in thousandths of the currency's unit.
    public var amount: Int64?
    /// The total of the whole commitment, in thousandths of the currency's unit.
    public var commitmentAmount: Int64?
    /// Xcode's own identifier of the plan.
    public var internalID: String?
    /// Whether the plan is on sale; nil when the file does not say.
    public var isEnabled: Bool?
    /// The keys that this program does not know.
    public var unknown: [String: JSONValue]

    /// Creates a billing plan.
    public init(
        type: String, amount: Int64?, commitmentAmount: Int64?, internalID: String?, isEnabled: Bool?,
        unknown: [String: JSONValue]
    ) {
        self.type = type
        self.amount = amount
        self.commitmentAmount = commitmentAmount
        self.internalID = internalID
        self.isEnabled = isEnabled
        self.unknown = unknown
    }
}
