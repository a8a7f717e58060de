import Foundation
import Synchronization

/// The console's memory between requests: sums for ten seconds, and whether a receipt was inspected.
final class ConsoleMemory: Sendable {
    private struct Entry {
        var value: any Sendable
        var end: Double
    }

    private struct Sums {
        var entries: [String: Entry] = [:]
        /// How often ``ConsoleMemory/forget()`` was called.
        var forgotten = 0
    }

    private let sums = Mutex(Sums())
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

    /// A value that was made less than ten seconds ago, or a new one. A value is not remembered if a form changed
    /// something while it was made, since it may be from before the change.
    func value<Value: Sendable>(_ key: String, _ make: () async throws -> Value) async rethrows -> Value {
        let time = now().timeIntervalSince1970
        let (known, forgotten) = sums.withLock { sums in
            (sums.entries[key].flatMap { $0.end > time && $0.end < time + 11 ? $0.value : nil }, sums.forgotten)
        }
        if let known = known as? Value { return known }
        let value = try await make()
        sums.withLock { sums in
            guard sums.forgotten == forgotten else { return }
            if sums.entries.count > 200 { sums.entries = [:] }
            sums.entries[key] = Entry(value: value, end: time + 10)
        }
        return value
    }

    /// Forgets the sums, because a form changed something.
    func forget() {
        sums.withLock { sums in
            sums.entries = [:]
            sums.forgotten += 1
        }
    }
}
