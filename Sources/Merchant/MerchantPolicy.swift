import StoreWire

/// The answer when a user redeems a purchase that another user has redeemed. Credits are granted once and never move to
/// another user.
public enum ConflictPolicy: Sendable, Equatable {
    /// The first user keeps the purchase, and the second user is refused.
    case refuse
    /// Non-consumables and subscriptions move to the second user; the first user loses them.
    case transfer
    /// So many users, the first included, may have a non-consumable or subscription at the same time (at most 6, as in
    /// Family Sharing).
    case family(members: Int)
}

/// How credits are taken back when their purchase is refunded.
public enum RefundPolicy: String, Sendable, CaseIterable {
    /// Takes back the refunded credits as far as the balance covers them.
    case toZero
    /// Takes back all refunded credits. The balance may become negative, and the user can spend again when it is
    /// positive.
    case belowZero
    /// Takes nothing, and flags the user.
    case flag
}

/// How the credits of a subscription period are taken back when the customer changes plans before the period ends. In
/// that case, the store refunds the price of the remaining time.
public enum SupersededPolicy: String, Sendable, CaseIterable {
    /// Takes back all credits of the period, as for a refund (``MerchantPolicy/refund``).
    case takeBack
    /// Takes back the credits in proportion to the remaining time, rounded up to a whole credit.
    case prorate
    /// Takes nothing. A user who changes plans repeatedly collects the credits of each plan.
    case keep
}

/// How the merchant answers when a customer asks the store for a refund and the store asks what was consumed.
public struct ConsumptionPolicy: Sendable, Equatable {
    /// The decision that the merchant prefers. The raw values are the store's.
    public enum Preference: String, Sendable, CaseIterable {
        /// The refund is declined.
        case decline = "DECLINE"
        /// The whole price is refunded.
        case grantFull = "GRANT_FULL"
        /// The part of the price for what was not consumed is refunded.
        case grantProrated = "GRANT_PRORATED"
    }

    /// The preference; nil for none.
    public var preference: Preference?
    /// Whether customers could try the products before they bought them (`sampleContentProvided`).
    public var hasSamples: Bool

    /// Creates a policy.
    public init(preference: Preference? = nil, hasSamples: Bool = false) {
        self.preference = preference
        self.hasSamples = hasSamples
    }
}

/// The merchant's settings for redemptions, refunds and balances.
public struct MerchantPolicy: Sendable, Equatable {
    /// The answer when a user redeems a purchase that another user has redeemed.
    public var conflict: ConflictPolicy
    /// How credits of a refunded purchase are taken back.
    public var refund: RefundPolicy
    /// How credits of a subscription period are taken back when the customer changes plans before the period ends.
    public var superseded: SupersededPolicy
    /// Whether a free trial grants credits. It grants entitlements in any case.
    public var givesCreditsForTrials: Bool
    /// Whether a copy that a family member or an organization shares grants credits. Each member has a separate
    /// transaction, so one purchase would grant its credits several times. A shared copy grants entitlements in any
    /// case.
    public var givesCreditsForSharedCopies: Bool
    /// The environments whose purchases are accepted. A production merchant refuses sandbox purchases by default.
    public var environments: Set<StoreEnvironment>
    /// Whether credits from the sandbox, which cost nothing, and from production share one balance. Otherwise a user
    /// has a separate balance of each currency in each environment. Set this before the first purchase: credits that
    /// were already granted stay in their account.
    public var joinsEnvironments: Bool
    /// The environment of the balance for a request that names none.
    public var usualEnvironment: StoreEnvironment
    /// Whether changes are written into the outbox for webhooks.
    public var sendsWebhooks: Bool
    /// How often one user may download content with a purchase that nobody has redeemed; 0 to require redemption first.
    /// Each request counts, including a request for a part of the file.
    public var downloadsBeforeRedemption: Int
    /// How the store's questions about consumption are answered, for users who have consented; nil to answer none.
    public var consumption: ConsumptionPolicy?
    /// Whether a purchase without an account token gets the token of the user who redeems it, at the store. It is not
    /// done under ``ConflictPolicy/family(members:)``, where a purchase may have several users.
    public var setsAccountTokens = false

    /// The default of ``downloadsBeforeRedemption``: enough for a large file over an unreliable network.
    public static let usualDownloadsBeforeRedemption = 50

    /// Creates a policy.
    /// - Parameter usualEnvironment: ``usualEnvironment``. Nil for the sandbox when only sandbox purchases are
    ///   accepted, otherwise for production.
    public init(
        conflict: ConflictPolicy = .refuse, refund: RefundPolicy = .toZero,
        superseded: SupersededPolicy = .takeBack, givesCreditsForTrials: Bool = false,
        givesCreditsForSharedCopies: Bool = false, environments: Set<StoreEnvironment> = [.production],
        sendsWebhooks: Bool = false, downloadsBeforeRedemption: Int = usualDownloadsBeforeRedemption,
        joinsEnvironments: Bool = false, usualEnvironment: StoreEnvironment? = nil
    ) {
        self.joinsEnvironments = joinsEnvironments
        self.usualEnvironment = usualEnvironment ?? (environments == [.sandbox] ? .sandbox : .production)
        self.downloadsBeforeRedemption = downloadsBeforeRedemption
        self.conflict = conflict
        self.refund = refund
        self.superseded = superseded
        self.givesCreditsForTrials = givesCreditsForTrials
        self.givesCreditsForSharedCopies = givesCreditsForSharedCopies
        self.environments = environments
        self.sendsWebhooks = sendsWebhooks
    }
}
