import StoreWire

/// Apple's `notification_type` of version 1, except `RENEWAL`, which Apple has not sent since 2021.
enum NotificationTypeV1: String, Sendable, CaseIterable {
    /// A period of a subscription was refunded.
    case cancel = "CANCEL"
    /// The customer asked for the refund of a consumable, and the store asks how it was used.
    case consumptionRequest = "CONSUMPTION_REQUEST"
    /// The customer chose the plan of the next renewal.
    case renewalPreference = "DID_CHANGE_RENEWAL_PREF"
    /// Auto-renew was turned off or on.
    case renewalStatus = "DID_CHANGE_RENEWAL_STATUS"
    /// The next period could not be charged.
    case failedToRenew = "DID_FAIL_TO_RENEW"
    /// An overdue renewal was paid.
    case recovered = "DID_RECOVER"
    /// The next period was paid.
    case renewed = "DID_RENEW"
    /// The first purchase in the group.
    case initialBuy = "INITIAL_BUY"
    /// The customer bought a period: an upgrade, or another product after the subscription was over.
    case interactiveRenewal = "INTERACTIVE_RENEWAL"
    /// The customer was asked to agree to a higher price.
    case priceIncreaseConsent = "PRICE_INCREASE_CONSENT"
    /// A product that does not renew was refunded.
    case refund = "REFUND"
    /// A member of a family does not share the purchase any longer.
    case revoked = "REVOKE"
}

/// The properties that decide how version 1 reports an event: the words of version 2, and the other distinctions of
/// Apple's tables of `notification_type`.
struct NotificationEvent: Sendable {
    /// The `notificationType` of version 2.
    let type: String
    /// The `subtype` of version 2; nil for none.
    var subtype: String?
    /// The kind of the product.
    let kind: ProductKind
    /// Whether a member of a family has the purchase from another member.
    var isShared = false
    /// Whether the last period before a resubscription was of another product.
    var isOtherProduct = false
    /// Whether the customer turned auto-renew off while a payment was overdue. That alone is reported then, and not
    /// also the end of the subscription.
    var isCancelled = false

    /// The notifications of version 1 that report the event, in their order; none for an event that version 1 does not
    /// know. Both environments have all types, although Apple's sandbox sends only some.
    var typesOfVersion1: [NotificationTypeV1] {
        switch (type, subtype) {
        case ("SUBSCRIBED", "INITIAL_BUY"): isShared ? [] : [.initialBuy]
        case ("SUBSCRIBED", "RESUBSCRIBE"): isOtherProduct ? [.interactiveRenewal, .renewalStatus] : [.renewalStatus]
        case ("DID_RENEW", "BILLING_RECOVERY"): [.recovered]
        case ("DID_RENEW", _): [.renewed]
        case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("OFFER_REDEEMED", "UPGRADE"):
            [.renewalStatus, .interactiveRenewal]
        case ("DID_CHANGE_RENEWAL_PREF", _), ("OFFER_REDEEMED", "DOWNGRADE"): [.renewalPreference]
        case ("DID_CHANGE_RENEWAL_STATUS", _): [.renewalStatus]
        case ("DID_FAIL_TO_RENEW", _): [.failedToRenew]
        case ("EXPIRED", "BILLING_RETRY"): isCancelled ? [] : [.renewalStatus]
        case ("PRICE_INCREASE", "PENDING"): isShared ? [] : [.priceIncreaseConsent]
        case ("REFUND", _):
            isShared ? [] : kind == .autoRenewableSubscription ? [.cancel] : [.refund]
        case ("REVOKE", _): [.revoked]
        case ("CONSUMPTION_REQUEST", _): kind == .consumable ? [.consumptionRequest] : []
        default: []
        }
    }
}
