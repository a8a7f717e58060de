import StoreWire

/// What a user may use, and why.
public struct Entitlement: Codable, Sendable, Equatable {
    /// How it stands at the moment of the answer.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// It may be used.
        case active
        /// The paid period is over and the store tries to collect the money; it may still be used.
        case grace
        /// The paid period is over.
        case expired
        /// The purchase was refunded, or is no longer shared.
        case revoked
    }

    /// What it is: an entitlement's name.
    public var entitlement: EntitlementID?
    /// Or a content item that may be downloaded.
    public var content: ContentItemID?
    /// The product that gave it.
    public var productID: ProductID
    /// Whether the entitlement may be used, and if not, why.
    public var state: State
    /// Milliseconds since 1970; nil for what does not end.
    public var expiresAt: Int64?
    /// Until when it may be used though the period is over, in milliseconds since 1970.
    public var graceUntil: Int64?
    /// Whether the user's subscription that gives it renews at the end of the period, as the store last said; nil when
    /// the store has not said so, and for what no subscription of the user's gives.
    public var willRenew: Bool?
    /// The product as which the subscription renews, as the store last said: another one than ``productID`` after a
    /// change of plan.
    public var renewsAs: ProductID?
    /// Where the purchase was made that gives it.
    public var environment: StoreEnvironment

    /// Creates an entitlement.
    public init(
        entitlement: EntitlementID?, content: ContentItemID?, productID: ProductID, state: State, expiresAt: Int64?,
        graceUntil: Int64?, willRenew: Bool? = nil, renewsAs: ProductID? = nil,
        environment: StoreEnvironment = .production
    ) {
        self.environment = environment
        self.willRenew = willRenew
        self.renewsAs = renewsAs
        self.entitlement = entitlement
        self.content = content
        self.productID = productID
        self.state = state
        self.expiresAt = expiresAt
        self.graceUntil = graceUntil
    }

    /// Whether it may be used.
    public var isUsable: Bool { state == .active || state == .grace }
}

/// All that a user was ever entitled to; each from each of its sources.
public struct EntitlementList: Codable, Sendable, Equatable {
    /// The entitlements, active or not.
    public var entitlements: [Entitlement]

    /// Creates a list of entitlements.
    public init(entitlements: [Entitlement]) { self.entitlements = entitlements }

    /// Whether one of that name may be used.
    public func isEntitled(to entitlement: EntitlementID) -> Bool {
        entitlements.contains { $0.entitlement == entitlement && $0.isUsable }
    }
}

/// Who is at the counter.
public struct UserDescription: Codable, Sendable, Equatable {
    /// The user's name with the merchant.
    public var userID: UserID
    /// A UUID in lower case, to be given to StoreKit as `applicationUsername` (or `appAccountToken`) with every payment:
    /// what is bought under it goes to this user, whoever is signed in when it is redeemed.
    public var accountToken: String

    /// Creates a description of a user.
    public init(userID: UserID, accountToken: String) {
        self.userID = userID
        self.accountToken = accountToken
    }
}
