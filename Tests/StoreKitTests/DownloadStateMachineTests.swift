import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("The downloads' state machine", .timeLimit(.minutes(1)))
struct DownloadStateMachineTests {
    private func entry(
        _ id: Int64, _ phase: DownloadEntry.Phase = .waiting, length: Int64 = 1000
    ) -> DownloadEntry {
        DownloadEntry(
            id: TransactionID(rawValue: id), productID: ProductID("book\(id)"), account: "me", phase: phase,
            version: "1.0", length: length)
    }

    private func ids(_ numbers: Int64...) -> [TransactionID] { numbers.map(TransactionID.init(rawValue:)) }
    private func id(_ number: Int64) -> TransactionID { TransactionID(rawValue: number) }

    /// A short name for each action.
    private func names(_ actions: [DownloadStateMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .save(let entries):
                "save \(entries.map { "\($0.id) \($0.phase)" }.joined(separator: ", "))"
            case .forget(let ids): "forget \(ids.map(\.description).joined(separator: ", "))"
            case .update(let statuses):
                "update \(statuses.map { "\($0.entry.id) \($0.entry.phase)" }.joined(separator: ", "))"
            case .transfer(let entry, let run): "transfer \(entry.id) run \(run)"
            case .halt(let id): "halt \(id)"
            case .discard(let entry): "discard \(entry.id)"
            case .discardPackage(let entry): "discard package \(entry.id)"
            case .wait(let id, _, let attempt): "wait \(id) \(attempt)"
            case .tick: "tick"
            }
        }
    }

    /// A machine that knows transactions 1 to `count`, none started.
    private func machine(_ count: Int64 = 1, places: Int = 3) -> DownloadStateMachine {
        var machine = DownloadStateMachine(places: places)
        _ = machine.known((1...count).map { entry($0) })
        return machine
    }

    @Test func `a known download waits, and nothing is journaled or delivered`() {
        var machine = DownloadStateMachine(places: 3)
        #expect(machine.known([entry(1), entry(2)]).isEmpty)
        #expect(machine.entries.values.allSatisfy { $0.phase == .waiting })
    }

    @Test func `a download's way from the start to its end`() {
        var machine = machine()
        #expect(
            names(machine.start(ids(1))) == ["save 1 wanted", "update 1 active", "transfer 1 run 1", "tick"])
        #expect(names(machine.granted(id(1), run: 1, version: "1.1", length: 2000)) == ["save 1 active"])
        #expect(machine.granted(id(1), run: 1, version: "1.1", length: 2000).isEmpty)
        machine.progressed(id(1), run: 1, received: 0, at: 0)
        machine.progressed(id(1), run: 1, received: 500, at: 1)
        #expect(names(machine.ticked(at: 1)) == ["update 1 active", "tick"])
        #expect(machine.status(of: id(1))?.progress == 0.25)
        #expect(machine.status(of: id(1))?.timeRemaining == 3)
        #expect(
            names(machine.ended(id(1), run: 1, .finished)) == [
                "save 1 finished", "update 1 finished", "discard package 1",
            ])
        #expect(machine.status(of: id(1))?.progress == 1)
        // The tick that was on its way finds nothing to do.
        #expect(machine.ticked(at: 2).isEmpty)
    }

    @Test func `a limited number of downloads runs, and the next starts automatically`() {
        var machine = machine(5, places: 2)
        #expect(
            names(machine.start(ids(3, 1, 2, 5, 4))) == [
                "save 3 wanted, 1 wanted, 2 wanted, 5 wanted, 4 wanted", "update 3 active, 1 active",
                "transfer 3 run 1", "transfer 1 run 2", "tick",
            ])
        #expect(machine.status(of: id(2))?.entry.phase.state == .waiting)
        #expect(
            names(machine.ended(id(1), run: 2, .failed(.noSpace))) == [
                "save 1 failed", "update 1 failed, 2 active", "transfer 2 run 3",
            ])
        #expect(
            names(machine.pause(ids(3))) == [
                "halt 3", "save 3 paused", "update 3 paused, 5 active", "transfer 5 run 4",
            ])
        // It has to wait for a place as all others do.
        #expect(names(machine.resume(ids(3))) == ["save 3 wanted", "update 3 wanted"])
        #expect(machine.running == Set(ids(2, 5)))
    }

    @Test func `starting a running download again has no effect`() {
        var machine = machine(4, places: 1)
        _ = machine.start(ids(1, 2))
        #expect(machine.start(ids(1, 2)).isEmpty)
        #expect(machine.resume(ids(1, 2, 3)).isEmpty)
        #expect(machine.pause(ids(3)).isEmpty)
        #expect(machine.start(ids(99)).isEmpty)
    }

    @Test(arguments: [DownloadEntry.Phase.waiting, .wanted, .active, .paused, .failed])
    func `cancelling stops every unfinished download`(phase: DownloadEntry.Phase) {
        var machine = DownloadStateMachine(journal: [entry(1, phase)], places: 1)
        _ = machine.known([entry(1)])
        let actions = names(machine.cancel(ids(1)))
        #expect(actions.contains("save 1 cancelled") && actions.contains("update 1 cancelled"))
        #expect(actions.contains("discard 1"))
        #expect(actions.contains("halt 1") == (phase == .wanted || phase == .active))
        #expect(machine.cancel(ids(1)).isEmpty)
        // From the start again.
        #expect(names(machine.start(ids(1))).contains { $0.hasPrefix("transfer 1") })
    }

    @Test func `a finished download cannot be cancelled, paused or resumed`() {
        var machine = machine()
        _ = machine.start(ids(1))
        _ = machine.ended(id(1), run: 1, .finished)
        #expect(machine.cancel(ids(1)).isEmpty)
        #expect(machine.pause(ids(1)).isEmpty)
        #expect(machine.resume(ids(1)).isEmpty)
        #expect(machine.start(ids(1)).isEmpty)
    }

    @Test func `pauses grow while the network is lost, and start over when bytes arrive`() {
        var machine = machine()
        _ = machine.start(ids(1))
        #expect(names(machine.ended(id(1), run: 1, .unreachable)) == ["wait 1 1"])
        #expect(names(machine.waited(for: id(1), run: 1)) == ["transfer 1 run 2"])
        #expect(names(machine.ended(id(1), run: 2, .unreachable)) == ["wait 1 2"])
        #expect(names(machine.waited(for: id(1), run: 2)) == ["transfer 1 run 3"])
        machine.progressed(id(1), run: 3, received: 10, at: 0)
        machine.progressed(id(1), run: 3, received: 20, at: 1)
        #expect(names(machine.ended(id(1), run: 3, .unreachable)) == ["wait 1 1"])
        #expect(machine.status(of: id(1))?.entry.phase.state == .active)
        #expect(machine.status(of: id(1))?.timeRemaining == nil)
        #expect(names(machine.pause(ids(1))) == ["halt 1", "save 1 paused", "update 1 paused"])
        #expect(machine.waited(for: id(1), run: 3).isEmpty)
    }

    @Test func `answers to a stopped transfer are ignored`() {
        var machine = machine()
        _ = machine.start(ids(1))
        _ = machine.pause(ids(1))
        #expect(machine.ended(id(1), run: 1, .finished).isEmpty)
        _ = machine.resume(ids(1))
        #expect(machine.ended(id(1), run: 1, .failed(.noSpace)).isEmpty)
        #expect(machine.granted(id(1), run: 1, version: "9", length: 9).isEmpty)
        machine.progressed(id(1), run: 1, received: 999, at: 0)
        #expect(machine.status(of: id(1))?.received == 0)
        #expect(machine.status(of: id(1))?.entry.phase == .active)
    }

    @Test func `a download found at launch waits until its transaction is delivered`() {
        let journal = [entry(1, .active), entry(2, .paused), entry(3, .finished), entry(4, .failed), entry(5, .wanted)]
        var machine = DownloadStateMachine(journal: journal, places: 1) { $0.id == id(1) ? 400 : 0 }
        #expect(machine.start(ids(1, 2, 3, 4, 5)).isEmpty)
        #expect(machine.status(of: id(1))?.progress == 0.4)
        #expect(
            names(machine.known([entry(2), entry(3), entry(1), entry(4), entry(5)])) == [
                "update 1 active", "transfer 1 run 1", "tick",
            ])
        #expect(machine.status(of: id(2))?.entry.phase == .paused)
        // Told again, as for a second observer, nothing happens twice.
        #expect(machine.known([entry(1), entry(5)]).isEmpty)
        // An app that starts all it meets hears of the finished one, once.
        #expect(names(machine.start(ids(3))) == ["update 3 finished"])
        #expect(machine.start(ids(3)).isEmpty)
    }

    @Test func `finishing the transaction cancels its unfinished downloads`() {
        var machine = machine(3, places: 1)
        _ = machine.start(ids(1, 2))
        #expect(
            names(machine.left(ids(1, 3))) == [
                "halt 1", "discard 1", "discard 3", "update 1 cancelled, 3 cancelled", "forget 1, 3", "update 2 active",
                "transfer 2 run 2",
            ])
        _ = machine.ended(id(2), run: 2, .finished)
        #expect(names(machine.left(ids(2))) == ["forget 2"])
        #expect(machine.left(ids(2)).isEmpty)
        #expect(machine.entries.isEmpty)
    }

    @Test func `a newer version replaces an older one that has not started`() {
        var machine = machine()
        var newer = entry(1, length: 3000)
        newer.version = "2.0"
        #expect(machine.known([newer]).isEmpty)
        #expect(machine.status(of: id(1))?.entry.version == "2.0")
        _ = machine.start(ids(1))
        _ = machine.granted(id(1), run: 1, version: "2.0", length: 3000)
        _ = machine.pause(ids(1))
        _ = machine.known([entry(1)])
        #expect(machine.status(of: id(1))?.entry.version == "2.0")
    }

    @Test func `ten thousand are started one after the other`() {
        var machine = machine(10_000, places: 3)
        _ = machine.start((1...10_000).map { id($0) })
        var ended = 0
        while let next = machine.running.min() {
            // They were begun in the order of their ids.
            _ = machine.ended(next, run: Int(next.rawValue), .finished)
            ended += 1
        }
        #expect(ended == 10_000)
    }

    /// Whatever happens in whatever order: never more than the places run, each of those has one transfer that was not
    /// halted, the journal agrees with the machine, and everything that was started ends.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `any order of events keeps the rules`(seed: UInt64) {
        var world = DownloadWorld(seed: seed)
        for _ in 0..<400 { world.step() }
        world.settle()
        #expect(world.complaints.isEmpty, "seed \(seed): \(world.complaints.first ?? "")")
    }
}

/// An app, a store and a device without threads.
private struct DownloadWorld {
    var random: SeededGenerator
    var machine: DownloadStateMachine
    var journal: [TransactionID: DownloadEntry] = [:]
    /// The transfers that run, by download: the machine's own number of each.
    var transfers: [TransactionID: Int] = [:]
    var waits: [(TransactionID, Int)] = []
    var ticks = 0
    var open: Set<TransactionID> = []
    var told: [TransactionID: SKDownloadState] = [:]
    var complaints: [String] = []
    let places: Int

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        places = Int.random(in: 1...3, using: &random)
        machine = DownloadStateMachine(places: places)
    }

    private func fresh(_ id: TransactionID) -> DownloadEntry {
        DownloadEntry(id: id, productID: "book", account: "me", phase: .waiting, version: "1", length: 100)
    }

    mutating func step() {
        let id = TransactionID(rawValue: Int64.random(in: 1...6, using: &random))
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1:
            open.insert(id)
            perform(machine.known([fresh(id)]))
        case 2: leave(id)
        case 3...6: perform(machine.start([id, TransactionID(rawValue: id.rawValue % 6 + 1)]))
        case 7: perform(machine.pause([id]))
        case 8, 9: perform(machine.resume([id]))
        case 10: perform(machine.cancel([id]))
        case 11...14: end(id)
        case 15: wake()
        case 16: tick()
        case 17: if Int.random(in: 0..<4, using: &random) == 0 { relaunch() }
        default:
            guard let run = transfers[id] else { return }
            perform(machine.granted(id, run: run, version: "1", length: 100))
            machine.progressed(id, run: run, received: Int64.random(in: 0...100, using: &random), at: Double(ticks))
        }
        check()
    }

    private mutating func leave(_ id: TransactionID) {
        open.remove(id)
        perform(machine.left([id]))
    }

    private mutating func end(_ id: TransactionID) {
        guard let run = transfers.removeValue(forKey: id) else { return }
        let outcomes: [DownloadStateMachine.Outcome] = [.finished, .failed(.noSpace), .unreachable, .unreachable]
        perform(machine.ended(id, run: run, outcomes[Int.random(in: 0..<4, using: &random)]))
    }

    private mutating func wake() {
        guard !waits.isEmpty else { return }
        let (id, run) = waits.removeFirst()
        perform(machine.waited(for: id, run: run))
    }

    private mutating func tick() {
        guard ticks > 0 else { return }
        ticks -= 1
        perform(machine.ticked(at: 1))
    }

    private mutating func relaunch() {
        machine = DownloadStateMachine(journal: Array(journal.values), places: places)
        (transfers, waits, ticks) = ([:], [], 0)
        perform(machine.known(open.sorted().map(fresh)))
    }

    private mutating func perform(_ actions: [DownloadStateMachine.Action]) {
        for action in actions {
            switch action {
            case .save(let entries): for entry in entries { journal[entry.id] = entry }
            case .forget(let ids): for id in ids { journal[id] = nil }
            case .update(let statuses): for status in statuses { told[status.entry.id] = status.entry.phase.state }
            case .transfer(let entry, let run):
                if transfers[entry.id] != nil { complaints.append("two transfers of \(entry.id)") }
                transfers[entry.id] = run
            case .halt(let id): transfers[id] = nil
            case .discard(let entry):
                if transfers[entry.id] != nil { complaints.append("\(entry.id) is discarded under its transfer") }
            case .discardPackage: break
            case .wait(let id, let run, _): waits.append((id, run))
            case .tick: ticks += 1
            }
        }
    }

    private mutating func check() {
        if machine.running.count > places { complaints.append("\(machine.running.count) run") }
        if ticks > 1 { complaints.append("two ticks") }
        for (id, entry) in machine.entries {
            if (entry.phase == .active) != machine.running.contains(id) { complaints.append("\(id) is \(entry.phase)") }
            let saved = journal[id]?.phase ?? .waiting
            let isUnderWay = { (phase: DownloadEntry.Phase) in phase == .wanted || phase == .active }
            if saved != entry.phase, !(isUnderWay(saved) && isUnderWay(entry.phase)) {
                complaints.append("\(id) is \(entry.phase), and \(saved) in the journal")
            }
        }
        for id in transfers.keys where !machine.running.contains(id) { complaints.append("\(id) runs on") }
        for id in journal.keys where !open.contains(id) { complaints.append("\(id) stays in the journal") }
    }

    /// Lets all end that was begun.
    mutating func settle() {
        for _ in 0..<200 {
            guard let (id, run) = transfers.first else {
                if waits.isEmpty { break }
                wake()
                continue
            }
            transfers[id] = nil
            perform(machine.ended(id, run: run, .finished))
            check()
        }
        for entry in machine.entries.values where entry.phase == .wanted || entry.phase == .active {
            complaints.append("\(entry.id) is \(entry.phase) at the end")
        }
    }
}
