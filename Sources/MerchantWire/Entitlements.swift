import StoreWire

/// A user's right to a feature or a content item, from one purchase or subscription.
public struct Entitlement: Codable, Sendable, Equatable {
    /// The state of an entitlement at the time of the response.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// The user may use the entitlement.
        case active
        /// The paid period has ended and the store is retrying the payment. The user may still use the entitlement.
        case grace
        /// The paid period has ended.
        case expired
        /// The purchase was refunded or is no longer shared with the user.
        case revoked
    }

    /// The entitlement's name; nil when ``content`` is set.
    public var entitlement: EntitlementID?
    /// The content item that the user may download; nil when ``entitlement`` is set.
    public var content: ContentItemID?
    /// The product that grants the entitlement.
    public var productID: ProductID
    /// Whether the entitlement may be used, and if not, why.
    public var state: State
    /// The end of the entitlement, in milliseconds since 1970; nil when it does not end.
    public var expiresAt: Int64?
    /// The end of the grace period, in milliseconds since 1970; nil when there is none.
    public var graceUntil: Int64?
    /// Whether the subscription renews at the end of the period, as the store last stated. Nil when the store has not
    /// stated it, and when the entitlement does not come from a subscription of this user.
    public var willRenew: Bool?
    /// The product of the next period, as the store last stated. It differs from ``productID`` after a change of plan.
    public var renewsAs: ProductID?
    /// Whether the purchase was made in production or in the sandbox.
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

    /// Whether the user may use the entitlement: ``state`` is `active` or `grace`.
    public var isUsable: Bool { state == .active || state == .grace }

    private enum CodingKeys: String, CodingKey {
        case entitlement, content
        case productID = "productId"
        case state, expiresAt, graceUntil, willRenew, renewsAs, environment
    }
}

/// Every entitlement that a user has or had, once for each purchase or subscription that grants it.
public struct EntitlementList: Codable, Sendable, Equatable {
    /// The entitlements, active or not.
    public var entitlements: [Entitlement]

    /// Creates a list of entitlements.
    public init(entitlements: [Entitlement]) { self.entitlements = entitlements }

    /// Whether the list has a usable entitlement of that name.
    public func isEntitled(to entitlement: EntitlementID) -> Bool {
        entitlements.contains { $0.entitlement == entitlement && $0.isUsable }
    }
}

/// The signed-in user and the user's account token.
public struct UserDescription: Codable, Sendable, Equatable {
    /// The user's name with the merchant.
    public var userID: UserID
    /// The user's account token, a UUID in lower case. Pass it to StoreKit as `applicationUsername` (or
    /// `appAccountToken`) with every payment. A purchase that carries the token belongs to this user, whoever is signed
    /// in when it is redeemed.
    public var accountToken: String

    /// Creates a description of a user.
    public init(userID: UserID, accountToken: String) {
        self.userID = userID
        self.accountToken = accountToken
    }

    private enum CodingKeys: String, CodingKey {
        case userID = "userId"
        case accountToken
    }
}
