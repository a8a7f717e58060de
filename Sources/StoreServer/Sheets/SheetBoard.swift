import StoreWire
import Synchronization

/// The payment sheets that wait for an answer on a web page. They are kept in memory only: when the process ends the
/// questions are lost, and devices ask again.
final class SheetBoard: Sendable {
    /// The largest number of sheets that can wait at once.
    static let most = 64
    /// How long a sheet waits for its answer.
    static let lifetime = Duration.seconds(600)
    /// How long a device can fetch an answer again after the first time, in case the response was lost.
    static let answerLifetime = Duration.seconds(60)

    /// An answered sheet, without what the customer typed.
    struct Answered: Sendable {
        var question: SheetQuestion
        var choice: SheetReply.Choice
        /// The time since the answer.
        var age: Duration
    }

    /// The state of a sheet's address.
    enum Place: Sendable {
        /// The question waits for an answer.
        case open(SheetQuestion)
        /// The question was answered.
        case answered(Answered)
        /// There was no such sheet, nobody answered it in time, or a newer one took its place.
        case gone
    }

    private struct Entry {
        var question: SheetQuestion
        /// The sheet's place in the order of arrival.
        var number: Int
        var end: ContinuousClock.Instant
        var reply: SheetReply?
        var answered: ContinuousClock.Instant?
        var wasGiven = false
        /// The id of the sheet that the same program posted next.
        var next: String?

        /// Whether the sheet can be dropped for a new one: its answer was delivered, or it is only a notice.
        var canGiveWay: Bool { wasGiven || question.kind == .notice }
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var nextNumber = 0

        mutating func number() -> Int {
            nextNumber += 1
            return nextNumber
        }
    }

    private let state = Mutex(State())
    private let polls = LongPolls()
    private let nextPolls = LongPolls()
    /// The processes of the store, which have boards of their own.
    let processes: OtherProcess
    private let node: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let changed: @Sendable () -> Void

    /// - Parameters:
    ///   - node: the number of this process, with which the ids of its sheets begin.
    ///   - changed: called when a sheet was posted or answered.
    init(
        node: Int = 0, processes: OtherProcess = OtherProcess(nil),
        now: @escaping @Sendable () -> ContinuousClock.Instant, changed: @escaping @Sendable () -> Void = {}
    ) {
        self.node = node
        self.processes = processes
        self.now = now
        self.changed = changed
    }

    /// Posts a question and returns its id. Drops the oldest notice or delivered answer when the board is full; returns
    /// nil when none can be dropped.
    func post(_ question: SheetQuestion) -> String? {
        let id = ProcessID.make(node: node)
        let now = now()
        let (isPosted, gone) = state.withLock { state in
            var gone = state.entries.filter { $0.value.end <= now }
            if state.entries.count - gone.count >= Self.most,
                let oldest = state.entries.filter({ $0.value.canGiveWay && gone[$0.key] == nil })
                    .min(by: { $0.value.number < $1.value.number })
            {
                gone[oldest.key] = oldest.value
            }
            for key in gone.keys { state.entries[key] = nil }
            let hasRoom = state.entries.count < Self.most
            if hasRoom {
                state.entries[id] = Entry(question: question, number: state.number(), end: now + Self.lifetime)
                if let previous = question.previous { state.entries[previous]?.next = id }
            }
            return (hasRoom, gone.keys)
        }
        polls.release(gone)
        if let previous = question.previous { nextPolls.release([previous]) }
        changed()
        return isPosted ? id : nil
    }

    /// A sheet that waits for an answer.
    struct Waiting: Sendable {
        var id: String
        var question: SheetQuestion
        var age: Duration
    }

    /// The sheets that wait for an answer, oldest first.
    var waiting: [Waiting] {
        let now = now()
        let entries = state.withLock { $0.entries.filter { $0.value.end > now && $0.value.reply == nil } }
        return entries.sorted { $0.value.number < $1.value.number }.map { id, entry in
            Waiting(id: id, question: entry.question, age: now - (entry.end - Self.lifetime))
        }
    }

    /// The state of a sheet's address. An answered sheet stays until a new one takes its place.
    func place(_ id: String) -> Place {
        let now = now()
        guard let entry = state.withLock({ $0.entries[id] }) else { return .gone }
        if let reply = entry.reply, let answered = entry.answered {
            return .answered(Answered(question: entry.question, choice: reply.choice, age: now - answered))
        }
        return entry.end > now ? .open(entry.question) : .gone
    }

    /// The question, while it has no answer and has not expired.
    func question(_ id: String) -> SheetQuestion? {
        if case .open(let question) = place(id) { question } else { nil }
    }

    /// Stores the first answer. Returns false when the question has an answer already or has expired.
    func answer(_ id: String, _ reply: SheetReply) -> Bool {
        let now = now()
        let isFirst = state.withLock { state in
            guard let entry = state.entries[id], entry.end > now, entry.reply == nil else { return false }
            state.entries[id]?.reply = reply
            state.entries[id]?.answered = now
            return true
        }
        if isFirst {
            polls.release([id])
            changed()
        }
        return isFirst
    }

    /// The id of the sheet that the same program posted after this one, after waiting up to `time` for it; nil when
    /// there is none.
    func next(after id: String, waiting time: Duration) async -> String? {
        if time > .zero { await nextPolls.wait(for: id, upTo: time) { self.next(after: id) == nil } }
        return next(after: id)
    }

    private func next(after id: String) -> String? {
        state.withLock { state in
            state.entries[id]?.next.flatMap { state.entries[$0] == nil ? nil : $0 }
        }
    }

    /// The result of asking for an answer.
    enum Outcome: Sendable {
        case answered(SheetReply)
        case waiting
        case gone
    }

    /// The answer, after waiting up to `time` for it. A zero time does not wait. The answer can be fetched again for
    /// ``answerLifetime``.
    func outcome(_ id: String, waiting time: Duration) async -> Outcome {
        if time > .zero { await polls.wait(for: id, upTo: time) { self.question(id) != nil } }
        return give(id)
    }

    private func give(_ id: String) -> Outcome {
        let now = now()
        return state.withLock { state in
            guard let entry = state.entries[id], entry.end > now else { return .gone }
            guard let reply = entry.reply else { return .waiting }
            if !entry.wasGiven {
                state.entries[id]?.wasGiven = true
                state.entries[id]?.end = min(entry.end, now + Self.answerLifetime)
            }
            return .answered(reply)
        }
    }
}
