import ContentDownloads
import StoreWire

/// The downloads of the queue's transactions as a pure value. Its methods take an event and return the actions to
/// perform, in order.
///
/// Downloads of the journal stay inactive until the app has received their transactions. Active ones then continue by
/// themselves. A download that was never started is not journaled; it arrives again with its transaction.
struct DownloadStateMachine: Sendable {
    /// The state of a download that is not journaled.
    private struct Course: Sendable {
        var isAttached = false
        var received: Int64 = 0
        var rate: TransferRate?
        /// The number of the current transfer. Events of earlier transfers are ignored.
        var run = 0
        var attempts = 0
        /// Whether there is progress that was not reported to the app.
        var hasMoved = false
        /// Whether this process has reported the download as finished.
        var isEndTold = false
    }

    private(set) var entries: [TransactionID: DownloadEntry] = [:]
    private var courses: [TransactionID: Course] = [:]
    /// The started downloads, in the order in which they were started. Those that are no longer waiting are skipped.
    private var line: [TransactionID] = []
    private(set) var running: Set<TransactionID> = []
    private var isTicking = false
    /// The number of the last transfer. Every transfer has its own number, even after its transaction left the queue
    /// and returned.
    private var lastRun = 0
    /// The most concurrent downloads.
    let places: Int

    /// Loads the entries of the journal. `received` returns the number of bytes of a download on disk.
    init(journal: [DownloadEntry] = [], places: Int, received: (DownloadEntry) -> Int64 = { _ in 0 }) {
        self.places = max(1, places)
        for var entry in journal {
            if entry.phase == .active { entry.phase = .wanted }
            entries[entry.id] = entry
            courses[entry.id] = Course(received: received(entry))
        }
    }

    func status(of id: TransactionID) -> Status? {
        guard let entry = entries[id] else { return nil }
        let course = courses[id]
        return Status(
            entry: entry, received: course?.received ?? 0,
            timeRemaining: entry.phase == .active ? course?.rate?.timeRemaining : nil)
    }

    // MARK: The queue's transactions

    /// The transactions of these downloads are about to be reported to the app.
    mutating func known(_ found: [DownloadEntry]) -> [Action] {
        for new in found {
            var course = courses[new.id] ?? Course()
            let isFresh = !course.isAttached
            course.isAttached = true
            courses[new.id] = course
            guard var entry = entries[new.id] else {
                entries[new.id] = new
                continue
            }
            if entry.phase == .waiting, !entry.isBegun {
                // The store may have a newer version by now.
                entry.version = new.version
                entry.length = new.length
                entries[new.id] = entry
            }
            if isFresh, entry.phase == .wanted { line.append(entry.id) }
        }
        return settle([])
    }

    /// The app finished these transactions.
    mutating func left(_ ids: [TransactionID]) -> [Action] {
        var actions: [Action] = []
        var told: [Status] = []
        var gone: [TransactionID] = []
        for id in ids {
            guard var entry = entries[id] else { continue }
            if running.remove(id) != nil { actions.append(.halt(id)) }
            if [.waiting, .wanted, .active, .paused].contains(entry.phase) {
                entry.phase = .cancelled
                told.append(Status(entry: entry, received: 0))
            }
            // Finished content stays for now, because the app may be copying it.
            if entry.phase != .finished { actions.append(.discard(entry)) }
            entries[id] = nil
            courses[id] = nil
            gone.append(id)
        }
        guard !gone.isEmpty else { return [] }
        if !told.isEmpty { actions.append(.update(told)) }
        return actions + [.forget(gone)] + settle([])
    }

    // MARK: Calls of the app

    /// The app started these downloads. Running downloads stay unchanged, because an app may start a waiting download
    /// again. A download that finished before this launch is reported as finished once more, because an app that starts
    /// every download waits for that report.
    mutating func start(_ ids: [TransactionID]) -> [Action] {
        var finished: [TransactionID] = []
        for id in ids where entries[id]?.phase == .finished {
            guard let course = courses[id], course.isAttached, !course.isEndTold else { continue }
            courses[id]?.isEndTold = true
            finished.append(id)
        }
        let told: [Action] = finished.isEmpty ? [] : [.update(finished.compactMap { status(of: $0) })]
        return told
            + change(ids, from: [.waiting, .paused, .failed, .cancelled]) { machine, entry in
                machine.enqueue(&entry)
                return []
            }
    }

    mutating func pause(_ ids: [TransactionID]) -> [Action] {
        change(ids, from: [.wanted, .active]) { machine, entry in
            entry.phase = .paused
            return machine.halt(entry.id)
        }
    }

    mutating func resume(_ ids: [TransactionID]) -> [Action] {
        change(ids, from: [.paused]) { machine, entry in
            machine.enqueue(&entry)
            return []
        }
    }

    mutating func cancel(_ ids: [TransactionID]) -> [Action] {
        change(ids, from: [.waiting, .wanted, .active, .paused, .failed]) { machine, entry in
            let halts = machine.halt(entry.id)
            entry.phase = .cancelled
            entry.failure = nil
            entry.isBegun = false
            machine.courses[entry.id]?.received = 0
            return halts + [.discard(entry)]
        }
    }

    // MARK: Events of transfers

    /// The store granted the content: `version` in a package of `length` bytes.
    mutating func granted(_ id: TransactionID, run: Int, version: String, length: Int64) -> [Action] {
        guard var entry = current(id, run) else { return [] }
        guard !entry.isBegun || entry.version != version || entry.length != length else { return [] }
        entry.version = version
        entry.length = length
        entry.isBegun = true
        entries[id] = entry
        courses[id]?.hasMoved = true
        return [.save([entry])]
    }

    /// Records the total of received bytes. The next tick reports it to the app.
    mutating func progressed(_ id: TransactionID, run: Int, received: Int64, at seconds: Double) {
        guard let entry = current(id, run), var course = courses[id], course.received != received || course.rate == nil
        else { return }
        // Bytes from an earlier transfer do not count for the transfer rate.
        if course.rate == nil {
            course.rate = TransferRate(total: entry.length, done: received, at: seconds)
        } else {
            course.rate?.advance(to: received, at: seconds)
            course.attempts = 0
        }
        course.received = received
        course.hasMoved = true
        courses[id] = course
    }

    mutating func ended(_ id: TransactionID, run: Int, _ outcome: Outcome) -> [Action] {
        guard var entry = current(id, run) else { return [] }
        switch outcome {
        case .finished:
            running.remove(id)
            entry.phase = .finished
            entries[id] = entry
            courses[id]?.received = entry.length
            courses[id]?.isEndTold = true
            return settle([id], after: [.save([entry])], then: [.discardPackage(entry)])
        case .failed(let failure):
            running.remove(id)
            entry.phase = .failed
            entry.failure = failure
            entries[id] = entry
            return settle([id], after: [.save([entry])])
        case .unreachable:
            let attempt = (courses[id]?.attempts ?? 0) + 1
            courses[id]?.attempts = attempt
            courses[id]?.rate = nil
            courses[id]?.hasMoved = true
            return [.wait(for: id, run: run, attempt: attempt)]
        }
    }

    /// The delay before a retry is over.
    mutating func waited(for id: TransactionID, run: Int) -> [Action] {
        guard let entry = current(id, run) else { return [] }
        return [transfer(entry)]
    }

    /// A second has passed.
    mutating func ticked(at seconds: Double) -> [Action] {
        isTicking = false
        var told: [Status] = []
        for id in running.sorted() {
            guard let course = courses[id] else { continue }
            courses[id]?.rate?.advance(to: course.received, at: seconds)
            courses[id]?.hasMoved = false
            if course.hasMoved || course.rate != nil, let status = status(of: id) { told.append(status) }
        }
        return (told.isEmpty ? [] : [.update(told)]) + nextTick()
    }

    // MARK: Parts

    private func current(_ id: TransactionID, _ run: Int) -> DownloadEntry? {
        running.contains(id) && courses[id]?.run == run ? entries[id] : nil
    }

    /// Changes the downloads in `ids` that the app knows and that are in one of `phases`, and reports the visible
    /// changes.
    private mutating func change(
        _ ids: [TransactionID], from phases: Set<DownloadEntry.Phase>,
        _ body: (inout DownloadStateMachine, inout DownloadEntry) -> [Action]
    ) -> [Action] {
        var actions: [Action] = []
        var seen: [TransactionID] = []
        var changed: [DownloadEntry] = []
        for id in ids {
            guard var entry = entries[id], courses[id]?.isAttached == true, phases.contains(entry.phase) else {
                continue
            }
            let before = entry.phase.state
            actions += body(&self, &entry)
            entries[id] = entry
            changed.append(entry)
            if entry.phase.state != before { seen.append(id) }
        }
        guard !changed.isEmpty else { return [] }
        let halts = actions.filter(\.isHalt)
        return settle(seen, after: halts + [.save(changed)], then: actions.filter { !$0.isHalt })
    }

    private mutating func enqueue(_ entry: inout DownloadEntry) {
        entry.phase = .wanted
        entry.failure = nil
        courses[entry.id]?.attempts = 0
        courses[entry.id]?.rate = nil
        line.append(entry.id)
    }

    private mutating func halt(_ id: TransactionID) -> [Action] {
        courses[id]?.rate = nil
        return running.remove(id) == nil ? [] : [.halt(id)]
    }

    private mutating func transfer(_ entry: DownloadEntry) -> Action {
        lastRun += 1
        courses[entry.id]?.run = lastRun
        return .transfer(entry, run: lastRun)
    }

    /// Starts waiting downloads while fewer than `places` are running, and reports them together with `seen`.
    private mutating func settle(
        _ seen: [TransactionID], after first: [Action] = [], then last: [Action] = []
    ) -> [Action] {
        var next = 0
        var begun: [DownloadEntry] = []
        while running.count < places, next < line.count {
            let id = line[next]
            next += 1
            guard var entry = entries[id], entry.phase == .wanted, !running.contains(id) else { continue }
            entry.phase = .active
            entries[id] = entry
            running.insert(id)
            begun.append(entry)
        }
        line.removeFirst(next)
        let transfers = begun.map { transfer($0) }
        var told = Set<TransactionID>()
        let statuses = (seen + begun.map(\.id)).filter { told.insert($0).inserted }.compactMap { status(of: $0) }
        // The phase `active` need not be saved: a waiting download also continues after a relaunch.
        return first + (statuses.isEmpty ? [] : [.update(statuses)]) + last + transfers + nextTick()
    }

    private mutating func nextTick() -> [Action] {
        guard !running.isEmpty, !isTicking else { return [] }
        isTicking = true
        return [.tick]
    }
}

extension DownloadStateMachine.Action {
    fileprivate var isHalt: Bool {
        if case .halt = self { true } else { false }
    }
}
