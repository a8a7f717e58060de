import Foundation

/// Something that threads wait for. For closures that run on a database's threads only.
///
/// `@unchecked Sendable`: `isOpen` is used under `condition`'s lock.
final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until the gate is open; a minute at most, so that a failing test ends.
    func wait() {
        let limit = Date(timeIntervalSinceNow: 60)
        condition.lock()
        while !isOpen, condition.wait(until: limit) {}
        condition.unlock()
    }
}

extension Result where Failure == any Error {
    static func of(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
