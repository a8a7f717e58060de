import Foundation
import Synchronization

/// Runs work on threads of its own, so that it does not block the threads of Swift's tasks.
enum Threads {
    /// The number of threads. Two are faster than one, and leave processors for others.
    static let count = max(1, min(2, ProcessInfo.processInfo.activeProcessorCount))

    /// Runs the work for every index below `count`, in any order. Returns when all of it is done or one call has
    /// failed.
    ///
    /// - Parameter makeState: makes the state that one thread keeps from one index to the next.
    /// - Throws: the error of the first call that failed. No further index is started then.
    static func forEach<State>(
        _ count: Int, threads: Int = Threads.count, makeState: @escaping @Sendable () throws -> State,
        body: @escaping @Sendable (Int, State) throws -> Void
    ) throws {
        let next = Atomic(0)
        let failure = Mutex<(any Error)?>(nil)
        let run: @Sendable () -> Void = {
            do {
                let state = try makeState()
                while failure.withLock({ $0 == nil }) {
                    let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard index < count else { return }
                    try body(index, state)
                }
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        start(min(threads, max(1, count)), run).wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Starts threads that run the same work. Each thread leaves the group at its end.
    static func start(_ count: Int, _ body: @escaping @Sendable () -> Void) -> DispatchGroup {
        let group = DispatchGroup()
        for _ in 0..<count {
            group.enter()
            let thread = Thread {
                body()
                group.leave()
            }
            thread.start()
        }
        return group
    }
}
