import Dispatch
import Foundation

/// The threads on which an engine blocks, so that Swift's own never do.
final class DatabaseThreads: Sendable {
    private let running = DispatchGroup()

    /// Starts a thread that ends when `body` returns.
    func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        running.enter()
        Thread { [running] in
            // The system, and with it a profile, learns it from the thread itself alone.
            Thread.current.name = name
            body()
            running.leave()
        }.start()
    }

    /// Waits until all threads have ended.
    func ended() async {
        await withCheckedContinuation { continuation in
            running.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// Runs `body` on a thread of its own and gives its result.
    static func run<T: Sendable>(_ name: String, _ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            DatabaseThreads().start(name) { continuation.resume(with: Result(catching: body)) }
        }
    }
}
