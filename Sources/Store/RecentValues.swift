import Synchronization

/// A bounded cache of values that can be fetched again.
///
/// The cache keeps two generations and drops the older one when the younger is full. That costs a second look-up on a
/// miss, but a hit does not have to maintain an order.
final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Generations {
        var young: [Key: Value] = [:]
        var old: [Key: Value] = [:]
        /// How many times values were removed because they had changed.
        var changes = 0
    }

    private let capacity: Int
    private let generations = Mutex(Generations())

    init(capacity: Int) { self.capacity = capacity }

    func value(for key: Key) -> Value? {
        generations.withLock { generations in
            if let value = generations.young[key] { return value }
            guard let value = generations.old.removeValue(forKey: key) else { return nil }
            Self.insert(value, for: key, into: &generations, capacity: capacity)
            return value
        }
    }

    func insert(_ value: Value, for key: Key) {
        generations.withLock { Self.insert(value, for: key, into: &$0, capacity: capacity) }
    }

    /// The number of removals so far. Read it before you fetch a value that you insert afterwards.
    var changes: Int { generations.withLock { $0.changes } }

    /// Inserts a fetched value, unless a value was removed since `changes` was read: the fetched one may be outdated.
    func insert(_ value: Value, for key: Key, unlessChangedSince changes: Int) {
        generations.withLock {
            guard $0.changes == changes else { return }
            Self.insert(value, for: key, into: &$0, capacity: capacity)
        }
    }

    func removeValue(for key: Key) {
        generations.withLock {
            $0.changes += 1
            $0.young.removeValue(forKey: key)
            $0.old.removeValue(forKey: key)
        }
    }

    func removeAll() { generations.withLock { $0 = Generations(changes: $0.changes + 1) } }

    private static func insert(_ value: Value, for key: Key, into generations: inout Generations, capacity: Int) {
        if generations.young.count >= capacity / 2 {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[key] = value
    }
}
