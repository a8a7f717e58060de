import Foundation
import Synchronization

/// Work on several threads of its own, so that it does not hold up those that Swift's tasks run on.
enum Threads {
    /// How many: two are enough to be faster than a program with one, and leave room for others.
    static let count = max(1, min(2, ProcessInfo.processInfo.activeProcessorCount))

    /// Does the work for every index below `count`, in any order, and returns when all is done or one has failed.
    ///
    /// - Parameter makeState: makes what one thread keeps from one index to the next.
    /// - Throws: what the first that failed threw; no further index is begun then.
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

    /// Starts threads that do the same. The group is left by each at its end.
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
