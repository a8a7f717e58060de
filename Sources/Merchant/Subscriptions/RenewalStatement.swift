import StoreWire

/// A store's statement about a subscription's renewal and grace period, in a notification or in the
/// `pending_renewal_info` of `verifyReceipt`.
struct RenewalStatement: Sendable, Equatable {
    /// The store's statement about the grace period that follows the current period.
    enum Grace: Sendable, Equatable {
        /// The subscriber keeps the access until then, although the renewal was not paid.
        case until(Int64)
        /// There is no grace period, or it is over.
        case absent

        /// The end of the grace period; nil without one.
        var end: Int64? {
            switch self {
            case .until(let end): end
            case .absent: nil
            }
        }
    }

    /// The time at which the store signed the statement.
    var signedAt: Int64
    /// Whether the subscription renews; nil when the store does not say.
    var willRenew: Bool?
    /// The product that the next period is of; nil when the store does not say.
    var renewsAs: ProductID?
    /// The grace period; nil when the store does not say.
    var grace: Grace?

    init(signedAt: Int64, willRenew: Bool? = nil, renewsAs: ProductID? = nil, grace: Grace? = nil) {
        self.signedAt = signedAt
        self.willRenew = willRenew
        self.renewsAs = renewsAs
        self.grace = grace
    }

    /// Reads a notification. Its type says whether the end of the grace period in the renewal information still
    /// counts: the store leaves it there when the subscription expires.
    init(_ notification: VerifiedNotification) {
        self.init(
            signedAt: notification.signedAt, willRenew: notification.renewal?.willRenew,
            renewsAs: notification.renewal?.renewsAs)
        switch (notification.type, notification.subtype) {
        case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"):
            grace = notification.renewal?.graceUntil.map { .until($0) } ?? .absent
        case ("DID_FAIL_TO_RENEW", _), ("GRACE_PERIOD_EXPIRED", _), ("EXPIRED", _), ("SUBSCRIBED", _),
            ("DID_RENEW", _):
            grace = .absent
        case ("OFFER_REDEEMED", let subtype), ("DID_CHANGE_RENEWAL_PREF", let subtype):
            // A plan that was chosen for the next period is not paid yet.
            if ["UPGRADE", "INITIAL_BUY", "RESUBSCRIBE"].contains(subtype) { grace = .absent }
        default: break
        }
    }
}
