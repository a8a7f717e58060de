import StoreWire

/// What a user has of one currency.
public struct Balance: Codable, Sendable, Equatable {
    /// The currency of the credits.
    public var currency: CurrencyID
    /// Below zero only after a refund, if the merchant's policy says so.
    public var amount: Int64
    /// Whether it was bought with money, or in the sandbox.
    public var environment: StoreEnvironment

    /// Creates a balance.
    public init(currency: CurrencyID, amount: Int64, environment: StoreEnvironment = .production) {
        self.currency = currency
        self.amount = amount
        self.environment = environment
    }
}

/// All that a user has in one environment, in the order of the currencies' names; a currency that was never granted is
/// not listed. The report of a user has the balances of both, production's first.
public struct BalanceList: Codable, Sendable, Equatable {
    /// The balances.
    public var balances: [Balance]

    /// Creates a list of balances.
    public init(balances: [Balance]) { self.balances = balances }

    /// What there is of a currency; 0 for one that is not listed.
    public func amount(of currency: CurrencyID) -> Int64 {
        balances.first { $0.currency == currency }?.amount ?? 0
    }
}

/// Takes credits from a user.
public struct SpendRequest: Codable, Sendable, Equatable {
    /// Made by the caller and sent again with every attempt, so that what was spent once is not spent twice. It is the user's
    /// own: another user may use the same. The user's app and the merchant's backend have keys of their own, too.
    public var key: String
    /// The currency of the credits.
    public var currency: CurrencyID
    /// At least 1.
    public var amount: Int64
    /// What it was spent on, in words of the app's own.
    public var note: String?
    /// Of which balance; nil for the environment that the merchant takes as usual.
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

/// What was spent; asked again under its key, the merchant answers the same.
public struct SpendAnswer: Codable, Sendable, Equatable {
    /// The idempotency key of the request.
    public var key: String
    /// The currency of the credits.
    public var currency: CurrencyID
    /// The number of credits spent.
    public var amount: Int64
    /// What was left right after it.
    public var balance: Int64
    /// The number of the entry in the history of the user and currency.
    public var entry: Int64
    /// Of which balance it was taken.
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

/// Gives credits to a user, or takes them, for a reason of the merchant's own.
public struct AdjustmentRequest: Codable, Sendable, Equatable {
    /// As in ``SpendRequest``. The backend's adjustments and spends share one set of keys, apart from those of the
    /// user's app.
    public var key: String
    /// The currency of the credits.
    public var currency: CurrencyID
    /// Above zero gives, below zero takes, and takes no more than there is.
    public var amount: Int64
    /// The reason in the merchant's own words, up to ``MerchantLimits/note`` bytes.
    public var note: String?
    /// Of which balance; nil for the environment that the merchant takes as usual.
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

/// One entry of the ledger, seen from the user's account.
public struct LedgerEntry: Codable, Sendable, Equatable {
    /// Why the balance changed.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A redeemed transaction gave credits.
        case grant
        /// The user spent them.
        case spend
        /// The store gave the money back, and the merchant took the credits back.
        case refund
        /// The store took a refund back.
        case refundReversal
        /// Credits came to the end of their lifetime.
        case expiry
        /// The merchant changed the balance by hand.
        case adjustment
    }

    /// 1, 2, 3… for each user and currency.
    public var entry: Int64
    /// Why the balance changed.
    public var kind: Kind
    /// Above zero is given, below zero is taken.
    public var amount: Int64
    /// What there was right after it.
    public var balance: Int64
    /// Milliseconds since 1970.
    public var createdAt: Int64
    /// The key of a spend or adjustment, or which purchase it was.
    public var reference: String?
    /// The note of the spend or adjustment; nil when the request had none.
    public var note: String?
    /// Where the purchase behind it was made; of a spend or adjustment, whose balance it changed.
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
    /// What to ask for next as `before`; nil when there is nothing older.
    public var next: Int64?
    /// Of which balance it is the history.
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
