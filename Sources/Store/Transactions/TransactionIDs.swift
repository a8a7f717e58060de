import StoreWire
import Synchronization

/// Creates transaction identifiers.
///
/// Identifiers of one node always increase and are below 2^53. They have 15 digits in production, and 16 digits
/// beginning with 2 in the sandbox. An identifier consists of the *real* time in ticks of 10 ms since 2025, a node
/// number (0 to 63) and a sequence number (0 to 127), so that nodes need no coordination. The range lasts until 2059. A
/// node can create 12,800 identifiers a second, and more in a burst by using the sequence numbers of later ticks.
public final class TransactionIDs: Sendable {
    private static let epoch: Int64 = 1_735_689_600_000  // 2025-01-01
    private static let perTick: Int64 = 64 * 128
    private static let productionBase: Int64 = 100_000_000_000_000
    private static let sandboxBase: Int64 = 2_000_000_000_000_000

    private let base: Int64
    private let node: Int64
    private let last: Mutex<Int64>
    private let realMilliseconds: @Sendable () -> Int64

    /// Creates a generator.
    /// - Parameters:
    ///   - highest: the highest identifier that the store has used. New identifiers are higher.
    ///   - node: this process's number, 0 to 63.
    public init(
        _ environment: StoreEnvironment, node: Int, highest: TransactionID?,
        realMilliseconds: @escaping @Sendable () -> Int64
    ) {
        let base = environment == .production ? Self.productionBase : Self.sandboxBase
        self.base = base
        self.node = Int64(node & 63)
        let highestTick = highest.map { ($0.rawValue - base) / Self.perTick + 1 } ?? 0
        last = Mutex(max(highestTick, 0) * 128 - 1)
        self.realMilliseconds = realMilliseconds
    }

    /// Returns the next identifier.
    public func next() -> TransactionID { next(above: nil) }

    /// Returns the next identifier, higher than one that another node may have created with a clock that is ahead.
    /// Later identifiers are higher too.
    /// - Parameter floor: an identifier of the same environment; nil for none. One of the other environment has no
    ///   effect.
    public func next(above floor: TransactionID?) -> TransactionID {
        let tick = max((realMilliseconds() - Self.epoch) / 10, 0)
        // `last` is tick · 128 + sequence, so that a full tick continues in the next one.
        let count = last.withLock { last in
            last = max(last + 1, tick * 128)
            if let floor, range.contains(floor.rawValue), id(last) <= floor {
                last = ((floor.rawValue - base) / Self.perTick + 1) * 128
            }
            return last
        }
        return id(count)
    }

    /// The identifiers of this environment.
    private var range: Range<Int64> { base..<(base == Self.productionBase ? base * 10 : 1 << 53) }

    private func id(_ count: Int64) -> TransactionID {
        let (ticks, sequence) = count.quotientAndRemainder(dividingBy: 128)
        return TransactionID(rawValue: base + ticks * Self.perTick + node * 128 + sequence)
    }
}

extension TransactionID {
    /// The store that created the identifier. The sandbox's have 16 digits.
    var environment: StoreEnvironment { rawValue >= 2_000_000_000_000_000 ? .sandbox : .production }
}
