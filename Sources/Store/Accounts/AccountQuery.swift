import StoreWire

/// The accounts that the operator asks for, in the order of their addresses.
public struct AccountQuery: Sendable, Equatable {
    /// A property by which accounts are selected. No index serves one.
    public enum Flag: Sendable, Equatable {
        /// The account is locked.
        case locked
        /// Purchases wait for approval.
        case asksToBuy
        /// Each purchase is interrupted.
        case interruptsPurchases
        /// The account may not buy.
        case paymentsForbidden
        /// The account has bought no product since this time, in milliseconds since 1970.
        case inactive(since: Int64)
    }

    /// The most accounts that one request looks at for a flag. The last purchases of ``mostInactive`` are looked up.
    static let mostLooked = 20_000
    static let mostInactive = 2_000

    /// The address after which the list begins.
    public var after: String?
    /// The start of the addresses; capital letters do not matter.
    public var start: String?
    /// The property.
    public var flag: Flag?
    /// The most accounts, 1 to 200.
    public var limit: Int

    /// Creates a query.
    public init(after: String? = nil, start: String? = nil, flag: Flag? = nil, limit: Int = 200) {
        self.after = after
        self.start = start?.lowercased()
        self.flag = flag
        self.limit = min(max(limit, 1), 200)
    }
}

/// An account in a list.
public struct ListedAccount: Sendable, Equatable {
    /// The account.
    public var account: Account
    /// The purchase date of the newest transaction, in milliseconds since 1970; nil without one.
    public var lastPurchase: Int64?
}

/// A part of the list of accounts.
public struct AccountPage: Sendable, Equatable {
    /// The accounts. There may be fewer than were asked for, even none, and more to find further on.
    public var rows: [ListedAccount]
    /// The address after which the list continues; nil at the end.
    public var next: String?
}

/// A device that is signed in to an account.
public struct SignedInDevice: Sendable, Equatable {
    /// The device's identifier.
    public var deviceID: String
    /// When it last signed in, in milliseconds since 1970 by the store's clock.
    public var signedInAt: Int64
}
