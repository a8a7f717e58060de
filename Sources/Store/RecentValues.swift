import Synchronization

/// A bounded cache of values that can be fetched again. The bound is a number of values, or of their costs.
///
/// The cache keeps two generations and drops the older one when the younger is full. That costs a second look-up on a
/// miss, but a hit does not have to maintain an order.
final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Generations {
        var young: [Key: Value] = [:]
        var old: [Key: Value] = [:]
        /// The costs of the young values.
        var cost = 0
        /// How many times values were removed because they had changed.
        var changes = 0
    }

    private let capacity: Int
    private let cost: @Sendable (Value) -> Int
    private let generations = Mutex(Generations())

    /// - Parameter cost: the cost of a value, in the unit of `capacity`.
    init(capacity: Int, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
        (self.capacity, self.cost) = (capacity, cost)
    }

    func value(for key: Key) -> Value? {
        generations.withLock { generations in
            if let value = generations.young[key] { return value }
            guard let value = generations.old.removeValue(forKey: key) else { return nil }
            insert(value, for: key, into: &generations)
            return value
        }
    }

    func insert(_ value: Value, for key: Key) {
        generations.withLock { insert(value, for: key, into: &$0) }
    }

    /// The number of removals so far. Read it before you fetch a value that you insert afterwards.
    var changes: Int { generations.withLock { $0.changes } }

    /// Inserts a fetched value, unless a value was removed since `changes` was read: the fetched one may be outdated.
    func insert(_ value: Value, for key: Key, unlessChangedSince changes: Int) {
        generations.withLock {
            guard $0.changes == changes else { return }
            insert(value, for: key, into: &$0)
        }
    }

    func removeValue(for key: Key) {
        generations.withLock {
            $0.changes += 1
            if let value = $0.young.removeValue(forKey: key) { $0.cost -= cost(value) }
            $0.old.removeValue(forKey: key)
        }
    }

    func removeAll() { generations.withLock { $0 = Generations(changes: $0.changes + 1) } }

    private func insert(_ value: Value, for key: Key, into generations: inout Generations) {
        let cost = cost(value)
        if generations.cost + cost > capacity / 2 {
            generations.old = generations.young
            generations.young = [:]
            generations.cost = 0
        }
        if let replaced = generations.young.updateValue(value, forKey: key) {
            generations.cost -= self.cost(replaced)
        }
        generations.cost += cost
    }
}
