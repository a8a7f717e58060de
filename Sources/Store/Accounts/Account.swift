import StoreWire

/// A customer (production) or tester (sandbox), as the store's functions need it.
public struct Account: Sendable, Equatable {
    public var accountID: AccountID
    public var email: String
    /// ISO 3166-1 alpha-3.
    public var storefront: String
    /// False when parental controls or the operator forbid buying.
    public var paymentsAllowed: Bool
    /// True when purchases wait for somebody's approval.
    public var asksToBuy: Bool
    public var isLocked: Bool
    /// Milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
    /// True when each purchase waits until something is settled at the store, as Apple's sandbox testers can be set to.
    public var interruptsPurchases = false
}

/// What the operator says of a new account.
public struct NewAccount: Sendable {
    public var email: String
    public var password: String
    public var storefront: String
    public var paymentsAllowed: Bool
    public var asksToBuy: Bool

    public init(
        email: String, password: String, storefront: String, paymentsAllowed: Bool = true, asksToBuy: Bool = false
    ) {
        self.email = email
        self.password = password
        self.storefront = storefront
        self.paymentsAllowed = paymentsAllowed
        self.asksToBuy = asksToBuy
    }
}

/// What the operator may change of an account; nil leaves it.
public struct AccountChange: Sendable {
    public var storefront: String?
    public var paymentsAllowed: Bool?
    public var asksToBuy: Bool?
    public var isLocked: Bool?
    public var interruptsPurchases: Bool?

    public init(
        storefront: String? = nil, paymentsAllowed: Bool? = nil, asksToBuy: Bool? = nil, isLocked: Bool? = nil,
        interruptsPurchases: Bool? = nil
    ) {
        self.storefront = storefront
        self.paymentsAllowed = paymentsAllowed
        self.asksToBuy = asksToBuy
        self.isLocked = isLocked
        self.interruptsPurchases = interruptsPurchases
    }
}
