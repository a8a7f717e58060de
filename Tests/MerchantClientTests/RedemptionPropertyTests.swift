import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import MerchantClient

/// A device, a merchant and a store without threads: everything happens in any order, and the process is killed now and
/// then, between any two actions.
private struct World {
    enum Effect {
        case show(String)
        case redeem(String)
        case deliver(ContentItemID)
        case wait(RedemptionStateMachine.Work, Int)
    }

    var random: SeededGenerator
    var faults = true
    let finishing: MerchantClientConfiguration.Finishing
    /// The content that each transaction gives.
    let content: [String: [ContentItemID]]
    var machine: RedemptionStateMachine
    var effects: [Effect] = []
    var complaints: [String] = []

    // What outlives the process.
    var journal: [String: RedemptionEntry] = [:]
    var disk: Set<ContentItemID> = []
    var unfinished: Set<String>
    var books: [String: Int] = [:]

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        finishing = Bool.random(using: &random) ? .afterDelivery : .afterRedemption
        let items: [ContentItemID] = ["a", "b", "c"]
        content = Dictionary(
            uniqueKeysWithValues: (1...4).map { id in
                ("\(id)", items.filter { _ in Int.random(in: 0..<3, using: &random) == 0 })
            })
        unfinished = Set(content.keys)
        machine = RedemptionStateMachine(finishing: finishing)
        self.random = random
        launch()
    }

    mutating func chance(_ percent: Int) -> Bool { faults && Int.random(in: 0..<100, using: &random) < percent }

    mutating func launch() {
        machine = RedemptionStateMachine(finishing: finishing)
        effects = unfinished.sorted().map { .show($0) }
        let known = journal.values.sorted { $0.transactionID < $1.transactionID }
        perform(machine.launched(known))
    }

    mutating func perform(_ actions: [RedemptionStateMachine.Action]) {
        var unwritten: String?
        for action in actions {
            if chance(4) { return launch() }
            switch action {
            case .write(let entry):
                // The disk is full for a moment.
                unwritten = chance(10) ? entry.transactionID : nil
                if unwritten == nil { journal[entry.transactionID] = entry }
            case .forget(let id): journal[id] = nil
            case .redeem(let id, _):
                if effects.contains(where: { if case .redeem(id) = $0 { true } else { false } }) {
                    complaints.append("\(id) is asked for twice at a time")
                }
                effects.append(.redeem(id))
            case .deliver(let item):
                if effects.contains(where: { if case .deliver(item) = $0 { true } else { false } }) {
                    complaints.append("\(item) is downloaded twice at a time")
                }
                effects.append(.deliver(item))
            case .wait(let work, let turn, _, _): effects.append(.wait(work, turn))
            case .finish(let purchase): if purchase.transactionID != unwritten { finish(purchase.transactionID) }
            case .tell: break
            }
        }
    }

    mutating func finish(_ id: String) {
        if books[id] == nil { complaints.append("\(id) is finished and not in the books") }
        let due = Set(content[id] ?? []).subtracting(disk)
        switch finishing {
        case .afterDelivery: if !due.isEmpty { complaints.append("\(id) is finished and not delivered") }
        case .afterRedemption:
            if !due.isSubset(of: journal[id]?.due ?? []) {
                complaints.append("\(id) is finished, and what is due lost")
            }
        }
        unfinished.remove(id)
    }

    mutating func step() {
        guard !effects.isEmpty else { return launch() }
        switch effects.remove(at: Int.random(in: 0..<effects.count, using: &random)) {
        case .show(let id): if unfinished.contains(id) { perform(machine.began(entry(id))) }
        case .wait(let work, let turn): perform(machine.due(work, turn))
        case .redeem(let id): answer(id)
        case .deliver(let item):
            if chance(40) {
                let codes: [MerchantClientError.Code] = [.unreachable, .noSpace, .wrongContent, .notSignedIn]
                let code = codes[Int.random(in: 0..<codes.count, using: &random)]
                return perform(machine.failed(.deliver(item), MerchantClientError(code, "")))
            }
            disk.insert(item)
            if chance(10) { return launch() }
            perform(machine.delivered(item))
        }
        if chance(5) { perform(machine.wake()) }
        // StoreKit tells everything to an observer that is added.
        if chance(5) { effects += unfinished.sorted().map { .show($0) } }
    }

    mutating func answer(_ id: String) {
        let failures: [MerchantClientError.Code] = [.unreachable, .badAnswer, .notSignedIn, .refused]
        if chance(25) {
            let code = failures[Int.random(in: 0..<failures.count, using: &random)]
            return perform(machine.failed(.redeem(id), MerchantClientError(code, "")))
        }
        let ids = chance(20) ? content.keys.sorted() : [id]
        for id in ids where books[id] == nil { books[id, default: 0] += 1 }
        if chance(20) { return perform(machine.failed(.redeem(id), MerchantClientError(.unreachable, "lost"))) }
        if chance(10) { return launch() }
        let said = ids.map { id in
            var answer = redeemed(id)
            answer.grants = (content[id] ?? []).map { .content($0) }
            return answer
        }
        perform(machine.answered(id, RedemptionAnswer(redeemed: said, refused: [])))
    }
}

@Suite("Redemptions in any order, with crashes", .timeLimit(.minutes(1)))
struct RedemptionPropertyTests {
    @Test func `in any order of events every purchase ends once, and no content is lost`() {
        for seed in UInt64(1)...2000 {
            var world = World(seed: seed)
            for _ in 0..<120 { world.step() }
            world.faults = false
            for _ in 0..<400 where !(world.unfinished.isEmpty && world.journal.isEmpty) { world.step() }
            let due = Set(world.content.values.joined())
            #expect(world.complaints == [], "seed \(seed)")
            #expect(world.unfinished == [] && world.journal == [:], "seed \(seed)")
            #expect(world.disk == due, "seed \(seed)")
        }
    }
}
