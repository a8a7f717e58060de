/// The changes of which a process has heard, those that it has applied, and the beats that confirm that it has applied
/// all that were committed before. A process hears its own changes too.
struct HeardChanges {
    /// The greatest number of announcements that wait. With more, everything is read again.
    private static let most = 1_000
    /// The greatest number of beats that wait for their versions.
    private static let mostBeats = 64

    /// A time before which all changes are applied.
    struct Confirmation: Equatable {
        /// When the beat was asked for.
        var asked: ContinuousClock.Instant
        /// Whether all writers since then wait for this process.
        var isCertain: Bool
    }

    /// The changes to apply next.
    enum Work: Equatable {
        /// There is nothing to apply, or the last work has not ended.
        case nothing
        /// Everything must be read again.
        case everything
        /// These changes, in their order.
        case changes([Announcement])
    }

    /// A beat, and the last version of each node that it saw.
    private struct Beat {
        var confirmation: Confirmation
        var versions: [Int: Int64]
    }

    /// The last version of each node of which the process has heard.
    private var heard: [Int: Int64] = [:]
    /// The last version of each node that the process has applied.
    private var applied: [Int: Int64] = [:]
    /// The versions that the other processes know to be applied.
    private var acknowledged: [Int: Int64] = [:]
    private var waiting: [Announcement] = []
    /// Whether something may have been missed, so that everything must be read again.
    private var isIncomplete = true
    /// The versions of the last beat. By the next one, their notifications have arrived.
    private var expected: [Int: Int64] = [:]
    /// The versions that the work under way applies.
    private var underWay: [Int: Int64]?
    private var beats: [Beat] = []

    /// Begins on a new connection, which listens already.
    ///
    /// - Parameter versions: The last version of each node, as read on it.
    mutating func begin(at versions: [Int: Int64]) {
        heard = versions
        expected = versions
        // The server may have gone back to lower versions, as a standby does that lagged when it was promoted.
        applied = [:]
        if underWay != nil { underWay = [:] }
        acknowledged = [:]
        beats = []
        miss()
    }

    /// Takes a notification. One that was taken already, or read at the beginning, has no effect.
    mutating func hear(_ notice: ChangeNotice) {
        let known = heard[notice.node] ?? 0
        guard notice.version > known else { return }
        heard[notice.node] = notice.version
        guard notice.version == known + 1, let announcements = notice.announcements,
            waiting.count + announcements.count <= Self.most
        else { return miss() }
        if !isIncomplete { waiting += announcements }
    }

    /// Takes the versions of a beat.
    ///
    /// - Parameter confirmation: The confirmation to give once the beat's versions are applied.
    /// - Returns: Whether a notification of an earlier beat's change has not arrived.
    mutating func beat(_ versions: [Int: Int64], _ confirmation: Confirmation) -> Bool {
        let isLost = expected.contains { (heard[$0.key] ?? 0) < $0.value }
        if isLost {
            // Reads from now on have the changes of all these versions.
            heard.merge(versions) { max($0, $1) }
            miss()
        }
        expected = versions
        if beats.last?.versions == versions { beats.removeLast() }
        if beats.count >= Self.mostBeats { beats.removeFirst() }
        beats.append(Beat(confirmation: confirmation, versions: versions))
        return isLost
    }

    /// Begins to apply what was heard.
    mutating func next() -> Work {
        guard underWay == nil, isIncomplete || !waiting.isEmpty else { return .nothing }
        let work: Work = isIncomplete ? .everything : .changes(waiting)
        underWay = heard
        waiting = []
        isIncomplete = false
        return work
    }

    /// Ends the work under way. If it failed, everything must be read again.
    mutating func finish(isDone: Bool) {
        guard let versions = underWay else { return }
        underWay = nil
        guard isDone else { return miss() }
        applied.merge(versions) { max($0, $1) }
    }

    /// Returns the confirmation of the newest beat whose changes have all been applied. Gives each confirmation at most
    /// once.
    mutating func takeConfirmation() -> Confirmation? {
        guard
            let index = beats.lastIndex(where: { beat in
                beat.versions.allSatisfy { (applied[$0.key] ?? 0) >= $0.value }
            })
        else { return nil }
        defer { beats.removeFirst(index + 1) }
        return beats[index].confirmation
    }

    /// The versions of other nodes that are applied and not yet acknowledged. Afterwards they count as acknowledged.
    mutating func takeAcknowledgements(of node: Int) -> [Int: Int64] {
        let new = applied.filter { $0.key != node && acknowledged[$0.key] != $0.value }
        acknowledged.merge(new) { $1 }
        return new
    }

    private mutating func miss() {
        isIncomplete = true
        waiting = []
    }
}
