import StoreWire
import Synchronization

/// Makes transaction ids: ever rising, below 2^53, 15 digits in production, 16 beginning with 2 in the sandbox. An id is the *real* time in
/// ticks of 10 ms since 2025, a node number (0 to 63) and a sequence (0 to 127), so that many nodes need not ask one another. It lasts until
/// 2059; a node can make 12,800 a second for long, and more in a burst by borrowing from the ticks to come.
public final class TransactionIDs: Sendable {
    private static let epoch: Int64 = 1_735_689_600_000  // 2025-01-01
    private static let perTick: Int64 = 64 * 128

    private let base: Int64
    private let node: Int64
    private let last: Mutex<Int64>
    private let realMilliseconds: @Sendable () -> Int64

    /// - Parameters:
    ///   - highest: the highest id that the store has given out, which none of the new ones may fall below.
    ///   - node: this process's number, 0 to 63.
    public init(
        _ environment: StoreEnvironment, node: Int, highest: TransactionID?,
        realMilliseconds: @escaping @Sendable () -> Int64
    ) {
        let base: Int64 = environment == .production ? 100_000_000_000_000 : 2_000_000_000_000_000
        self.base = base
        self.node = Int64(node & 63)
        let highestTick = highest.map { ($0.rawValue - base) / Self.perTick + 1 } ?? 0
        last = Mutex(max(highestTick, 0) * 128 - 1)
        self.realMilliseconds = realMilliseconds
    }

    /// The next id.
    public func next() -> TransactionID {
        let tick = max((realMilliseconds() - Self.epoch) / 10, 0)
        // `last` counts ticks and sequence together (tick · 128 + sequence), so that a full tick runs over into the next.
        let count = last.withLock { last in
            last = max(last + 1, tick * 128)
            return last
        }
        let (ticks, sequence) = count.quotientAndRemainder(dividingBy: 128)
        return TransactionID(rawValue: base + ticks * Self.perTick + node * 128 + sequence)
    }
}

extension TransactionID {
    /// Which store gave it out: the sandbox's have 16 digits.
    var environment: StoreEnvironment { rawValue >= 2_000_000_000_000_000 ? .sandbox : .production }
}
