import Database
import MerchantWire

/// A right with a lifetime, from one purchase. Those to the same thing follow one upon the other in the order in which they were bought: each begins when
/// it was bought, or when the one before it ends if that is later. One that was revoked has lasted until then, and what was left of it is taken
/// out, so that those after it begin sooner and last as long as ever.
struct TimedRight: Equatable, Sendable {
    /// The purchase that gives it.
    var source: String
    var boughtAt: Int64
    /// In milliseconds.
    var lifetime: Int64
    var revokedAt: Int64?
    /// As it stands after ``chained(_:from:)``; a revoked one's is when it would have ended.
    var expiresAt: Int64

    /// 9999-12-31: nothing ends later.
    private static let lastMoment: Int64 = 253_402_300_799_000

    /// When something ends that begins at a moment.
    static func end(_ start: Int64, _ lifetime: Int64) -> Int64 {
        start >= lastMoment - lifetime ? lastMoment : start + lifetime
    }

    /// Until when it keeps those after it waiting.
    private var occupiedUntil: Int64 {
        guard let revokedAt else { return expiresAt }
        return min(expiresAt, max(revokedAt, expiresAt - lifetime))
    }

    private var order: (Int64, String) { (boughtAt, source) }

    /// The rights to one thing with the ends that they have.
    /// - Parameter first: from here on they are settled anew; those that were bought before it stand.
    static func chained(_ rights: [TimedRight], from first: TimedRight) -> [TimedRight] {
        var free = Int64.min
        return rights.sorted { $0.order < $1.order }.map { right in
            var right = right
            if right.order >= first.order { right.expiresAt = end(max(right.boughtAt, free), right.lifetime) }
            free = max(free, right.occupiedUntil)
            return right
        }
    }

    /// Settles when the rights end that a purchase changes: its own, and those that were bought after it. Nothing is done for a purchase whose rights
    /// have no lifetime.
    static func settle(of user: UserID, from source: String, _ connection: Connection) throws {
        let changed = try connection.query(
            """
            SELECT kind, name, starts_at FROM entitlements WHERE user_id = $1 AND source = $2 AND lifetime IS NOT NULL
            """, [user.rawValue, source])
        for row in changed {
            let right: [any SQLConvertible] = [user.rawValue, try row.string(0), try row.string(1)]
            // What has ended before this one was bought has no part in it.
            let rights = try connection.query(
                """
                SELECT source, starts_at, lifetime, revoked_at, expires_at FROM entitlements
                WHERE user_id = $1 AND kind = $2 AND name = $3 AND lifetime IS NOT NULL AND expires_at >= $4
                """, right + [try row.int64(2)]
            ).map { row in
                TimedRight(
                    source: try row.string(0), boughtAt: try row.int64(1), lifetime: try row.int64(2),
                    revokedAt: try row.optionalInt64(3), expiresAt: try row.int64(4))
            }
            guard let first = rights.first(where: { $0.source == source }) else { continue }
            for settled in chained(rights, from: first) where !rights.contains(settled) {
                try connection.execute(
                    """
                    UPDATE entitlements SET expires_at = $5
                    WHERE user_id = $1 AND kind = $2 AND name = $3 AND source = $4
                    """, right + [settled.source, settled.expiresAt])
            }
        }
    }
}
