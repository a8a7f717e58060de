import MerchantWire
import Testing

@testable import KillTesting

/// What the merchant's kill test would say of a merchant that is not right.
@Suite(.timeLimit(.minutes(1))) struct MerchantVerdictTests {
    private static let log: MerchantKillLog = {
        var log = MerchantKillLog(user: "ann", item: "book")
        log.redeemed = ["1", "2", "3"]
        log.content = ["3"]
        log.refunded = ["2"]
        log.spent = ["k": 30]
        log.unspent = ["l"]
        return log
    }()

    private static let entries = [
        entry(1, .grant, 100, "store/S/app/t/1"), entry(2, .grant, 100, "store/S/app/t/2"), entry(3, .spend, -30, "k"),
        entry(4, .refund, -100, "store/S/app/t/2"),
    ]

    private static let events = [
        event("purchase.redeemed", "1"), event("purchase.redeemed", "2"), event("purchase.redeemed", "3"),
        event("purchase.revoked", "2"), event("balance.changed", nil, "spend"),
    ]

    private static func entry(
        _ number: Int64, _ kind: LedgerEntry.Kind, _ amount: Int64, _ reference: String
    ) -> LedgerEntry {
        LedgerEntry(
            entry: number, kind: kind, amount: amount, balance: 0, createdAt: 0, reference: reference, note: nil)
    }

    private static func event(_ type: String, _ transaction: String?, _ reason: String? = nil) -> WebhookLog.Event {
        .init(type: type, user: "ann", transaction: transaction, reason: reason)
    }

    private func verdict(
        _ entries: [LedgerEntry] = entries, _ events: [WebhookLog.Event] = events, _ more: [MerchantKillLog] = []
    ) -> MerchantVerdict {
        MerchantVerdict(logs: [Self.log] + more, histories: ["ann": entries], events: events, credits: 100)
    }

    @Test func allIsWell() {
        let verdict = verdict()
        #expect(verdict.isGood && verdict.redemptions == 3 && verdict.spends == 1)
    }

    @Test func whatWasConfirmedAndIsNotThereIsLost() {
        for index in Self.entries.indices {
            var entries = Self.entries
            entries.remove(at: index)
            #expect(verdict(entries).lost.count == 1)
        }
        for index in Self.events.indices {
            var events = Self.events
            events.remove(at: index)
            #expect(verdict(Self.entries, events).lost.count == 1)
        }
    }

    @Test func whatIsThereTwiceIsDoubled() {
        for entry in Self.entries { #expect(verdict(Self.entries + [entry]).doubled.count == 1) }
        for event in Self.events { #expect(verdict(Self.entries, Self.events + [event]).doubled.count == 1) }
    }

    @Test func whatWasNeverConfirmedOrIsOfAnotherAmountIsWrong() {
        #expect(!verdict(Self.entries + [Self.entry(5, .grant, 100, "store/S/app/t/9")]).wrong.isEmpty)
        #expect(!verdict(Self.entries + [Self.entry(5, .spend, -1, "l")]).wrong.isEmpty)
        #expect(!verdict(Self.entries + [Self.entry(5, .adjustment, 1, "m")]).wrong.isEmpty)
        var entries = Self.entries
        entries[2].amount = -29
        #expect(verdict(entries).wrong.count == 1)
    }

    @Test func whatSeveralHaveBroughtIsOnes() {
        var bob = MerchantKillLog(user: "bob", item: "other")
        bob.refused = ["1"]
        #expect(verdict(Self.entries, Self.events, [bob]).isGood)
        bob.refused = ["8"]
        #expect(verdict(Self.entries, Self.events, [bob]).lost.count == 1)
        bob.refused = []
        bob.redeemed = ["1"]
        #expect(verdict(Self.entries, Self.events, [bob]).doubled.count == 1)
    }
}
