import StoreWire

/// What to do when somebody redeems what another user has redeemed. Credits are never given twice, and never move.
public enum ConflictPolicy: Sendable, Equatable {
    /// The first user keeps it, the second is refused.
    case refuse
    /// What lasts (non-consumables and subscriptions) goes over to the second user; the first loses it.
    case transfer
    /// What lasts may be used by so many users at once, the first among them (at most 6, as in Family Sharing).
    case family(members: Int)
}

/// What to do about credits whose purchase was refunded.
public enum RefundPolicy: String, Sendable, CaseIterable {
    /// Takes back what is left of them, at most all there is.
    case toZero
    /// Takes all of them back; the balance may go below zero and has to be filled before it can be spent again.
    case belowZero
    /// Takes nothing, and flags the user.
    case flag
}

/// What to do about the credits of a subscription's period when the customer changes to another plan before the
/// period is over. The store gives back the price of the time that was left.
public enum SupersededPolicy: String, Sendable, CaseIterable {
    /// Takes back all that the period gave, as for a refund (``MerchantPolicy/refund``).
    case takeBack
    /// Takes back the share of the time that was left, rounded up to a whole credit.
    case prorate
    /// Takes nothing. Somebody who changes plans again and again collects the credits of each.
    case keep
}

/// The merchant's choices.
public struct MerchantPolicy: Sendable, Equatable {
    /// The answer when a user redeems a purchase that another user has redeemed.
    public var conflict: ConflictPolicy
    /// How credits of a refunded purchase are taken back.
    public var refund: RefundPolicy
    /// How credits of a subscription period are taken back when the customer changes plans before the period ends.
    public var superseded: SupersededPolicy
    /// Whether a free trial gives credits. It gives rights in any case.
    public var givesCreditsForTrials: Bool
    /// Whether a copy that a family member or an organization shares gives credits. Each member has a transaction of
    /// its own, so one purchase would give its credits several times. It gives rights in any case.
    public var givesCreditsForSharedCopies: Bool
    /// Whose purchases are taken; a production merchant takes none of the sandbox unless told to.
    public var environments: Set<StoreEnvironment>
    /// Whether credits that were bought in the sandbox go into one balance with those of production, which costs real
    /// money. Otherwise each user has a balance of a currency in each environment. Set it before the first purchase:
    /// what is in an account stays there.
    public var joinsEnvironments: Bool
    /// Whose balances a request means that names no environment.
    public var usualEnvironment: StoreEnvironment
    /// Whether changes are written down for the webhooks.
    public var sendsWebhooks: Bool
    /// How often a purchase that nobody has redeemed delivers content to one user; 0 for a merchant that delivers after
    /// redemption alone. Each request counts, also one for a part of the file.
    public var downloadsBeforeRedemption: Int

    /// What ``downloadsBeforeRedemption`` is unless the operator says otherwise: enough for a large file over a bad
    /// network.
    public static let usualDownloadsBeforeRedemption = 50

    /// - Parameter usualEnvironment: ``usualEnvironment``; nil for production, and for the sandbox where purchases of
    ///   that alone are taken.
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
