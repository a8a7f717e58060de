import ContentDownloads
import StoreWire

/// The downloads of the queue's transactions as a pure value: methods take what happened and return what to do, in that
/// order.
///
/// What the journal brings sleeps until its transaction is told to the app; then what was active goes on by itself. What
/// was never started is not journaled: it comes again with its transaction.
struct DownloadStateMachine: Sendable {
    /// What is known of a download beside its entry, for as long as the process lives.
    private struct Course: Sendable {
        var isAttached = false
        var received: Int64 = 0
        var rate: TransferRate?
        /// Which of its transfers counts; answers to earlier ones come too late.
        var run = 0
        var attempts = 0
        /// Whether the app has not been told of what came last.
        var hasMoved = false
        /// Whether this launch's app was told that it is finished.
        var isEndTold = false
    }

    private(set) var entries: [TransactionID: DownloadEntry] = [:]
    private var courses: [TransactionID: Course] = [:]
    /// The started ones in the order in which they were started; those that left the line meanwhile are passed over.
    private var line: [TransactionID] = []
    private(set) var running: Set<TransactionID> = []
    private var isTicking = false
    /// How many may run at once.
    let places: Int

    /// Takes up what the journal holds; `received` says how many bytes of each are on the disk.
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

    /// These transactions are about to be told to the app.
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
                // The store may have something newer by now.
                entry.version = new.version
                entry.length = new.length
                entries[new.id] = entry
            }
            if isFresh, entry.phase == .wanted { line.append(entry.id) }
        }
        return settle([])
    }

    /// The app is done with these transactions.
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
            // Finished content stays for the moment: the app may be copying it.
            if entry.phase != .finished { actions.append(.discard(entry)) }
            entries[id] = nil
            courses[id] = nil
            gone.append(id)
        }
        guard !gone.isEmpty else { return [] }
        if !told.isEmpty { actions.append(.update(told)) }
        return actions + [.forget(gone)] + settle([])
    }

    // MARK: What the app does

    /// Start these. What is under way is left as it is: an app may start again what it is told is waiting. What was
    /// finished before the app was launched is told again, once: an app that starts all that it meets waits for that.
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

    // MARK: What comes of a transfer

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

    /// So many bytes have come in all. The app is told at the next tick.
    mutating func progressed(_ id: TransactionID, run: Int, received: Int64, at seconds: Double) {
        guard let entry = current(id, run), var course = courses[id], course.received != received || course.rate == nil
        else { return }
        // Bytes that were there before say nothing of the speed.
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

    /// A delay is over.
    mutating func waited(for id: TransactionID, run: Int) -> [Action] {
        guard let entry = current(id, run) else { return [] }
        return [transfer(entry)]
    }

    /// A second went by.
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

    /// Changes those of `ids` that the queue knows and that are in one of the phases, and tells what the app can see of it.
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
        let run = (courses[entry.id]?.run ?? 0) + 1
        courses[entry.id]?.run = run
        return .transfer(entry, run: run)
    }

    /// Gives free places to whoever is next in line, and tells of all that changed: `seen`, and those.
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
        // That it has a place need not be saved: what waits for one goes on after a relaunch as well.
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
