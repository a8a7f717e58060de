import StoreWire

/// A customer (production) or tester (sandbox), as the store's functions need it.
public struct Account: Sendable, Equatable {
    /// The account's identifier, 16 random hexadecimal digits.
    public var accountID: AccountID
    /// The e-mail address, in lower case. It is unique in the store.
    public var email: String
    /// ISO 3166-1 alpha-3.
    public var storefront: String
    /// False when parental controls or the operator forbid buying.
    public var paymentsAllowed: Bool
    /// True when purchases wait for somebody's approval.
    public var asksToBuy: Bool
    /// Whether the account is locked. A locked account cannot sign in or use its tokens.
    public var isLocked: Bool
    /// Milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
    /// True when each purchase waits until something is settled at the store, as Apple's sandbox testers can be set to.
    public var interruptsPurchases = false
}

/// What the operator says of a new account.
public struct NewAccount: Sendable {
    /// The e-mail address, at most 254 bytes.
    public var email: String
    /// The password, 1 to 1024 bytes.
    public var password: String
    /// The storefront's country code, ISO 3166-1 alpha-3.
    public var storefront: String
    /// Whether the account may buy.
    public var paymentsAllowed: Bool
    /// Whether purchases wait for approval.
    public var asksToBuy: Bool

    /// Creates the description of a new account.
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
    /// The new storefront's country code, ISO 3166-1 alpha-3.
    public var storefront: String?
    /// Whether the account may buy.
    public var paymentsAllowed: Bool?
    /// Whether purchases wait for approval.
    public var asksToBuy: Bool?
    /// Whether the account is locked.
    public var isLocked: Bool?
    /// Whether purchases are interrupted until the operator resolves them.
    public var interruptsPurchases: Bool?

    /// Creates a change.
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
