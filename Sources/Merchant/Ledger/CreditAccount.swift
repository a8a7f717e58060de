import Database
import MerchantWire
import StoreWire

/// One of a user's accounts in the books: the credits of a currency in one environment.
///
/// The books name an account in the column `currency`: production's by the currency alone, the sandbox's with a prefix
/// that no currency may have. So every entry and every lot of credits belongs to one environment, and tables, keys and
/// statements are the same for both. In this module a value that goes to ``Ledger`` or ``Lots`` as a currency is an
/// account's ``name``.
struct CreditAccount: Hashable, Sendable {
    var currency: CurrencyID
    var environment: StoreEnvironment

    /// What the names of the sandbox's accounts begin with, and the references of what was spent from them.
    static let sandboxPrefix = "sandbox/"

    init(_ currency: CurrencyID, in environment: StoreEnvironment) {
        (self.currency, self.environment) = (currency, environment)
    }

    /// - Parameter name: as the books have it.
    init(named name: CurrencyID) {
        let text = name.rawValue
        let isSandbox = text.utf8.starts(with: Self.sandboxPrefix.utf8)
        currency = isSandbox ? CurrencyID(Self.withoutPrefix(text)) : name
        environment = isSandbox ? .sandbox : .production
    }

    /// As the books have it.
    var name: CurrencyID {
        environment == .sandbox ? CurrencyID(Self.sandboxPrefix + currency.rawValue) : currency
    }

    /// The reference of a spend or adjustment under a caller's key. Callers may use a key once in each environment.
    func reference(ofKey key: String) -> String { environment == .sandbox ? Self.sandboxPrefix + key : key }

    /// An entry as the caller sees it.
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
    /// Where a purchase's credits go.
    func account(_ currency: CurrencyID, boughtIn environment: StoreEnvironment) -> CreditAccount {
        CreditAccount(currency, in: joinsEnvironments ? .production : environment)
    }

    /// The account that a request means.
    /// - Parameter environment: as the request names it; nil when it names none.
    func account(_ currency: CurrencyID, in environment: StoreEnvironment?) -> CreditAccount {
        CreditAccount(currency, in: balanceEnvironment(environment))
    }

    /// Whose balances a request means.
    func balanceEnvironment(_ environment: StoreEnvironment?) -> StoreEnvironment {
        joinsEnvironments ? .production : environment ?? usualEnvironment
    }
}

extension Merchant {
    /// A balance that nobody can spend under ``MerchantPolicy/joinsEnvironments``: credits in an account of the
    /// sandbox, which they were granted to before the environments were joined.
    /// - Returns: the first one found and its user; nil when there is none.
    /// - Throws: ``DatabaseError``.
    public func unspendableBalance() async throws -> (user: UserID, balance: Balance)? {
        guard policy.joinsEnvironments else { return nil }
        return try await database.read { connection in
            try connection.queryOne(
                """
                SELECT user_id, currency, balance FROM ledger_entries AS newest
                WHERE substr(currency, 1, 8) = '\(CreditAccount.sandboxPrefix)' AND balance > 0 AND NOT EXISTS (
                    SELECT 1 FROM ledger_entries AS later WHERE later.user_id = newest.user_id
                        AND later.currency = newest.currency AND later.entry > newest.entry)
                ORDER BY user_id, currency LIMIT 1
                """, []
            ).map { row in
                let account = CreditAccount(named: CurrencyID(try row.string(1)))
                return (UserID(try row.string(0)), account.balance(of: try row.int64(2)))
            }
        }
    }
}

extension CreditAccount {
    /// So much of it, as callers see it.
    func balance(of amount: Int64) -> Balance {
        Balance(currency: currency, amount: amount, environment: environment)
    }
}

extension Balance {
    /// The name of its account in the books.
    var account: CurrencyID { CreditAccount(currency, in: environment).name }
}
