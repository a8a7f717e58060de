import ContentDownloads
import Foundation
import StoreWire
import Synchronization

/// Runs the downloads: passes events to ``DownloadStateMachine``, one at a time, and performs the actions that it
/// returns, as ``PaymentQueueEngine`` does for payments.
///
/// Events and journal writes run on `work`, and calls to the app on the callback queue. Each transfer runs in a task,
/// whose results are new events. Two tasks never access the files of one download at the same time.
final class DownloadEngine: Sendable {
    /// The engine's dependencies.
    struct Parts: Sendable {
        var journal: any DownloadJournal
        var store: any ContentStore
        var files: DownloadFiles
        var unpack: ContentUnpacking.Unpack
        var timer: any RetryTimer
        var backoff: Backoff
        /// The most concurrent downloads.
        var places: Int
        var diagnostics: @Sendable (String) -> Void
        var languages: [String] = []
        /// The seconds of a monotonic clock.
        var now: @Sendable () -> Double
        /// Called at each step. If it returns false, the engine ends there, as after a kill. For tests.
        var mayPass: @Sendable (DownloadStep) -> Bool = { _ in true }
        /// Called at each moment; it may end the process. For tests.
        var onStep: (@Sendable (DownloadMoment) -> Void)?
    }

    private struct State {
        var machine: DownloadStateMachine
        var isStopped = false
        /// The latest task of each download.
        var tasks: [TransactionID: (number: Int, task: Task<Void, Never>)] = [:]
        var lastTask = 0
        var callbacks: PaymentQueueCallbacks?
    }

    let parts: Parts
    /// The download objects of the app.
    let objects: DownloadObjects
    private let state: Mutex<State>
    private let work = DispatchQueue(label: "StoreKit.downloads")

    init(_ parts: Parts, journal: [DownloadEntry]) {
        self.parts = parts
        let machine = DownloadStateMachine(journal: journal, places: parts.places, received: parts.files.received)
        objects = DownloadObjects(
            machine.entries.keys.compactMap { machine.status(of: $0) }, files: parts.files, languages: parts.languages)
        state = Mutex(State(machine: machine))
    }

    /// Sets the callbacks that report to the app.
    func attach(_ callbacks: PaymentQueueCallbacks) { state.withLock { $0.callbacks = callbacks } }

    // MARK: Calls of the queue

    /// Registers the downloads of these transactions, then calls `tell`, which reports the transactions to the app.
    /// Calls of the app about the downloads, and reports to it, follow.
    func introduce(_ entries: [PaymentQueueEntry], _ tell: () -> Void) {
        let found = entries.compactMap { DownloadEntry(of: $0) }
        guard !found.isEmpty else { return tell() }
        work.sync {
            let (actions, waiting) = state.withLock { state in
                (
                    state.isStopped ? [] : state.machine.known(found),
                    found.compactMap { state.machine.status(of: $0.id) }.filter { $0.entry.phase == .waiting }
                )
            }
            state.withLock { $0.callbacks }?.renew(waiting)
            tell()
            perform(actions)
        }
    }

    /// Cancels the downloads of transactions that the app has finished, before it returns. The app therefore learns
    /// that a download is cancelled before its transaction leaves the queue, and receives no later reports about it.
    func left(_ entries: [PaymentQueueEntry]) {
        let ids = entries.compactMap { $0.transaction?.content == nil ? nil : $0.transaction?.transactionID }
        guard !ids.isEmpty else { return }
        work.sync { settle { $0.left(ids) } }
    }

    // MARK: Calls of the app

    func start(_ ids: [TransactionID]) { happened { $0.start(ids) } }
    func pause(_ ids: [TransactionID]) { happened { $0.pause(ids) } }
    func resume(_ ids: [TransactionID]) { happened { $0.resume(ids) } }
    func cancel(_ ids: [TransactionID]) { happened { $0.cancel(ids) } }

    /// The folder of a product's content; nil when the content is not on this device.
    func content(of product: ProductID) -> URL? { parts.files.content(of: product) }

    func deleteContent(of product: ProductID) { parts.files.deleteContent(of: product) }

    /// Stops the engine, as a kill would. On return no task accesses a file.
    func stop() async {
        let tasks = markStopped()
        for task in tasks { await task.value }
        await withCheckedContinuation { continuation in work.async { continuation.resume() } }
    }

    private func markStopped() -> [Task<Void, Never>] {
        let tasks = state.withLock { state in
            state.isStopped = true
            return state.tasks.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        return tasks
    }

    // MARK: Events

    private func happened(
        _ event: @escaping @Sendable (inout DownloadStateMachine) -> [DownloadStateMachine.Action]
    ) {
        work.async { self.settle(event) }
    }

    private func settle(_ event: (inout DownloadStateMachine) -> [DownloadStateMachine.Action]) {
        perform(state.withLock { $0.isStopped ? [] : event(&$0.machine) })
    }

    private func perform(_ actions: [DownloadStateMachine.Action]) {
        for action in actions {
            guard mayPass(.action(action)) else { return }
            perform(action)
        }
    }

    /// Whether the engine continues; false when it has ended, or a test ends it at this step.
    func mayPass(_ step: DownloadStep) -> Bool {
        guard !state.withLock({ $0.isStopped }) else { return false }
        parts.onStep?(DownloadMoment(step))
        if parts.mayPass(step) { return true }
        _ = markStopped()
        return false
    }

    private func perform(_ action: DownloadStateMachine.Action) {
        switch action {
        case .save(let entries): journal { try $0.save(downloads: entries) }
        case .forget(let ids): journal { try $0.forget(downloads: ids) }
        case .update(let statuses): state.withLock { $0.callbacks }?.update(statuses)
        case .transfer(let entry, let run): enqueue(entry.id) { await $0.transfer(entry, run: run) }
        case .halt(let id): state.withLock { $0.tasks[id]?.task }?.cancel()
        case .discard(let entry): enqueue(entry.id) { $0.parts.files.discard(entry) }
        case .discardPackage(let entry): enqueue(entry.id) { $0.parts.files.discardPackage(of: entry.id) }
        case .wait(let id, let run, let attempt):
            parts.timer.after(seconds: parts.backoff.delay(attempt)) {
                self.happened { $0.waited(for: id, run: run) }
            }
        case .tick:
            parts.timer.after(seconds: 1) {
                let now = self.parts.now()
                self.happened { $0.ticked(at: now) }
            }
        }
    }

    private func journal(_ body: (any DownloadJournal) throws -> Void) {
        do { try body(parts.journal) } catch { parts.diagnostics("cannot write the journal: \(error)") }
    }

    /// Runs `body` once all earlier tasks of the download have ended.
    private func enqueue(_ id: TransactionID, _ body: @escaping @Sendable (DownloadEngine) async -> Void) {
        state.withLock { state in
            let earlier = state.tasks[id]?.task
            state.lastTask += 1
            let number = state.lastTask
            let task = Task {
                await earlier?.value
                if !self.state.withLock({ $0.isStopped }) { await body(self) }
                self.state.withLock { state in
                    if state.tasks[id]?.number == number { state.tasks[id] = nil }
                }
            }
            state.tasks[id] = (number, task)
        }
    }

    // MARK: Events of transfers

    func granted(_ id: TransactionID, run: Int, _ content: GrantedContent) {
        happened { $0.granted(id, run: run, version: content.version, length: content.length) }
    }

    /// Records received bytes. It is called for every chunk, and does not use the work queue.
    func progressed(_ id: TransactionID, run: Int, received: Int64) {
        parts.onStep?(.received)
        let now = parts.now()
        state.withLock { $0.machine.progressed(id, run: run, received: received, at: now) }
    }

    func ended(_ id: TransactionID, run: Int, _ outcome: DownloadStateMachine.Outcome) {
        happened { $0.ended(id, run: run, outcome) }
    }
}
