import MerchantWire
import StoreWire
import Testing

@testable import MerchantClient

/// A transaction as a test begins it.
func entry(_ id: String, restoredFrom: String? = nil, product: String = "magazine") -> RedemptionEntry {
    RedemptionEntry(
        transactionID: id, restoredFrom: restoredFrom, productID: product,
        stage: .redeeming(RedemptionRequest(signedTransaction: id)))
}

/// What the merchant says of a redeemed transaction.
func redeemed(
    _ id: String, original: String? = nil, _ grants: ProductGrant..., toOwner: Bool = false
) -> RedeemedTransaction {
    RedeemedTransaction(
        transactionID: id, originalTransactionID: original ?? id, productID: "magazine", quantity: 1,
        environment: .sandbox, grants: grants, redeemedAt: 1, expiresAt: nil, wentToNamedOwner: toOwner)
}

@Suite("The redemption's state machine", .timeLimit(.minutes(1)))
struct RedemptionStateMachineTests {
    typealias Machine = RedemptionStateMachine

    private static let purchase = MerchantPurchase(transactionID: "1", productID: "magazine")
    private static let lost = MerchantClientError(.unreachable, "lost")

    /// A machine that has been told transaction 1 and asks about it.
    private static func asking(_ finishing: MerchantClientConfiguration.Finishing = .afterDelivery) -> Machine {
        var machine = Machine(finishing: finishing)
        _ = machine.began(entry("1"))
        return machine
    }

    private static func delivering(_ items: ContentItemID...) -> RedemptionEntry {
        var entry = entry("1")
        entry.stage = .delivering(items)
        return entry
    }

    @Test func `a redemption is saved before the merchant is asked`() {
        var machine = Machine(finishing: .afterDelivery)
        let one = entry("1")
        #expect(
            machine.began(one) == [.write(one), .redeem("1", RedemptionRequest(signedTransaction: "1"))])
        #expect(machine.began(one).isEmpty)
        #expect(machine.isBusy)
    }

    @Test func `a purchase without content is finished when the merchant has confirmed it`() {
        var machine = Self.asking()
        let answer = redeemed("1", .credits("gems", amount: 5, lifetime: nil))
        #expect(
            machine.answered("1", RedemptionAnswer(redeemed: [answer], refused: [])) == [
                .tell(.redeemed(answer)), .finish(Self.purchase), .tell(.finished(Self.purchase)), .forget("1"),
            ])
        #expect(machine.entries.isEmpty && !machine.isBusy)
    }

    @Test func `a purchase with content is finished when the content is on the disk`() {
        var machine = Self.asking()
        let answer = redeemed("1", .content("a"), .content("b"), .content("a"))
        #expect(
            machine.answered("1", RedemptionAnswer(redeemed: [answer], refused: [])) == [
                .tell(.redeemed(answer)), .write(Self.delivering("a", "b")), .deliver("a"), .deliver("b"),
            ])
        #expect(machine.delivered("a") == [.write(Self.delivering("b"))])
        #expect(
            machine.delivered("b") == [.finish(Self.purchase), .tell(.finished(Self.purchase)), .forget("1")])
    }

    @Test func `a purchase is finished before its delivery if the app chose so and the delivery is saved`() {
        var machine = Self.asking(.afterRedemption)
        let answer = redeemed("1", .content("a"))
        var due = Self.delivering("a")
        due.isFinished = true
        #expect(
            machine.answered("1", RedemptionAnswer(redeemed: [answer], refused: [])) == [
                .tell(.redeemed(answer)), .write(due), .finish(Self.purchase), .tell(.finished(Self.purchase)),
                .deliver("a"),
            ])
        #expect(machine.delivered("a") == [.forget("1")])
    }

    @Test(arguments: [MerchantClientError.Code.unreachable, .badAnswer])
    func `a missing or malformed answer is requested again`(code: MerchantClientError.Code) {
        var machine = Self.asking()
        let error = MerchantClientError(code, "")
        for attempt in 1...3 {
            var written = entry("1")
            written.attempts = attempt
            #expect(
                machine.failed(.redeem("1"), error) == [
                    .write(written), .wait(.redeem("1"), turn: attempt, attempt: attempt, error),
                ])
            #expect(!machine.isBusy)
            #expect(machine.began(entry("1")).isEmpty)
            #expect(machine.due(.redeem("1"), attempt) == [.redeem("1", RedemptionRequest(signedTransaction: "1"))])
            #expect(machine.due(.redeem("1"), attempt).isEmpty)
        }
    }

    @Test func `a paused download stays paused`() {
        var machine = Machine(finishing: .afterDelivery)
        _ = machine.launched([Self.delivering("a")])
        #expect(machine.wake().isEmpty)
        machine.paused("a")
        let error = MerchantClientError(.cancelled, "")
        #expect(machine.failed(.deliver("a"), error) == [.tell(.notDelivered("a", error, seconds: nil))])
    }

    @Test func `the end of a cancelled delay has no effect`() {
        var machine = Self.asking()
        let error = MerchantClientError(.unreachable, "", retryAfter: 600)
        let request = RedemptionRequest(signedTransaction: "1")
        #expect(machine.failed(.redeem("1"), error).last == .wait(.redeem("1"), turn: 1, attempt: 1, error))
        #expect(machine.wake() == [.redeem("1", request)])
        #expect(machine.failed(.redeem("1"), error).last == .wait(.redeem("1"), turn: 2, attempt: 2, error))
        #expect(machine.due(.redeem("1"), 1).isEmpty)
        #expect(machine.due(.redeem("1"), 2) == [.redeem("1", request)])
    }

    @Test(arguments: [MerchantClientError.Code.notSignedIn, .cancelled, .storage])
    func `a change during an attempt causes one more attempt`(code: MerchantClientError.Code) {
        let error = MerchantClientError(code, "")
        var machine = Self.asking()
        #expect(machine.wake().isEmpty)
        let request = RedemptionRequest(signedTransaction: "1")
        #expect(machine.failed(.redeem("1"), error) == [.redeem("1", request)])
        #expect(machine.failed(.redeem("1"), error) == [.tell(.waiting(Self.purchase, error, seconds: nil))])

        machine = Machine(finishing: .afterDelivery)
        _ = machine.launched([Self.delivering("a")])
        #expect(machine.wake().isEmpty)
        #expect(machine.failed(.deliver("a"), error) == [.deliver("a")])
        #expect(machine.failed(.deliver("a"), error) == [.tell(.notDelivered("a", error, seconds: nil))])
    }

    @Test func `a refusal is reported, and tried again when StoreKit delivers the transaction again`() {
        var machine = Self.asking()
        let refusal = RefusedTransaction(
            transactionID: "1", productID: "magazine", code: .alreadyRedeemed, message: "taken")
        let error = MerchantClientError(.refused, "taken", reason: .alreadyRedeemed)
        #expect(
            machine.answered("1", RedemptionAnswer(redeemed: [], refused: [refusal])) == [
                .forget("1"), .tell(.refused(Self.purchase, error)),
            ])
        #expect(machine.began(entry("1")).count == 2)
    }

    @Test func `a temporary refusal is tried again`() {
        var machine = Self.asking()
        let refusal = RefusedTransaction(
            transactionID: "1", productID: "magazine", code: .storeUnavailable, message: "later")
        let actions = machine.answered("1", RedemptionAnswer(redeemed: [], refused: [refusal]))
        #expect(
            actions.last
                == .wait(
                    .redeem("1"), turn: 1, attempt: 1,
                    MerchantClientError(.unreachable, "later", reason: .storeUnavailable)))
    }

    @Test func `an answer without the transaction causes a receipt refresh`() {
        var machine = Self.asking()
        let actions = machine.answered("1", RedemptionAnswer(redeemed: [redeemed("2")], refused: []))
        guard case .tell(.refused(Self.purchase, let error))? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.code == .noEvidence)
    }

    @Test func `one answer settles all transactions in it`() {
        var machine = Self.asking()
        _ = machine.began(entry("2"))
        let answer = RedemptionAnswer(redeemed: [redeemed("1"), redeemed("2")], refused: [])
        let finished = machine.answered("1", answer).filter { if case .finish = $0 { true } else { false } }
        #expect(finished.count == 2)
        #expect(machine.answered("2", answer).isEmpty)
        #expect(machine.failed(.redeem("2"), Self.lost).isEmpty)
    }

    @Test func `a restored transaction is confirmed by its first one`() {
        var machine = Machine(finishing: .afterDelivery)
        _ = machine.began(entry("9", restoredFrom: "1"))
        let actions = machine.answered("9", RedemptionAnswer(redeemed: [redeemed("1")], refused: []))
        #expect(actions.contains(.finish(MerchantPurchase(transactionID: "9", productID: "magazine"))))
        // One that was bought is not confirmed by another of the same subscription.
        var other = Machine(finishing: .afterDelivery)
        _ = other.began(entry("9"))
        let renewal = other.answered("9", RedemptionAnswer(redeemed: [redeemed("1")], refused: []))
        #expect(!renewal.contains { if case .finish = $0 { true } else { false } })
    }

    @Test func `a purchase of another user is finished and not downloaded`() {
        var machine = Self.asking()
        let answer = redeemed("1", .content("a"), toOwner: true)
        let actions = machine.answered("1", RedemptionAnswer(redeemed: [answer], refused: []))
        #expect(actions.contains(.finish(Self.purchase)) && !actions.contains(.deliver("a")))
    }

    @Test func `a launch continues begun redemptions, and finishes when StoreKit delivers them`() {
        var machine = Machine(finishing: .afterDelivery)
        #expect(machine.launched([entry("1")]) == [.redeem("1", RedemptionRequest(signedTransaction: "1"))])
        let answer = RedemptionAnswer(redeemed: [redeemed("1")], refused: [])
        #expect(machine.answered("1", answer) == [.tell(.redeemed(redeemed("1"))), .forget("1")])
        #expect(machine.began(entry("1")) == [.finish(Self.purchase), .tell(.finished(Self.purchase))])
    }

    @Test func `a known transaction continues without new evidence`() {
        var machine = Machine(finishing: .afterDelivery)
        #expect(machine.reported(Self.purchase) == nil)
        _ = machine.launched([entry("1")])
        #expect(machine.reported(Self.purchase) == [])
        let answer = RedemptionAnswer(redeemed: [redeemed("1")], refused: [])
        #expect(machine.answered("1", answer).contains(.finish(Self.purchase)))
    }

    @Test
    func `after a crash between saving and finishing, the transaction is finished when StoreKit delivers it again`() {
        var machine = Machine(finishing: .afterRedemption)
        var due = Self.delivering("a")
        due.isFinished = true
        #expect(machine.launched([due]) == [.deliver("a")])
        // Written anew, since it may not have been for a full disk.
        #expect(machine.began(entry("1")) == [.write(due), .finish(Self.purchase), .tell(.finished(Self.purchase))])
        #expect(machine.delivered("a") == [.forget("1")])
    }

    @Test(arguments: [
        (MerchantClientError.Code.unreachable, true), (.badAnswer, true), (.wrongContent, true), (.noSpace, false),
        (.refused, false), (.notSignedIn, false), (.storage, false), (.cancelled, false),
    ])
    func `a failed download waits for a delay or for a change`(code: MerchantClientError.Code, waits: Bool) {
        var machine = Machine(finishing: .afterDelivery)
        _ = machine.launched([Self.delivering("a")])
        let error = MerchantClientError(code, "")
        let actions = machine.failed(.deliver("a"), error)
        #expect(
            actions == [
                waits
                    ? .wait(.deliver("a"), turn: 1, attempt: 1, error) : .tell(.notDelivered("a", error, seconds: nil))
            ])
        #expect(machine.wake() == [.deliver("a")])
        #expect(machine.wake().isEmpty)
        #expect(machine.due(.deliver("a"), 1).isEmpty)
    }

    @Test func `without a token everything waits`() {
        var machine = Self.asking()
        let error = MerchantClientError(.notSignedIn, "")
        #expect(
            machine.failed(.redeem("1"), error) == [.tell(.waiting(Self.purchase, error, seconds: nil))])
        #expect(machine.wake() == [.redeem("1", RedemptionRequest(signedTransaction: "1"))])
    }

    @Test func `two purchases that wait for one item need one download`() {
        var machine = Self.asking()
        _ = machine.began(entry("2"))
        let answer = RedemptionAnswer(
            redeemed: [redeemed("1", .content("a")), redeemed("2", .content("a"))], refused: [])
        #expect(machine.answered("1", answer).filter { $0 == .deliver("a") }.count == 1)
        #expect(machine.delivered("a").filter { if case .finish = $0 { true } else { false } }.count == 2)
    }

    @Test func `a redemption that the app gives up is forgotten`() {
        var machine = Self.asking()
        #expect(machine.abandoned("1") == [.forget("1")])
        #expect(machine.abandoned("1").isEmpty)
        #expect(machine.answered("1", RedemptionAnswer(redeemed: [redeemed("1")], refused: [])).isEmpty)
    }
}
