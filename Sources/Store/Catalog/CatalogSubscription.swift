import StoreWire

/// The properties of a product that is an auto-renewable subscription.
public struct CatalogSubscription: Sendable, Hashable {
    /// The group that the subscription belongs to.
    public var groupID: SubscriptionGroupID
    /// The level of service. 1 is the highest; several subscriptions can share a level.
    public var level: Int
    /// The length of one subscription period.
    public var period: SubscriptionPeriod
    /// The introductory offers. Files before version 5 have at most one.
    public var introductoryOffers: [CatalogOffer]
    /// The promotional offers, `adHocOffers` in files.
    public var promotionalOffers: [CatalogOffer]
    /// The offers that customers redeem with offer codes.
    public var codeOffers: [CatalogOffer]
    /// The offers for customers who no longer subscribe.
    public var winBackOffers: [CatalogOffer]
    /// The ways to pay for a period (version 5); empty in older files.
    public var billingPlans: [CatalogBillingPlan]
    /// Whether subscribers keep the price that they agreed to when the catalog's price rises.
    public var preservesPrice = false

    /// Creates a subscription.
    public init(
        groupID: SubscriptionGroupID, level: Int, period: SubscriptionPeriod, introductoryOffers: [CatalogOffer],
        promotionalOffers: [CatalogOffer], codeOffers: [CatalogOffer], winBackOffers: [CatalogOffer],
        billingPlans: [CatalogBillingPlan]
    ) {
        self.groupID = groupID
        self.level = level
        self.period = period
        self.introductoryOffers = introductoryOffers
        self.promotionalOffers = promotionalOffers
        self.codeOffers = codeOffers
        self.winBackOffers = winBackOffers
        self.billingPlans = billingPlans
    }
}

/// A group of subscriptions. A customer has one subscription of a group at a time.
public struct CatalogSubscriptionGroup: Sendable, Hashable {
    /// The group's identifier: eight hexadecimal digits, or App Store Connect's number.
    public var id: SubscriptionGroupID
    /// The group's name for the seller; shown to customers only without a localization.
    public var name: String
    /// The names that customers see, in the file's order.
    public var localizations: [CatalogLocalization]
    /// The keys that this program does not know.
    public var unknown: [String: JSONValue]

    /// Creates a subscription group.
    public init(
        id: SubscriptionGroupID, name: String, localizations: [CatalogLocalization], unknown: [String: JSONValue]
    ) {
        self.id = id
        self.name = name
        self.localizations = localizations
        self.unknown = unknown
    }
}
