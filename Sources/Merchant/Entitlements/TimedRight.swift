import Database
import MerchantWire
import StoreWire

/// A right with a lifetime, from one purchase. Those to the same thing follow one upon the other in the order in which they were bought: each begins when
/// it was bought, or when the one before it ends if that is later. One that was revoked has lasted until then, and what was left of it is taken
/// out, so that those after it begin sooner and last as long as ever.
struct TimedRight: Equatable, Sendable {
    /// Rights that follow one upon the other: one user's, to one thing.
    struct Chain: Hashable, Comparable, Sendable {
        var user: UserID
        var kind: String
        var name: String

        static func < (left: Chain, right: Chain) -> Bool {
            (left.user.rawValue, left.kind, left.name) < (right.user.rawValue, right.kind, right.name)
        }
    }

    /// A right's place in its chain.
    struct Position: Hashable, Comparable, Sendable {
        var boughtAt: Int64
        var source: String

        static func < (left: Position, right: Position) -> Bool {
            (left.boughtAt, left.source) < (right.boughtAt, right.source)
        }
    }

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

    var position: Position { Position(boughtAt: boughtAt, source: source) }

    /// The rights to one thing with the ends that they have, in their order.
    /// - Parameters:
    ///   - rights: in their order.
    ///   - first: from here on they are settled anew; those that were bought before it stand.
    static func chained(_ rights: [TimedRight], from first: Position) -> [TimedRight] {
        var free = Int64.min
        return rights.map { right in
            var right = right
            if right.position >= first { right.expiresAt = end(max(right.boughtAt, free), right.lifetime) }
            free = max(free, right.occupiedUntil)
            return right
        }
    }

    /// Settles when the rights of a chain end, from a purchase that gave one or lost it on. Reads the chain once, and
    /// writes the rows that change.
    static func settle(_ chain: Chain, from first: Position, _ connection: Connection) throws {
        // What has ended before this one was bought has no part in it.
        let rights = try all(of: chain, endingFrom: first.boughtAt, connection)
        for (old, settled) in zip(rights, chained(rights, from: first)) where old != settled {
            try connection.execute(
                """
                UPDATE entitlements SET expires_at = $5 WHERE user_id = $1 AND kind = $2 AND name = $3 AND source = $4
                """, [chain.user.rawValue, chain.kind, chain.name, settled.source, settled.expiresAt])
        }
    }

    /// A chain's rights, in their order.
    /// - Parameter moment: those that end before it are left out.
    static func all(of chain: Chain, endingFrom moment: Int64, _ connection: Connection) throws -> [TimedRight] {
        try connection.query(
            """
            SELECT source, starts_at, lifetime, revoked_at, expires_at FROM entitlements
            WHERE user_id = $1 AND kind = $2 AND name = $3 AND lifetime IS NOT NULL AND expires_at >= $4
            """, [chain.user.rawValue, chain.kind, chain.name, moment]
        ).map { row in
            TimedRight(
                source: try row.string(0), boughtAt: try row.int64(1), lifetime: try row.int64(2),
                revokedAt: try row.optionalInt64(3), expiresAt: try row.int64(4))
        }.sorted { $0.position < $1.position }
    }
}
