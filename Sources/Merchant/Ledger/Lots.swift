import Database
import MerchantWire
import StoreWire

/// The unspent credits that have an expiry date: the table `credit_lots`. They are part of the balance. A spend uses
/// them first, those that expire soonest before the others.
enum Lots {
    struct Lot: Codable, Sendable, Equatable {
        var expiresAt: Int64
        var reference: String
        var remaining: Int64
    }

    /// Adds credits with an expiry date.
    /// - Parameter balance: the account's balance, including the added credits.
    static func add(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, expiresAt: Int64, reference: String, balance: Int64,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO credit_lots (user_id, currency, expires_at, reference, remaining) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id, currency, expires_at, reference) DO UPDATE SET
                remaining = credit_lots.remaining + excluded.remaining
            """, [user.rawValue, currency.rawValue, expiresAt, reference, amount])
        // Credits that offset a negative balance are used up.
        if balance < amount { try trim(user, currency, to: max(balance, 0), connection) }
    }

    /// Uses up to `amount` credits, those that expire soonest first.
    static func consume(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, _ connection: Connection
    ) throws {
        try take(amount, of: try all(user, currency, connection), user, currency, connection)
    }

    /// Uses up to `amount` of the credits that one purchase granted.
    /// - Returns: the used part of each lot.
    static func takeBack(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, reference: String, _ connection: Connection
    ) throws -> [Lot] {
        let own = try all(user, currency, connection).filter { $0.reference == reference }
        return try take(amount, of: own, user, currency, connection)
    }

    /// Uses the credits that expire last until their sum is at most the balance.
    /// - Returns: the used part of each lot.
    @discardableResult
    static func trim(
        _ user: UserID, _ currency: CurrencyID, to balance: Int64, _ connection: Connection
    ) throws -> [Lot] {
        let lots = try all(user, currency, connection)
        let excess = lots.reduce(0) { $0 + $1.remaining } - balance
        return excess > 0 ? try take(excess, of: lots.reversed(), user, currency, connection) : []
    }

    /// Returns expired lots that were not removed yet, the soonest first.
    static func ended(
        _ user: UserID, _ currency: CurrencyID, at now: Int64, _ connection: Connection
    ) throws -> [Lot] {
        try connection.query(
            """
            SELECT expires_at, reference, remaining FROM credit_lots
            WHERE user_id = $1 AND currency = $2 AND expires_at <= $3
            """, [user.rawValue, currency.rawValue, now]
        ).map { Lot(expiresAt: try $0.int64(0), reference: try $0.string(1), remaining: try $0.int64(2)) }
            .sorted { ($0.expiresAt, $0.reference) < ($1.expiresAt, $1.reference) }
    }

    /// Deletes expired lots.
    static func removeEnded(
        _ user: UserID, _ currency: CurrencyID, at now: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            "DELETE FROM credit_lots WHERE user_id = $1 AND currency = $2 AND expires_at <= $3",
            [user.rawValue, currency.rawValue, now])
    }

    /// Returns the accounts of lots that have expired and were not removed yet: production's, then the sandbox's, those
    /// that expired first before the others. An account is returned once for each lot.
    static func due(at times: BookTimes, limit: Int, _ connection: Connection) throws -> [(
        user: UserID, currency: CurrencyID
    )] {
        var due: [Row] = []
        for environment in StoreEnvironment.allCases where due.count < limit {
            due += try connection.query(dueStatement(in: environment), [times[environment], limit - due.count])
        }
        return try due.map { (UserID(try $0.string(0)), CurrencyID(try $0.string(1))) }
    }

    /// The statement that finds the expired lots of an environment's accounts, with the environment's time as $1 and
    /// the largest number of lots as $2. Each environment has an index of its own, so that lots of the other one, whose
    /// clock may be far behind, are not read.
    static func dueStatement(in environment: StoreEnvironment) -> String {
        """
        SELECT user_id, currency FROM credit_lots
        WHERE substr(currency, 1, 8) \(environment == .sandbox ? "=" : "<>") '\(CreditAccount.sandboxPrefix)'
            AND expires_at <= $1
        ORDER BY expires_at LIMIT $2
        """
    }

    /// Returns the number of an account's unspent credits with an expiry date.
    static func remaining(of user: UserID, _ currency: CurrencyID, _ connection: Connection) throws -> Int64 {
        try connection.queryOne(
            """
            SELECT CAST(coalesce(sum(remaining), 0) AS BIGINT) FROM credit_lots WHERE user_id = $1 AND currency = $2
            """, [user.rawValue, currency.rawValue])?.int64(0) ?? 0
    }

    /// Returns the number of unspent credits with an expiry date that one purchase granted.
    static func remaining(
        of reference: String, _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> Int64 {
        try all(user, currency, connection).filter { $0.reference == reference }.reduce(0) { $0 + $1.remaining }
    }

    private static func all(
        _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> [Lot] {
        try connection.query(
            """
            SELECT expires_at, reference, remaining FROM credit_lots
            WHERE user_id = $1 AND currency = $2 ORDER BY expires_at, reference
            """, [user.rawValue, currency.rawValue]
        ).map { Lot(expiresAt: try $0.int64(0), reference: try $0.string(1), remaining: try $0.int64(2)) }
    }

    @discardableResult
    private static func take(
        _ amount: Int64, of lots: [Lot], _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> [Lot] {
        var left = amount
        var taken: [Lot] = []
        for lot in lots where left > 0 {
            let used = min(left, lot.remaining)
            left -= used
            taken.append(Lot(expiresAt: lot.expiresAt, reference: lot.reference, remaining: used))
            let key: [any SQLConvertible] = [user.rawValue, currency.rawValue, lot.expiresAt, lot.reference]
            if used == lot.remaining {
                try connection.execute(
                    """
                    DELETE FROM credit_lots
                    WHERE user_id = $1 AND currency = $2 AND expires_at = $3 AND reference = $4
                    """, key)
            } else {
                try connection.execute(
                    """
                    UPDATE credit_lots SET remaining = remaining - $5
                    WHERE user_id = $1 AND currency = $2 AND expires_at = $3 AND reference = $4
                    """, key + [used])
            }
        }
        return taken
    }
}
