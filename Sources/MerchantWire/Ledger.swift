import StoreWire

/// A user's credits of one currency in one environment.
public struct Balance: Codable, Sendable, Equatable {
    /// The currency of the credits.
    public var currency: CurrencyID
    /// The number of credits. It is negative only after a refund, if the merchant's policy allows that.
    public var amount: Int64
    /// Whether the credits are from production or from the sandbox.
    public var environment: StoreEnvironment

    /// Creates a balance.
    public init(currency: CurrencyID, amount: Int64, environment: StoreEnvironment = .production) {
        self.currency = currency
        self.amount = amount
        self.environment = environment
    }
}

/// A user's balances in one environment, sorted by currency. A currency that was never granted is not listed. In a user
/// report, the list has the balances of both environments, production first.
public struct BalanceList: Decodable, Sendable, Equatable {
    /// The balances.
    public var balances: [Balance]

    /// Creates a list of balances.
    public init(balances: [Balance]) { self.balances = balances }

    /// The balance of a currency; 0 when the currency is not listed.
    public func amount(of currency: CurrencyID) -> Int64 {
        balances.first { $0.currency == currency }?.amount ?? 0
    }
}

/// A request to spend a user's credits.
public struct SpendRequest: Encodable, Sendable, Equatable {
    /// The idempotency key. The caller chooses it and sends it with every attempt, so that the credits are spent once.
    /// Keys belong to one user: two users may use the same key. The user's app and the merchant's backend have separate
    /// keys.
    public var key: String
    /// The currency of the credits.
    public var currency: CurrencyID
    /// The number of credits, at least 1.
    public var amount: Int64
    /// The purpose in the app's own words, up to ``MerchantLimits/note`` bytes.
    public var note: String?
    /// The environment of the balance; nil for the merchant's default environment.
    public var environment: StoreEnvironment?

    /// Creates a request to spend credits.
    public init(
        key: String, currency: CurrencyID, amount: Int64, note: String? = nil, environment: StoreEnvironment? = nil
    ) {
        self.environment = environment
        self.key = key
        self.currency = currency
        self.amount = amount
        self.note = note
    }
}

/// The result of a spend. A request repeated with the same key gets the same result.
public struct SpendAnswer: Decodable, Sendable, Equatable {
    /// The idempotency key of the request.
    public var key: String
    /// The currency of the credits.
    public var currency: CurrencyID
    /// The number of credits spent.
    public var amount: Int64
    /// The balance after the spend.
    public var balance: Int64
    /// The number of the entry in the user's history of the currency.
    public var entry: Int64
    /// The environment of the balance.
    public var environment: StoreEnvironment

    /// Creates an answer.
    public init(
        key: String, currency: CurrencyID, amount: Int64, balance: Int64, entry: Int64,
        environment: StoreEnvironment = .production
    ) {
        self.environment = environment
        self.key = key
        self.currency = currency
        self.amount = amount
        self.balance = balance
        self.entry = entry
    }
}

/// A request to add credits to a user's balance or to remove them, for a reason of the merchant's own.
public struct AdjustmentRequest: Encodable, Sendable, Equatable {
    /// The idempotency key, as in ``SpendRequest/key``. The backend's adjustments and spends share one set of keys,
    /// separate from the keys of the user's app.
    public var key: String
    /// The currency of the credits.
    public var currency: CurrencyID
    /// The number of credits: positive to add, negative to remove. An adjustment cannot remove more than the balance.
    public var amount: Int64
    /// The reason in the merchant's own words, up to ``MerchantLimits/note`` bytes.
    public var note: String?
    /// The environment of the balance; nil for the merchant's default environment.
    public var environment: StoreEnvironment?

    /// Creates a request to adjust a balance.
    public init(
        key: String, currency: CurrencyID, amount: Int64, note: String? = nil, environment: StoreEnvironment? = nil
    ) {
        self.environment = environment
        self.key = key
        self.currency = currency
        self.amount = amount
        self.note = note
    }
}

/// One entry of a user's account in the ledger.
public struct LedgerEntry: Codable, Sendable, Equatable {
    /// Why the balance changed.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A redeemed transaction granted credits.
        case grant
        /// The user spent credits.
        case spend
        /// The store refunded the purchase, and the merchant took the credits back.
        case refund
        /// The store reversed a refund, and the merchant returned the credits.
        case refundReversal
        /// Credits expired.
        case expiry
        /// The merchant's staff or backend changed the balance.
        case adjustment
    }

    /// The number of the entry: 1, 2, 3… for each user and currency.
    public var entry: Int64
    /// Why the balance changed.
    public var kind: Kind
    /// The number of credits: positive when added, negative when removed.
    public var amount: Int64
    /// The balance after the entry.
    public var balance: Int64
    /// The time of the entry, in milliseconds since 1970.
    public var createdAt: Int64
    /// The idempotency key of a spend or adjustment, or the redemption key of a purchase.
    public var reference: String?
    /// The note of the spend or adjustment; nil when the request had none.
    public var note: String?
    /// The environment of the purchase; for a spend or adjustment, the environment of the balance.
    public var environment: StoreEnvironment

    /// Creates an entry.
    public init(
        entry: Int64, kind: Kind, amount: Int64, balance: Int64, createdAt: Int64, reference: String?, note: String?,
        environment: StoreEnvironment = .production
    ) {
        self.environment = environment
        self.entry = entry
        self.kind = kind
        self.amount = amount
        self.balance = balance
        self.createdAt = createdAt
        self.reference = reference
        self.note = note
    }
}

/// A page of the history of one user and currency, newest first.
public struct HistoryPage: Codable, Sendable, Equatable {
    /// The currency of the credits.
    public var currency: CurrencyID
    /// The entries, newest first; at most ``MerchantLimits/page``.
    public var entries: [LedgerEntry]
    /// The value of `before` for the next page; nil on the last page.
    public var next: Int64?
    /// The environment of the balance.
    public var environment: StoreEnvironment

    /// Creates a page of history.
    public init(
        currency: CurrencyID, entries: [LedgerEntry], next: Int64?, environment: StoreEnvironment = .production
    ) {
        self.environment = environment
        self.currency = currency
        self.entries = entries
        self.next = next
    }
}
