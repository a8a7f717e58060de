import Synchronization

/// A bounded memory of values that can be had again. When it is full the older half is forgotten: a second generation costs one look-up more
/// and needs no order to be kept on every hit.
final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Generations {
        var young: [Key: Value] = [:]
        var old: [Key: Value] = [:]
        /// How often something was forgotten because it had changed.
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

    /// To be noted before a value is fetched that is inserted afterwards.
    var changes: Int { generations.withLock { $0.changes } }

    /// Inserts a value that was fetched after `changes` had been noted, unless something changed since: then it may be the old one.
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
