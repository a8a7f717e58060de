import Dispatch
import Foundation

/// The threads of an engine. They block instead of the threads of Swift's concurrency.
final class DatabaseThreads: Sendable {
    private let running = DispatchGroup()

    /// Starts a thread that ends when `body` returns.
    func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        running.enter()
        Thread { [running] in
            // Only the thread itself can set the name that the system and profilers show.
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

    /// Runs `body` on a thread of its own and returns its result.
    static func run<T: Sendable>(_ name: String, _ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            DatabaseThreads().start(name) { continuation.resume(with: Result(catching: body)) }
        }
    }
}
