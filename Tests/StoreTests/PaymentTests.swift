import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// What is authorized and what the ledger came to use are the same in the end.
@Suite(.timeLimit(.minutes(1))) struct PaymentTests {
    /// Holds up the first authorization of one key.
    private final class Pause: Sendable {
        let asked = Gate()
        let goesOn = Gate()
        private let key = Mutex<UUID?>(nil)

        func next(_ key: UUID) { self.key.withLock { $0 = key } }

        func pass(_ payment: PaymentAuthorization) async {
            let isNext = key.withLock { key in
                guard key == payment.idempotencyKey else { return false }
                key = nil
                return true
            }
            guard isNext else { return }
            await asked.open()
            await goesOn.wait()
        }

        func processor() -> ScriptedProcessor {
            ScriptedProcessor { payment in
                await self.pass(payment)
                return .approved(reference: "R-\(payment.idempotencyKey)")
            }
        }
    }

    @Test(arguments: Backend.available)
    func anAuthorizationOutlastsASecondLook(_ backend: Backend) async throws {
        let pause = Pause()
        let processor = pause.processor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let (first, second) = (test.request("club.yearly"), test.request("club.weekly"))
            pause.next(first.idempotencyKey)
            async let late = test.store.purchase(first, by: account)
            await pause.asked.wait()
            // Another subscription of the group takes the introduction meanwhile.
            #expect(try await test.store.purchase(second, by: account).state == .purchased)
            await pause.goesOn.open()
            #expect(try await late.state == .purchased)
            #expect(try await test.ledger().map(\.price.milliunits).sorted() == [1490, 49_990])
            #expect(processor.held == [first.idempotencyKey: 49_990, second.idempotencyKey: 1490])
            #expect(processor.voids.isEmpty)
        }
    }

    /// The price changes between the looks of two requests under one key; the ledger has the first that was recorded.
    @Test(arguments: Backend.available, [0, 2000])
    func whatIsHeldIsWhatTheLedgerSays(_ backend: Backend, limit: Int64) async throws {
        let pause = Pause()
        // With a limit, the second request's price is declined.
        let processor = ScriptedProcessor { payment in
            await pause.pass(payment)
            guard limit == 0 || payment.amount.milliunits < limit else { return .declined(message: "Too much.") }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let request = test.request("hats")
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacingOccurrences(of: "2.99", with: "1.00") })
            pause.next(request.idempotencyKey)
            async let early = test.store.purchase(request, by: account)
            await pause.asked.wait()
            test.store.catalog.replace(with: try TestStore.catalog())
            // Recorded first, at the new price; unless it is declined, which is recorded as well.
            let answer = try await test.store.purchase(request, by: account)
            await pause.goesOn.open()
            #expect(try await early == answer)
            #expect(answer.state == (limit == 0 ? .purchased : .failed))
            #expect(try await test.ledger().map(\.price.milliunits) == (limit == 0 ? [2990] : []))
            #expect(processor.held == (limit == 0 ? [request.idempotencyKey: 2990] : [:]))
        }
    }

    @Test(arguments: Backend.available)
    func aKeyThatFailedIsVoidedAndStaysSo(_ backend: Backend) async throws {
        let pause = Pause()
        let processor = pause.processor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let (first, second) = (test.request("gym.monthly"), test.request("gym.monthly"))
            pause.next(first.idempotencyKey)
            async let late = test.store.purchase(first, by: account)
            await pause.asked.wait()
            #expect(try await test.store.purchase(second, by: account).state == .purchased)
            await pause.goesOn.open()
            let answer = try await late
            #expect(answer.failure?.code == .alreadySubscribed)
            #expect(processor.held == [second.idempotencyKey: 9990] && processor.voids == [first.idempotencyKey])
            // A device that lost the answer asks again: whoever stopped before the processor was told is made up for.
            #expect(try await test.store.purchase(first, by: account) == answer)
            #expect(processor.voids == [first.idempotencyKey, first.idempotencyKey])
            #expect(processor.authorizations.count == 2)
        }
    }

    /// Asked for and approved, or bought at once, while another device buys the same.
    @Test(arguments: Backend.available, [true, false])
    func whatCameForFreeInTheEndIsNotPaid(_ backend: Backend, isApproved: Bool) async throws {
        let pause = Pause()
        let processor = pause.processor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let request = test.request("hats", asksToBuy: isApproved)
            if isApproved { _ = try await test.store.purchase(request, by: account) }
            pause.next(request.idempotencyKey)
            async let late = refusal {
                isApproved
                    ? try await test.store.approve(request.idempotencyKey)
                    : try await test.store.purchase(request, by: account)
            }
            await pause.asked.wait()
            let other = test.request("hats")
            _ = try await test.store.purchase(other, by: account)
            await pause.goesOn.open()
            #expect(try await late == (isApproved ? .wrongState : nil))
            if isApproved {
                #expect(processor.held.count == 2)
                #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            }
            #expect(processor.held == [other.idempotencyKey: 2990])
            #expect(try await test.ledger().map(\.price.milliunits).sorted() == [0, 2990])
        }
    }

    @Test(arguments: Backend.available)
    func aRefundReachesTheProcessorOnce(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let hats = test.request("hats")
            let first = try #require(try await test.store.purchase(hats, by: account).transaction)
            let second = try await test.buy("hats", by: account)
            processor.failRefunds(1)
            let error = await #expect(throws: StoreError.self) {
                try await test.store.refund(second.transactionID, reason: .app)
            }
            #expect(error?.code == .unavailable && error?.detail.contains("The store tries again") == true)
            // The ledger has it, and the processor is told when the refund is ordered again.
            #expect(try await test.ledger().allSatisfy { $0.revokedAt == TestClock.start })
            #expect(processor.refunds.isEmpty)
            test.clock.milliseconds += 1000
            for id in [second.transactionID, first.transactionID] {
                #expect(try await refusal { try await test.store.refund(id, reason: .other) } == .wrongState)
            }
            let told = PaymentRefund(
                refundID: try #require(processor.refunds.first).refundID, transactionID: first.transactionID,
                idempotencyKey: hats.idempotencyKey,
                reference: "R-\(hats.idempotencyKey)", amount: Money(milliunits: 2990, currency: "USD"))
            #expect(processor.refunds == [told])
            #expect(try await test.ledger().map(\.revocationReason) == [1, 1])

            let credits = try await test.buy("credits5", by: account, quantity: 2)
            let refunded = try await test.store.refund(credits.transactionID, reason: .other)
            #expect(refunded.amount.milliunits == 1980)
            #expect(refunded.transactions.map(\.transactionID) == [credits.transactionID])
            #expect(processor.refunds.map(\.amount.milliunits) == [2990, 1980])
            // What cost nothing is no payment.
            let news = try await test.buy("news", by: account)
            #expect(try await test.store.refund(news.transactionID, reason: .other).amount.milliunits == 0)
            #expect(processor.refunds.count == 2)
        }
    }
}
