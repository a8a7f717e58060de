import StoreWire
import Synchronization

/// The app's download objects: always the same object for each transaction in the queue.
final class DownloadObjects: Sendable {
    private struct State {
        /// The downloads of the journal whose transactions the app has not seen yet.
        var brought: [TransactionID: SKDownload.Record] = [:]
        var objects: [TransactionID: SKDownload] = [:]
    }

    private let state: Mutex<State>
    private let files: DownloadFiles
    private let languages: [String]

    init(_ brought: [DownloadStateMachine.Status], files: DownloadFiles, languages: [String]) {
        self.files = files
        self.languages = languages
        let records = brought.map { ($0.entry.id, SKDownload.Record($0, files, languages)) }
        state = Mutex(State(brought: Dictionary(records) { first, _ in first }))
    }

    /// The download objects of a transaction, created if necessary.
    func downloads(of entry: PaymentQueueEntry) -> [SKDownload] {
        guard let download = DownloadEntry(of: entry) else { return [] }
        return state.withLock { state in
            if let known = state.objects[download.id] { return [known] }
            let record =
                state.brought.removeValue(forKey: download.id)
                ?? SKDownload.Record(.init(entry: download, received: 0), files, languages)
            let made = SKDownload(download.id, record)
            state.objects[download.id] = made
            return [made]
        }
    }

    /// Updates the objects, and returns those that exist. On the callback queue only.
    func apply(_ statuses: [DownloadStateMachine.Status]) -> [SKDownload] {
        statuses.compactMap { status in
            guard let object = state.withLock({ $0.objects[status.entry.id] }) else { return nil }
            object.become(SKDownload.Record(status, files, languages))
            return object
        }
    }

    func release(_ ids: [TransactionID]) {
        state.withLock { state in
            for id in ids { state.objects[id] = nil }
        }
    }
}

extension SKDownload.Record {
    /// The values of a download that the app sees.
    init(_ status: DownloadStateMachine.Status, _ files: DownloadFiles, _ languages: [String]) {
        let entry = status.entry
        self.init(
            productIdentifier: entry.productID.rawValue, version: entry.version, length: entry.length,
            state: entry.phase.state, progress: Float(status.progress), timeRemaining: status.timeRemaining,
            error: entry.phase == .failed ? (entry.failure ?? .unreachable).error(in: languages) : nil,
            contentURL: entry.phase == .finished ? files.content(of: entry) : nil)
    }
}
