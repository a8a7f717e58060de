import ContentDownloads
import Foundation
import StoreWire
import Synchronization

/// Runs the downloads: feeds ``DownloadStateMachine`` with what happens, one event at a time, and performs the actions it
/// returns, as ``PaymentQueueEngine`` does for payments.
///
/// Events and the journal are on `work`; calls to the app on the callback queue; each transfer in a task that comes back
/// with events. Two tasks never touch the files of one download at the same time.
final class DownloadEngine: Sendable {
    /// What the engine works with.
    struct Parts: Sendable {
        var journal: any DownloadJournal
        var store: any ContentStore
        var files: DownloadFiles
        var unpack: ContentUnpacking.Unpack
        var timer: any RetryTimer
        var backoff: Backoff
        /// How many run at once.
        var places: Int
        var diagnostics: @Sendable (String) -> Void
        var languages: [String] = []
        /// Seconds of a clock that only goes forward.
        var now: @Sendable () -> Double
        /// Called at each step; false ends the engine there, as a kill would. For tests.
        var mayPass: @Sendable (DownloadStep) -> Bool = { _ in true }
        /// Is told of each moment, and may end the process. For tests.
        var onStep: (@Sendable (DownloadMoment) -> Void)?
    }

    private struct State {
        var machine: DownloadStateMachine
        var isStopped = false
        /// The last task of each download that has one.
        var tasks: [TransactionID: (number: Int, task: Task<Void, Never>)] = [:]
        var lastTask = 0
        var callbacks: PaymentQueueCallbacks?
    }

    let parts: Parts
    /// What the app holds.
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

    /// Whom to tell.
    func attach(_ callbacks: PaymentQueueCallbacks) { state.withLock { $0.callbacks = callbacks } }

    // MARK: The queue's side

    /// Takes these up and has the app told of them by `tell`, in this order: what the app says of their downloads then comes
    /// after, and so does what it hears of them.
    func introduce(_ entries: [PaymentQueueEntry], _ tell: () -> Void) {
        let found = entries.compactMap { DownloadEntry(of: $0) }
        guard !found.isEmpty else { return tell() }
        work.sync {
            let actions = state.withLock { $0.isStopped ? [] : $0.machine.known(found) }
            tell()
            perform(actions)
        }
    }

    /// The app has finished these. Cancels their downloads before it returns: the app hears that a download is cancelled
    /// before it hears that the download's transaction is gone, and after that it can hear nothing of either.
    func left(_ entries: [PaymentQueueEntry]) {
        let ids = entries.compactMap { $0.transaction?.content == nil ? nil : $0.transaction?.transactionID }
        guard !ids.isEmpty else { return }
        work.sync { settle { $0.left(ids) } }
    }

    // MARK: The app's side

    func start(_ ids: [TransactionID]) { happened { $0.start(ids) } }
    func pause(_ ids: [TransactionID]) { happened { $0.pause(ids) } }
    func resume(_ ids: [TransactionID]) { happened { $0.resume(ids) } }
    func cancel(_ ids: [TransactionID]) { happened { $0.cancel(ids) } }

    /// Where the content of a product is; nil when it is not on this device.
    func content(of product: ProductID) -> URL? { parts.files.content(of: product) }

    func deleteContent(of product: ProductID) { parts.files.deleteContent(of: product) }

    /// Ends it as a kill would: nothing more is performed or told. On return no task touches a file.
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

    /// False when the engine has ended, or ends here.
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
        do { try body(parts.journal) } catch { parts.diagnostics("the journal could not be written: \(error)") }
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

    // MARK: What transfers say

    func granted(_ id: TransactionID, run: Int, _ content: GrantedContent) {
        happened { $0.granted(id, run: run, version: content.version, length: content.length) }
    }

    /// Called for every portion of bytes: it costs no turn on the work queue.
    func progressed(_ id: TransactionID, run: Int, received: Int64) {
        parts.onStep?(.received)
        let now = parts.now()
        state.withLock { $0.machine.progressed(id, run: run, received: received, at: now) }
    }

    func ended(_ id: TransactionID, run: Int, _ outcome: DownloadStateMachine.Outcome) {
        happened { $0.ended(id, run: run, outcome) }
    }
}
