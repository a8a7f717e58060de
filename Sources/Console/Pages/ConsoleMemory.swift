import Foundation
import Synchronization

/// The console's memory between requests: sums for ten seconds, and whether a receipt was inspected.
final class ConsoleMemory: Sendable {
    private struct Entry {
        var value: any Sendable
        var end: Double
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let inspected = Mutex(false)
    /// The machine's clock.
    let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// Whether somebody inspected a genuine receipt after the first purchase.
    /// - Parameter file: the file that says so over restarts.
    func hasInspected(_ file: URL?) -> Bool {
        inspected.withLock { inspected in
            if !inspected, let file { inspected = FileManager.default.fileExists(atPath: file.path) }
            return inspected
        }
    }

    /// Remembers that somebody inspected a genuine receipt after the first purchase. Without the file, until the
    /// process ends.
    func noteInspection(_ file: URL?) {
        guard !hasInspected(file) else { return }
        inspected.withLock { $0 = true }
        if let file { try? Data().write(to: file) }
    }

    /// A value that was made less than ten seconds ago, or a new one.
    func value<Value: Sendable>(_ key: String, _ make: () async throws -> Value) async rethrows -> Value {
        let time = now().timeIntervalSince1970
        let known = entries.withLock { $0[key].flatMap { $0.end > time && $0.end < time + 11 ? $0.value : nil } }
        if let known = known as? Value { return known }
        let value = try await make()
        entries.withLock { entries in
            if entries.count > 200 { entries = [:] }
            entries[key] = Entry(value: value, end: time + 10)
        }
        return value
    }

    /// Forgets the sums, because a form changed something.
    func forget() { entries.withLock { $0 = [:] } }
}
