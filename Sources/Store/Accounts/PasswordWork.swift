import Dispatch
import Foundation
import StoreWire
import Synchronization

/// The origin of password work. Sources take turns, so that none can delay the others.
public enum PasswordSource: Hashable, Sendable {
    /// The operator, when creating accounts.
    case operation
    /// A client, by its network address or another identification.
    case client(String)
}

/// Runs the password hashing of the whole process, away from the threads that serve requests.
///
/// A hash occupies a core for some 50 ms and takes 16 MiB. At most half as many hashes run at once as the machine has
/// cores, and a bounded number of jobs wait (``FairQueue``).
final class PasswordWork: Sendable {
    /// The instance of this process.
    static let shared = PasswordWork(
        workers: max(ProcessInfo.processInfo.activeProcessorCount / 2, 1), waiting: 128)

    /// The result of a job's wait.
    private enum Outcome {
        case turn
        case refused
        case cancelled
    }

    private struct State {
        var running = 0
        var begun = 0
        var last = 0
        var line: FairQueue<PasswordSource, Int>
        var jobs: [Int: @Sendable (Outcome) -> Void] = [:]
    }

    private let workers: Int
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "cornerstore.password", qos: .utility, attributes: .concurrent)

    /// - Parameters:
    ///   - workers: the most jobs that run at once.
    ///   - waiting: the most jobs that wait.
    init(workers: Int, waiting: Int) {
        self.workers = max(workers, 1)
        state = Mutex(State(line: FairQueue(capacity: waiting)))
    }

    /// The number of jobs that wait now.
    var waiting: Int { state.withLock { $0.line.count } }
    /// The number of jobs that have begun so far.
    var begun: Int { state.withLock { $0.begun } }

    /// Runs a job when it is its source's turn.
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
                            throwing: StoreError(.unavailable, "Too many sign-ins are waiting. Try again in a moment."))
                    case .cancelled: continuation.resume(throwing: CancellationError())
                    }
                }
                // A cancellation before the job entered the line had nothing to remove.
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
