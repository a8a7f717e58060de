import Foundation

extension MembershipThread {
    /// The greatest difference between the machine's clock and PostgreSQL's, in milliseconds.
    private static let clockTolerance: Int64 = 2_000
    /// How long a process that has not ended in order is known after its last beat, in milliseconds.
    private static let knownFor: Int64 = 3_600_000
    /// The pause after changes could not be applied. It doubles with each further failure.
    private static let failurePause = Duration.milliseconds(100)
    /// The most times that the pause doubles.
    private static let mostDoublings = 4

    // MARK: Beats

    /// Shows the others that the process lives, and learns what they have changed.
    ///
    /// - Returns: The facts, as text, of the processes that have lived in the last seconds, by node number.
    @discardableResult func beat(_ session: PostgreSQLSession) throws -> [Int: String] {
        let hints = core.takeHints()
        if !hints.isEmpty { try table.hint(hints, by: node, session) }
        let (timing, canHear, text) = (core.timing, core.apply != nil, try factsText())
        let (asked, before) = (timing.now(), timing.machine())
        let beat = try table.beat(node: node, session: id, facts: text, hears: canHear, session)
        let (answered, after) = (timing.now(), timing.machine())
        guard let time = beat.time, !beat.hasLoss else {
            core.lose(Self.dataLost)
            return [:]
        }
        (lastBeat, beats) = (time, beat.beats)
        let held = Int64(timing.held / .milliseconds(1))
        let others = beat.others.filter { $0.value.beat > time - held }.mapValues { $0.facts }
        let known = beat.others.filter { $0.value.beat > time - Self.knownFor }.sorted { $0.key < $1.key }.compactMap {
            let silence = max(time - $0.value.beat, 0)
            return Self.facts($0.value.facts).map { KnownProcess(facts: $0, silence: silence) }
        }
        core.setKnown(known)
        core.setOthers(known.filter { $0.silence < held }.map(\.facts))
        let isClockRight = watchClock(Self.clock(time, before, after))
        if isClockRight { core.setAnswered(asked) }
        guard canHear else { return others }
        defer { lastHearing = asked }
        guard hears else {
            hears = true
            changes.begin(at: beat.versions)
            return others
        }
        // A writer waits for this process if it sees a beat that is no older than the lease. Between its snapshot and
        // its commit, this beat was invisible to others, so the one before must have been young enough until then.
        let isCertain = lastHearing.map { answered - $0 <= timing.lease } ?? false
        if changes.beat(beat.versions, HeardChanges.Confirmation(asked: asked, isCertain: isCertain)) {
            logger.warning("a notification of another process was lost; everything that is kept is read again")
        }
        if isClockRight { confirm() }
        return others
    }

    private func confirm() {
        if let confirmation = changes.takeConfirmation() { core.confirm(confirmation) }
    }

    /// This process's facts as JSON, for its row in `store_processes`.
    func factsText() throws -> String {
        let current = core.facts
        if let facts, facts.value == current { return facts.text }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let text = String(decoding: try encoder.encode(current), as: UTF8.self)
        facts = (current, text)
        return text
    }

    /// Reads a process's facts from its row; nil when another version of the program wrote them in another form.
    static func facts(_ text: String) -> ProcessFacts? {
        try? JSONDecoder().decode(ProcessFacts.self, from: Data(text.utf8))
    }

    // MARK: Clocks

    /// PostgreSQL's clock minus the machine's, in milliseconds, and whether the difference is too large in any case.
    static func clock(_ time: Int64, _ before: Int64, _ after: Int64) -> (offset: Int64, isWrong: Bool) {
        // The answer's time lies somewhere between the two.
        let half = max(after - before, 0) / 2
        let offset = time - (before + half)
        return (offset, abs(offset) - half > clockTolerance)
    }

    /// Compares the clocks at the start.
    ///
    /// - Throws: ``DatabaseError`` `clockDiffers`.
    func checkClock(_ session: PostgreSQLSession) throws {
        let before = core.timing.machine()
        let time = try table.time(session)
        let clock = Self.clock(time, before, core.timing.machine())
        core.setClockOffset(clock.offset)
        if clock.isWrong { throw Self.clockDiffers(by: clock.offset, from: time) }
    }

    private static func clockDiffers(by offset: Int64, from time: Int64) -> DatabaseError {
        func text(_ milliseconds: Int64) -> String {
            ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
        }
        return DatabaseError(
            .clockDiffers,
            "PostgreSQL's clock shows \(text(time)) and this machine's \(text(time - offset)), which is more than two "
                + "seconds apart; set the clocks, for example with NTP")
    }

    /// Fails the transactions while the clock is wrong. A slow answer makes no clock wrong, so one beat is enough.
    ///
    /// - Returns: Whether transactions may run.
    private func watchClock(_ clock: (offset: Int64, isWrong: Bool)) -> Bool {
        core.setClockOffset(clock.offset)
        defer { isClockWrong = clock.isWrong }
        guard clock.isWrong else {
            if isClockWrong {
                core.setProblem(nil)
                logger.notice("the machine's clock is right again")
            }
            return true
        }
        core.forgetTimes()
        let error = Self.clockDiffers(by: clock.offset, from: lastBeat)
        // Each time, since a new connection forgets the problem.
        core.setProblem(error)
        if !isClockWrong { logger.error("the machine's clock is wrong", metadata: ["reason": "\(error)"]) }
        return false
    }

    // MARK: Changes

    /// Takes the notifications that have arrived.
    func receive(_ session: PostgreSQLSession) {
        for (channel, payload) in session.notifications() {
            if channel == table.changes {
                // Those before the beginning are among the versions with which it begins.
                if hears, let notice = ChangeNotice(payload: payload) { changes.hear(notice) }
            } else if channel == table.hints {
                let words = payload.split(separator: " ")
                guard let sender = words.first.flatMap({ Int($0) }), sender != node else { continue }
                core.receive(hints: words.dropFirst().map { String($0) })
            }
        }
    }

    /// Goes on with applying changes, tells the others which are applied, and begins the next.
    func apply(_ session: PostgreSQLSession) throws {
        if let isDone = core.takeOutcome() {
            changes.finish(isDone: isDone)
            if isDone {
                if failures > 0 { logger.notice("changes of other processes are applied again") }
                failures = 0
            } else {
                notBefore = .now + Self.failurePause * (1 << min(failures, Self.mostDoublings))
                failures += 1
            }
            if !isClockWrong { confirm() }
        }
        guard hears else { return }
        let versions = changes.takeAcknowledgements(of: node)
        if !versions.isEmpty { try table.acknowledge(versions, by: node, session) }
        guard let apply = core.apply, ContinuousClock.now >= notBefore else { return }
        let announcements: [Announcement]?
        switch changes.next() {
        case .nothing: return
        case .everything: announcements = nil
        case .changes(let heard): announcements = heard
        }
        // In a task of its own, so that the beats go on.
        Task { [core, logger, failures] in
            do {
                try await apply(announcements)
                core.finish(isDone: true)
            } catch {
                // An error once until they are applied again.
                logger.log(
                    level: failures == 0 ? .error : .debug, "changes of other processes could not be applied",
                    metadata: ["reason": "\(error)"])
                core.finish(isDone: false)
            }
        }
    }
}
