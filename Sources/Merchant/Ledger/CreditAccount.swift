import MerchantWire
import StoreWire

/// One of a user's accounts in the ledger: the credits of a currency in one environment.
///
/// The column `currency` names an account. A production account has the currency's name. A sandbox account has the name
/// with a prefix that no currency may have. Every entry and every lot of credits therefore belongs to one environment,
/// and both use the same tables, keys and statements. In this module, a value that is passed to ``Ledger`` or ``Lots``
/// as a currency is an account's ``name``.
struct CreditAccount: Hashable, Sendable {
    var currency: CurrencyID
    var environment: StoreEnvironment

    /// The prefix of sandbox accounts' names, and of the references of their spends and adjustments.
    static let sandboxPrefix = "sandbox/"

    init(_ currency: CurrencyID, in environment: StoreEnvironment) {
        (self.currency, self.environment) = (currency, environment)
    }

    /// - Parameter name: the account's name in the ledger.
    init(named name: CurrencyID) {
        let text = name.rawValue
        let isSandbox = text.utf8.starts(with: Self.sandboxPrefix.utf8)
        currency = isSandbox ? CurrencyID(Self.withoutPrefix(text)) : name
        environment = isSandbox ? .sandbox : .production
    }

    /// The account's name in the ledger.
    var name: CurrencyID {
        environment == .sandbox ? CurrencyID(Self.sandboxPrefix + currency.rawValue) : currency
    }

    /// The ledger's reference for a spend or adjustment with a caller's key. Callers may use a key once in each
    /// environment.
    func reference(ofKey key: String) -> String { environment == .sandbox ? Self.sandboxPrefix + key : key }

    /// Converts a ledger entry to the form that callers receive: with the environment, and without the prefix.
    func seen(_ entry: LedgerEntry) -> LedgerEntry {
        guard entry.kind == .spend || entry.kind == .adjustment else { return entry }
        var entry = entry
        entry.environment = environment
        if environment == .sandbox { entry.reference = entry.reference.map(Self.withoutPrefix) }
        return entry
    }

    private static func withoutPrefix(_ text: String) -> String {
        guard text.utf8.starts(with: sandboxPrefix.utf8) else { return text }
        return String(decoding: text.utf8.dropFirst(sandboxPrefix.utf8.count), as: UTF8.self)
    }
}

extension MerchantPolicy {
    /// The account for a purchase's credits.
    func account(_ currency: CurrencyID, boughtIn environment: StoreEnvironment) -> CreditAccount {
        CreditAccount(currency, in: joinsEnvironments ? .production : environment)
    }

    /// The account for a request.
    /// - Parameter environment: the environment in the request; nil when the request names none.
    func account(_ currency: CurrencyID, in environment: StoreEnvironment?) -> CreditAccount {
        CreditAccount(currency, in: balanceEnvironment(environment))
    }

    /// The environment of the balances for a request.
    func balanceEnvironment(_ environment: StoreEnvironment?) -> StoreEnvironment {
        joinsEnvironments ? .production : environment ?? usualEnvironment
    }
}

extension Merchant {
    /// Finds a balance that cannot be spent under ``MerchantPolicy/joinsEnvironments``: credits in a sandbox account,
    /// granted before the environments were joined.
    /// - Returns: the first such balance and its user; nil when there is none.
    /// - Throws: ``DatabaseError``.
    public func unspendableBalance() async throws -> (user: UserID, balance: Balance)? {
        guard policy.joinsEnvironments else { return nil }
        return try await database.read { try Ledger.firstSandboxBalance($0) }
    }
}

extension CreditAccount {
    /// A balance of this account with the given number of credits.
    func balance(of amount: Int64) -> Balance {
        Balance(currency: currency, amount: amount, environment: environment)
    }
}

extension Balance {
    /// The name of the balance's account in the ledger.
    var account: CurrencyID { CreditAccount(currency, in: environment).name }
}
