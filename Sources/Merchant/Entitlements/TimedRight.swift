import MerchantWire
import StoreWire

/// A right with a lifetime, from one purchase.
///
/// A user's rights to the same entitlement run one after another, in the order of purchase. Each begins at its
/// purchase, or at the end of the right before it if that is later. A revoked right ends at the revocation. Its
/// remaining time is removed, so that later rights begin sooner and keep their full lifetime.
struct TimedRight: Equatable, Sendable {
    /// The rights of one user to one entitlement, which run one after another.
    struct Chain: Hashable, Comparable, Sendable {
        var user: UserID
        var kind: String
        var name: String

        static func < (left: Chain, right: Chain) -> Bool {
            (left.user, left.kind, left.name) < (right.user, right.kind, right.name)
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

    /// The key of the purchase that grants the right.
    var source: String
    var boughtAt: Int64
    /// The lifetime in milliseconds.
    var lifetime: Int64
    var revokedAt: Int64?
    /// The end of the right as computed by ``chained(_:from:)``. For a revoked right, the end that it would have had.
    var expiresAt: Int64

    /// The latest possible end: 9999-12-31.
    private static let lastMoment: Int64 = 253_402_300_799_000

    /// The end of a right that begins at `start`.
    static func end(_ start: Int64, _ lifetime: Int64) -> Int64 {
        start >= lastMoment - lifetime ? lastMoment : start + lifetime
    }

    /// The time before which the next right cannot begin.
    private var occupiedUntil: Int64 {
        guard let revokedAt else { return expiresAt }
        return min(expiresAt, max(revokedAt, expiresAt - lifetime))
    }

    var position: Position { Position(boughtAt: boughtAt, source: source) }

    /// Computes the ends of a chain's rights.
    /// - Parameters:
    ///   - rights: the rights of one chain, sorted by position.
    ///   - first: the first right to compute. Rights before it keep their ends.
    static func chained(_ rights: [TimedRight], from first: Position) -> [TimedRight] {
        var free = Int64.min
        return rights.map { right in
            var right = right
            if right.position >= first { right.expiresAt = end(max(right.boughtAt, free), right.lifetime) }
            free = max(free, right.occupiedUntil)
            return right
        }
    }
}
