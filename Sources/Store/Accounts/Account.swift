import StoreWire

/// The account of a customer (production) or a tester (sandbox).
public struct Account: Sendable, Equatable {
    /// The account's identifier, 16 random hexadecimal digits.
    public var accountID: AccountID
    /// The e-mail address, in lower case. It is unique in the store.
    public var email: String
    /// The storefront's country code, ISO 3166-1 alpha-3.
    public var storefront: String
    /// Whether the account may buy. Parental controls or the operator can forbid it.
    public var paymentsAllowed: Bool
    /// Whether purchases wait for approval, as with Ask to Buy.
    public var asksToBuy: Bool
    /// Whether the account is locked. A locked account cannot sign in or use its tokens.
    public var isLocked: Bool
    /// When the account was created, in milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
    /// Whether each purchase is interrupted until the operator resolves it, as Apple's sandbox testers can be set up.
    public var interruptsPurchases = false
    /// How long the periods of a tester's subscriptions last. Production ignores it.
    public var renewalRate = RenewalRate.real
}

/// The properties of an account to create.
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

/// A change of an account. Properties that are nil stay unchanged.
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
    /// How long the periods of a tester's subscriptions last, from the next period on.
    public var renewalRate: RenewalRate?

    /// Creates a change.
    public init(
        storefront: String? = nil, paymentsAllowed: Bool? = nil, asksToBuy: Bool? = nil, isLocked: Bool? = nil,
        interruptsPurchases: Bool? = nil, renewalRate: RenewalRate? = nil
    ) {
        self.storefront = storefront
        self.paymentsAllowed = paymentsAllowed
        self.asksToBuy = asksToBuy
        self.isLocked = isLocked
        self.interruptsPurchases = interruptsPurchases
        self.renewalRate = renewalRate
    }
}
