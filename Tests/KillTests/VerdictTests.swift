import KillTesting
import Testing

@testable import KillTestApp

/// What the kill test would say of a store or an app that is not right.
@Suite(.timeLimit(.minutes(1))) struct VerdictTests {
    private static let coins = Order(name: "order1", product: "coins", quantity: 3)
    private static let hat = Order(name: "order2", product: "hat", quantity: 1)

    private static let ledger = [
        Verdict.Transaction(id: "1", original: "1", product: "coins", quantity: 3, isFinished: true),
        Verdict.Transaction(id: "2", original: "2", product: "hat", quantity: 1, isFinished: true),
    ]

    /// A launch that is killed after the first grant, and one that does the rest and restores.
    private static let log: [AppLog.Event] = [
        .launched, .asked(coins), .asked(hat), .journaled(order: "order1"), .journaled(order: "order2"),
        .delivered(transaction: "1"), .granted(transaction: "1", coins),
        .launched, .delivered(transaction: "1"), .removed(transaction: "1"), .delivered(transaction: "2"),
        .granted(transaction: "2", hat), .removed(transaction: "2"),
        .restoring, .delivered(transaction: "3"), .regranted(transaction: "3", original: "2", product: "hat"),
        .restored,
        .removed(transaction: "3"), .ended,
    ]

    private func verdict(
        _ ledger: [Verdict.Transaction] = Self.ledger, _ log: [AppLog.Event] = Self.log
    ) -> Verdict {
        Verdict(ledger: ledger, log: log, kept: ["hat", "scarf"])
    }

    @Test func allIsWell() {
        let verdict = verdict()
        #expect(verdict.isGood && verdict.purchases == 2 && verdict.restores == 1)
    }

    @Test func aPurchaseThatWasNotDeliveredIsLost() {
        let log = Self.log.filter { $0 != .granted(transaction: "1", Self.coins) }
        #expect(verdict(Self.ledger, log).lost.count == 2)
    }

    @Test func anOrderThatWasJournaledAndNeverBoughtIsLost() {
        let log = Self.log + [.launched, .asked(Order(name: "order3", product: "coins", quantity: 1))]
        #expect(verdict(Self.ledger, log).isGood)
        #expect(verdict(Self.ledger, log + [.journaled(order: "order3")]).lost.count == 1)
    }

    @Test func anOrderThatFailedIsLost() {
        #expect(verdict(Self.ledger, Self.log + [.failed(order: "order1", code: 0)]).lost.count == 1)
    }

    @Test func anOrderThatWasBoughtTwiceIsDoubled() {
        let again = Verdict.Transaction(id: "9", original: "9", product: "coins", quantity: 3, isFinished: true)
        let verdict = verdict(Self.ledger + [again], Self.log + [.granted(transaction: "9", Self.coins)])
        #expect(verdict.doubled.count == 1 && verdict.lost == [] && verdict.wrong == [])
    }

    @Test func whatWasGrantedTwiceOrNeverBoughtIsDoubled() {
        #expect(!verdict(Self.ledger, Self.log + [.granted(transaction: "1", Self.coins)]).doubled.isEmpty)
        #expect(verdict(Self.ledger.filter { $0.id == "2" }).doubled.count == 1)
    }

    @Test func whatComesTwiceInOneLaunchOrAfterItsEndIsDoubled() {
        let late: [AppLog.Event] = [.launched, .delivered(transaction: "1")]
        #expect(verdict(Self.ledger, Self.log + late).doubled.count == 1)
        let finished: [AppLog.Event] = [.finished(transaction: "2"), .launched, .delivered(transaction: "2")]
        #expect(verdict(Self.ledger, Self.log.filter { $0 != .removed(transaction: "2") }).isGood)
        #expect(
            verdict(Self.ledger, Self.log.filter { $0 != .removed(transaction: "2") } + finished).doubled.count == 1)
        let twice: [AppLog.Event] = [.launched, .delivered(transaction: "7"), .delivered(transaction: "7")]
        #expect(verdict(Self.ledger, Self.log + twice).doubled.count == 1)
    }

    @Test func whatIsNotFinishedOrNotWhatWasOrderedIsWrong() {
        var ledger = Self.ledger
        ledger[0].isFinished = false
        ledger[1].quantity = 2
        #expect(verdict(ledger).wrong.count == 2)
    }

    @Test func aRestoreBringsWhatIsOwnedOnce() {
        let nothing: [AppLog.Event] = [.launched, .restoring, .restored]
        #expect(verdict(Self.ledger, Self.log + nothing).wrong.count == 1)
        let twice: [AppLog.Event] = [
            .launched, .restoring, .regranted(transaction: "4", original: "2", product: "hat"),
            .regranted(transaction: "5", original: "2", product: "hat"), .restored,
        ]
        #expect(verdict(Self.ledger, Self.log + twice).wrong.count == 1)
        let of: [AppLog.Event] = [
            .launched, .restoring, .regranted(transaction: "4", original: "1", product: "hat"), .restored,
        ]
        #expect(verdict(Self.ledger, Self.log + of).wrong.count == 1)
        // One that failed, or ended with the process, is no restore.
        let failed: [AppLog.Event] = [.launched, .restoring, .restoreFailed(code: 0), .launched, .restoring]
        #expect(verdict(Self.ledger, Self.log + failed).isGood)
    }

    @Test func hostedContentIsThereWholeBeforeItIsGranted() {
        func verdict(_ log: [AppLog.Event]) -> Verdict {
            Verdict(ledger: Self.ledger, log: log, kept: ["hat", "scarf"], contents: ["hat": "abc"])
        }
        func log(_ sha256: String) -> [AppLog.Event] {
            Self.log.flatMap { event -> [AppLog.Event] in
                switch event {
                case .granted(let id, let order) where order.product == "hat":
                    [.content(transaction: id, sha256: sha256), event]
                case .regranted(let id, _, _): [.content(transaction: id, sha256: sha256), event]
                default: [event]
                }
            }
        }
        #expect(verdict(log("abc")).isGood)
        // A restore has brought it by the end of the launch.
        let late: [AppLog.Event] = [
            .launched, .restoring, .restored, .content(transaction: "4", sha256: "abc"),
            .regranted(transaction: "4", original: "2", product: "hat"), .ended,
        ]
        #expect(verdict(log("abc") + late).isGood)
        #expect(verdict(log("abc") + late.filter { $0 != late[4] }).wrong.count == 1)
        #expect(verdict(log("abd")).wrong.count == 2)
        #expect(verdict(Self.log).wrong.count == 2)
        #expect(verdict(log("abc") + [.downloadFailed(transaction: "2")]).wrong.count == 1)
        #expect(self.verdict(Self.ledger, log("abc")).wrong.count == 2)
        for event in log("abc") + [.downloadFailed(transaction: "2")] {
            #expect(AppLog.Event(line: Substring(event.line)) == event)
        }
    }

    @Test func ordersAndPointsAreReadAsTheyAreWritten() {
        #expect(Order(argument: Self.coins.argument) == Self.coins)
        for text in ["", "a", "a=b", "a=b*", "a=b*x", "a b=c*1", "a=b*1*2"] { #expect(Order(argument: text) == nil) }
        let point = KillPoint(name: "before-save-gate", count: 2)
        #expect(KillPoint(text: point.text) == point)
        for text in ["", "before-send", "before-send:0", "before send:1", ":1"] {
            #expect(KillPoint(text: text) == nil)
        }
        #expect(Set(KillPoint.allNames).count == KillPoint.allNames.count && KillPoint.allNames.count > 30)
    }
}
