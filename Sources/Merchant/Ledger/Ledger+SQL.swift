import Database
import MerchantWire
import StoreWire

/// The tables `ledger_entries` and `backend_postings`.
extension Ledger {
    // MARK: Reading

    private static let nextExpiry =
        "(SELECT min(expires_at) FROM credit_lots WHERE user_id = $1 AND credit_lots.currency = ledger_entries.currency)"
    private static let standingText = """
        SELECT balance, entry, \(nextExpiry) FROM ledger_entries
        WHERE user_id = $1 AND currency = $2 ORDER BY entry DESC LIMIT 1
        """

    /// The state of a user's account; nil for an account without entries.
    static func standing(of user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Standing? {
        try connection.queryOne(standingText, [user.rawValue, currency.rawValue]).map { try Standing($0) }
    }

    private static let postingText = """
        SELECT balance, entry FROM ledger_entries WHERE user_id = $1 AND currency = $2 ORDER BY entry DESC LIMIT 1
        """

    /// The state of a user's account without its next expiry, which a grant does not need.
    static func posting(of user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Posting {
        try connection.queryOne(postingText, [user.rawValue, currency.rawValue])
            .map { Posting(balance: try $0.int64(0), entry: try $0.int64(1)) } ?? Posting.none
    }

    private static let lastText = """
        SELECT balance, entry, \(nextExpiry), currency FROM ledger_entries
        WHERE user_id = $1 ORDER BY currency DESC, entry DESC LIMIT 1
        """
    private static let lastBeforeText = """
        SELECT balance, entry, \(nextExpiry), currency FROM ledger_entries
        WHERE user_id = $1 AND currency < $2 ORDER BY currency DESC, entry DESC LIMIT 1
        """

    /// Returns all balances of a user, at most 1,000, and whether expired credits have to be removed.
    static func balances(of user: UserID, at times: BookTimes, _ connection: Connection) throws
        -> (balances: [Balance], isDue: Bool)
    {
        var isDue = false
        var balances: [Balance] = []
        // One query for each account, however many entries the account has.
        var row = try connection.queryOne(lastText, [user.rawValue])
        while let found = row {
            let standing = try Standing(found)
            let currency = try found.string(3)
            let account = CreditAccount(named: CurrencyID(currency))
            if standing.isDue(at: times[account.environment]) { isDue = true }
            balances.append(account.balance(of: standing.posting.balance))
            row =
                balances.count < 1_000
                ? try connection.queryOne(lastBeforeText, [user.rawValue, currency]) : nil
        }
        return (balances.reversed(), isDue)
    }

    /// The spend or adjustment with a caller's key; nil for a new key.
    static func entry(ofKey key: String, _ caller: LedgerCaller, _ user: UserID, _ connection: Connection) throws
        -> (currency: CurrencyID, entry: LedgerEntry)?
    {
        let row =
            switch caller {
            case .app: try connection.queryOne(appKeyText, [user.rawValue, key])
            case .backend:
                try connection.queryOne(backendKeyText, [user.rawValue, key])
                    ?? connection.queryOne(formerKeyText, [user.rawValue, key])
            }
        return try row.map { (CurrencyID(try $0.string(7)), try LedgerEntry($0)) }
    }

    private static let columns = "entry, kind, amount, balance, created_at, reference, note"
    private static let appKeyText = """
        SELECT \(columns), currency FROM ledger_entries
        WHERE user_id = $1 AND reference = $2 AND kind = 'spend' AND (caller IS NULL OR caller = 'app')
        """
    private static let backendKeyText = """
        SELECT ledger_entries.entry, kind, ledger_entries.amount, balance, created_at, reference, note,
            ledger_entries.currency
        FROM backend_postings JOIN ledger_entries ON ledger_entries.user_id = backend_postings.user_id
            AND ledger_entries.currency = backend_postings.currency AND ledger_entries.entry = backend_postings.entry
        WHERE backend_postings.user_id = $1 AND posting_key = $2
        """
    /// Finds a spend of an earlier program, which did not record the caller.
    private static let formerKeyText = """
        SELECT \(columns), currency FROM ledger_entries
        WHERE user_id = $1 AND reference = $2 AND kind = 'spend' AND (caller IS NULL OR caller = 'app')
            AND caller IS NULL
        """
    private static let historyText = """
        SELECT \(columns) FROM ledger_entries
        WHERE user_id = $1 AND currency = $2 AND entry < $3 ORDER BY entry DESC LIMIT $4
        """

    static func history(
        of user: UserID, _ currency: CurrencyID, before: Int64?, limit: Int, _ connection: Connection
    ) throws -> [LedgerEntry] {
        try connection.query(historyText, [user.rawValue, currency.rawValue, before ?? Int64.max, limit])
            .map { try LedgerEntry($0) }
    }

    /// Returns the entries of a purchase among the newest 20,000 of an account, oldest first.
    /// - Parameter reference: the purchase's redemption key.
    static func entries(
        of reference: String, _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> [LedgerEntry] {
        try connection.query(
            """
            SELECT \(columns) FROM ledger_entries
            WHERE user_id = $1 AND currency = $2 AND reference = $3 AND kind <> 'spend' AND kind <> 'adjustment'
                AND entry > (SELECT coalesce(max(entry), 0) FROM ledger_entries WHERE user_id = $1 AND currency = $2)
                    - 20000
            ORDER BY entry LIMIT 100
            """, [user.rawValue, currency.rawValue, reference]
        ).map { try LedgerEntry($0) }
    }

    /// Returns the credits of a purchase that have expired.
    /// - Parameter reference: the purchase's redemption key.
    static func expired(
        of reference: String, _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> Int64 {
        try connection.queryOne(
            """
            SELECT CAST(coalesce(-sum(amount), 0) AS BIGINT) FROM ledger_entries
            WHERE user_id = $1 AND currency = $2 AND kind = 'expiry' AND reference = $3
            """, [user.rawValue, currency.rawValue, reference])?.int64(0) ?? 0
    }

    /// Whether an account has the credits of a purchase.
    /// - Parameter reference: the purchase's redemption key.
    static func hasGrant(
        of reference: String, _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM ledger_entries WHERE user_id = $1 AND currency = $2 AND kind = 'grant' AND reference = $3
            """, [user.rawValue, currency.rawValue, reference]) != nil
    }

    /// Returns the first sandbox account with a positive balance; nil when there is none.
    static func firstSandboxBalance(_ connection: Connection) throws -> (user: UserID, balance: Balance)? {
        try connection.queryOne(
            """
            SELECT user_id, currency, balance FROM ledger_entries AS newest
            WHERE substr(currency, 1, 8) = '\(CreditAccount.sandboxPrefix)' AND balance > 0 AND NOT EXISTS (
                SELECT 1 FROM ledger_entries AS later WHERE later.user_id = newest.user_id
                    AND later.currency = newest.currency AND later.entry > newest.entry)
            ORDER BY user_id, currency LIMIT 1
            """
        ).map { row in
            let account = CreditAccount(named: CurrencyID(try row.string(1)))
            return (UserID(try row.string(0)), account.balance(of: try row.int64(2)))
        }
    }

    // MARK: Writing

    /// Writes an entry. Returns false when the caller's key was used before. A concurrent entry with the same number is
    /// a serialization conflict, after which the database repeats one of the transactions.
    static func writeUnlessRepeated(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, _ kind: LedgerEntry.Kind, _ posting: Posting,
        _ reference: String, _ caller: LedgerCaller?, _ note: String?, _ now: Int64, _ connection: Connection
    ) throws -> Bool {
        if caller == .backend, try !record(user, currency, amount, posting, reference, connection) { return false }
        return try connection.execute(
            """
            INSERT INTO ledger_entries (user_id, currency, entry, kind, amount, counter_account, counter_amount,
                balance, reference, note, created_at, caller)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            ON CONFLICT DO NOTHING
            """,
            values: [
                .text(user.rawValue), .text(currency.rawValue), .integer(posting.entry), .text(kind.rawValue),
                .integer(amount), .text(kind.counterAccount), .integer(-amount), .integer(posting.balance),
                .text(reference), note.sqlValue, .integer(now), (caller?.rawValue).sqlValue,
            ]) == 1
    }

    /// Records that the backend ordered an entry. Returns false when the backend has used the key before.
    private static func record(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, _ posting: Posting, _ key: String,
        _ connection: Connection
    ) throws -> Bool {
        guard try connection.queryOne(formerKeyText, [user.rawValue, key]) == nil else { return false }
        return try connection.execute(
            """
            INSERT INTO backend_postings (user_id, posting_key, currency, entry, amount) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT DO NOTHING
            """, [user.rawValue, key, currency.rawValue, posting.entry, amount]) == 1
    }

    // MARK: The audit

    /// Returns a page of accounts with entries, sorted by user and name.
    static func accounts(
        after last: (user: String, currency: String)?, limit: Int, _ connection: Connection
    ) throws -> [(user: UserID, currency: CurrencyID)] {
        try connection.query(
            """
            SELECT DISTINCT user_id, currency FROM ledger_entries
            WHERE (user_id, currency) > ($1, $2) ORDER BY user_id, currency LIMIT $3
            """, [last?.user ?? "", last?.currency ?? "", limit]
        ).map { (UserID(try $0.string(0)), CurrencyID(try $0.string(1))) }
    }

    /// Returns the number of an account's entries and the sums of their two postings.
    static func sums(
        of user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> (count: Int64, amount: Int64, counterAmount: Int64) {
        let row = try connection.queryOne(
            """
            SELECT count(*), CAST(coalesce(sum(amount), 0) AS BIGINT), CAST(coalesce(sum(counter_amount), 0) AS BIGINT)
            FROM ledger_entries WHERE user_id = $1 AND currency = $2
            """, [user.rawValue, currency.rawValue])
        guard let row else { return (0, 0, 0) }
        return (try row.int64(0), try row.int64(1), try row.int64(2))
    }

    /// Counts an account's entries that do not continue from the previous balance.
    static func breaks(_ user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Int64 {
        try count(
            """
            SELECT count(*) FROM (SELECT balance, amount,
                    lag(balance, 1, 0) OVER (ORDER BY entry) AS earlier
                FROM ledger_entries WHERE user_id = $1 AND currency = $2) AS steps
            WHERE balance <> earlier + amount
            """, user, currency, connection)
    }

    /// Counts grants, refunds and refund reversals without a redemption whose credits are this user's.
    static func entriesWithoutRedemption(_ user: UserID, _ currency: CurrencyID, _ connection: Connection) throws
        -> Int64
    {
        try count(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2
                AND kind IN ('grant', 'refund', 'refundReversal')
                AND NOT EXISTS (SELECT 1 FROM redemptions WHERE redemption_key = ledger_entries.reference
                    AND state IN ('granted', 'revoked') AND coalesce(credited_user, redemptions.user_id) = $1)
            """, user, currency, connection)
    }

    /// Counts adjustments and spends by the backend that were not recorded as orders.
    static func unordered(_ user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Int64 {
        try count(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2
                AND (kind = 'adjustment' OR caller = 'backend')
                AND NOT EXISTS (SELECT 1 FROM backend_postings WHERE backend_postings.user_id = $1
                    AND posting_key = ledger_entries.reference AND backend_postings.currency = $2
                    AND backend_postings.entry = ledger_entries.entry
                    AND backend_postings.amount = ledger_entries.amount)
            """, user, currency, connection)
    }

    /// Counts orders of the backend without an entry.
    static func undone(_ user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Int64 {
        try count(
            """
            SELECT count(*) FROM backend_postings WHERE user_id = $1 AND currency = $2
                AND NOT EXISTS (SELECT 1 FROM ledger_entries WHERE ledger_entries.user_id = $1
                    AND ledger_entries.currency = $2 AND ledger_entries.entry = backend_postings.entry
                    AND reference = posting_key AND ledger_entries.amount = backend_postings.amount
                    AND kind IN ('spend', 'adjustment'))
            """, user, currency, connection)
    }

    /// Counts entries with the wrong sign for their kind.
    static func reversed(_ user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Int64 {
        try count(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2
                AND (kind IN ('spend', 'refund', 'expiry') AND amount > 0
                    OR kind IN ('grant', 'refundReversal') AND amount < 0)
            """, user, currency, connection)
    }

    private static func count(
        _ sql: String, _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> Int64 {
        try connection.queryOne(sql, [user.rawValue, currency.rawValue])?.int64(0) ?? 0
    }

    /// Returns up to 100 accounts, as `user/currency`, with expiring credits and without entries.
    static func lotsWithoutEntries(_ connection: Connection) throws -> [String] {
        try connection.query(
            """
            SELECT DISTINCT user_id, currency FROM credit_lots WHERE NOT EXISTS (
                SELECT 1 FROM ledger_entries WHERE ledger_entries.user_id = credit_lots.user_id
                    AND ledger_entries.currency = credit_lots.currency) LIMIT 100
            """
        ).map { "\(try $0.string(0))/\(try $0.string(1))" }
    }

    /// Returns up to 100 accounts, as `user/currency`, with orders of the backend and without entries.
    static func ordersWithoutEntries(_ connection: Connection) throws -> [String] {
        try connection.query(
            """
            SELECT DISTINCT user_id, currency FROM backend_postings WHERE NOT EXISTS (
                SELECT 1 FROM ledger_entries WHERE ledger_entries.user_id = backend_postings.user_id
                    AND ledger_entries.currency = backend_postings.currency) LIMIT 100
            """
        ).map { "\(try $0.string(0))/\(try $0.string(1))" }
    }

    /// Reads a user's credits for a range of redemption keys, by key.
    static func booked(
        _ user: UserID, from first: String, to last: String, _ connection: Connection
    ) throws -> [String: [BookedCredits]] {
        let rows = try connection.query(
            """
            SELECT reference, currency, CAST(sum(CASE kind WHEN 'grant' THEN amount ELSE 0 END) AS BIGINT),
                CAST(sum(CASE kind WHEN 'grant' THEN 0 ELSE -amount END) AS BIGINT)
            FROM ledger_entries WHERE user_id = $1 AND reference >= $2 AND reference <= $3
                AND kind IN ('grant', 'refund', 'refundReversal')
            GROUP BY reference, currency ORDER BY reference, currency
            """, [user.rawValue, first, last])
        var booked: [String: [BookedCredits]] = [:]
        for row in rows {
            booked[try row.string(0), default: []].append(
                BookedCredits(
                    account: CreditAccount(named: CurrencyID(try row.string(1))), granted: try row.int64(2),
                    taken: try row.int64(3)))
        }
        return booked
    }
}

extension Ledger.Standing {
    fileprivate init(_ row: Row) throws {
        posting = Ledger.Posting(balance: try row.int64(0), entry: try row.int64(1))
        nextExpiry = try row.optionalInt64(2)
    }
}

extension LedgerEntry {
    fileprivate init(_ row: Row) throws {
        guard let kind = Kind(rawValue: try row.string(1)) else {
            throw MerchantError(.internalError, "The ledger contains a kind of entry that this version does not know.")
        }
        let reference = try row.string(5)
        // A spend or adjustment gets its account's environment in ``CreditAccount/seen(_:)``.
        let isPurchase = kind != .spend && kind != .adjustment
        self.init(
            entry: try row.int64(0), kind: kind, amount: try row.int64(2), balance: try row.int64(3),
            createdAt: try row.int64(4), reference: reference, note: try row.optionalString(6),
            environment: isPurchase ? RedemptionKey.environment(of: reference) : .production)
    }
}
