import Dispatch
import Foundation
import StoreWire
import Synchronization

/// The party that asks for work on a password. Sources take turns, so that none can hold up the others.
public enum PasswordSource: Hashable, Sendable {
    /// The operator, who makes accounts.
    case operation
    /// A client, by its network address or whatever stands for it.
    case client(String)
}

/// The work on passwords of the whole process, away from the threads that serve requests.
///
/// A hash takes a core for some 50 ms, and 16 MiB. So only half as many are made at once as there are cores, and a
/// bounded number wait (``FairLine``).
final class PasswordWork: Sendable {
    /// The process's own.
    static let shared = PasswordWork(
        workers: max(ProcessInfo.processInfo.activeProcessorCount / 2, 1), waiting: 128)

    /// What becomes of a job that waited.
    private enum Outcome {
        case turn
        case refused
        case cancelled
    }

    private struct State {
        var running = 0
        var begun = 0
        var last = 0
        var line: FairLine<PasswordSource, Int>
        var jobs: [Int: @Sendable (Outcome) -> Void] = [:]
    }

    private let workers: Int
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "cornerstore.password", qos: .utility, attributes: .concurrent)

    /// - Parameters:
    ///   - workers: jobs that run at once.
    ///   - waiting: jobs that wait at most.
    init(workers: Int, waiting: Int) {
        self.workers = max(workers, 1)
        state = Mutex(State(line: FairLine(capacity: waiting)))
    }

    /// How many jobs wait now.
    var waiting: Int { state.withLock { $0.line.count } }
    /// How many jobs have begun so far.
    var begun: Int { state.withLock { $0.begun } }

    /// Does a job in its turn.
    /// - Throws: ``StoreError`` `unavailable` when too many wait, `CancellationError` when the task is cancelled before
    ///   the job begins, or the job's error.
    func run<Value: Sendable>(
        for source: PasswordSource, _ job: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(id, source) { [self, queue] outcome in
                    switch outcome {
                    case .turn:
                        queue.async {
                            let result = Result { try job() }
                            self.startNext()
                            continuation.resume(with: result)
                        }
                    case .refused:
                        continuation.resume(
                            throwing: StoreError(.unavailable, "Too many sign-ins wait. Try again in a moment."))
                    case .cancelled: continuation.resume(throwing: CancellationError())
                    }
                }
                // A task that was cancelled in between had nothing to take out of the line.
                if Task.isCancelled { cancel(id, source) }
            }
        } onCancel: {
            cancel(id, source)
        }
    }

    private func enter(_ id: Int, _ source: PasswordSource, _ job: @escaping @Sendable (Outcome) -> Void) {
        let (runs, dropped) = state.withLock { state -> (Bool, (@Sendable (Outcome) -> Void)?) in
            guard state.running >= workers else {
                state.running += 1
                state.begun += 1
                return (true, nil)
            }
            state.jobs[id] = job
            let dropped = state.line.add(id, of: source)
            return (false, dropped.flatMap { state.jobs.removeValue(forKey: $0) })
        }
        if runs { job(.turn) }
        dropped?(.refused)
    }

    private func startNext() {
        let job = state.withLock { state -> (@Sendable (Outcome) -> Void)? in
            guard let id = state.line.next(), let job = state.jobs.removeValue(forKey: id) else {
                state.running -= 1
                return nil
            }
            state.begun += 1
            return job
        }
        job?(.turn)
    }

    private func cancel(_ id: Int, _ source: PasswordSource) {
        let job = state.withLock { state in
            state.line.remove(id, of: source) ? state.jobs.removeValue(forKey: id) : nil
        }
        job?(.cancelled)
    }
}
