import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct InterruptedPurchaseTests {
    @Test(arguments: Backend.available) func itFailsOnTheDeviceAndWaitsAtTheStore(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let made = try await test.account()
            let account = try await test.store.accounts.change(
                made.accountID, AccountChange(interruptsPurchases: true))
            #expect(account.interruptsPurchases)
            let request = test.request("hats", username: "ape")
            let answer = try await test.store.purchase(request, by: account)
            #expect(answer.state == .failed && answer.failure?.code == .interrupted && answer.transaction == nil)
            #expect(try await test.store.purchase(request, by: account) == answer)
            #expect(processor.authorizations.isEmpty)
            let pending = try await test.store.pendingPurchases()
            #expect(pending.map(\.idempotencyKey) == [request.idempotencyKey] && pending[0].isInterrupted)
            #expect(try await refusal { try await test.store.approve(request.idempotencyKey) } == .wrongState)
            #expect(try await test.ledger().isEmpty)

            test.clock.milliseconds += 1000
            let resolved = try await test.store.resolve(request.idempotencyKey)
            let transaction = try #require(resolved.transaction)
            #expect(resolved.state == .purchased && transaction.purchaseDate == TestClock.start + 1000)
            #expect(transaction.applicationUsername == "ape" && transaction.idempotencyKey == request.idempotencyKey)
            #expect(processor.authorizations.map(\.amount.milliunits) == [2990])
            #expect(try await refusal { try await test.store.resolve(request.idempotencyKey) } == .wrongState)
            #expect(try await refusal { try await test.store.decline(request.idempotencyKey) } == .wrongState)
            #expect(try await test.store.pendingPurchases().isEmpty)
            let unfinished = try await test.store.unfinishedTransactions(
                of: account, in: TestStore.bundleID, after: nil)
            #expect(unfinished.transactions == [transaction])
            #expect(try await test.store.purchase(request, by: account) == resolved)
            // What is owned needs nothing settled.
            let again = try await test.store.purchase(test.request("hats"), by: account)
            #expect(again.state == .purchased && processor.authorizations.count == 1)
        }
    }

    @Test(arguments: Backend.available) func aDeclinedInterruptedPurchaseStaysFailed(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let made = try await test.account()
            let account = try await test.store.accounts.change(
                made.accountID, AccountChange(interruptsPurchases: true))
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: account)
            try await test.store.decline(request.idempotencyKey)
            #expect(try await refusal { try await test.store.resolve(request.idempotencyKey) } == .wrongState)
            #expect(try await refusal { try await test.store.decline(request.idempotencyKey) } == .wrongState)
            let answer = try await test.store.purchase(request, by: account)
            #expect(answer.state == .failed && answer.failure?.code == .paymentDeclined)
            #expect(try await test.ledger().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aDeclinedCardMakesAResolvedOneFail(_ backend: Backend) async throws {
        try await backend.withStore(processor: ScriptedProcessor { _ in .declined(message: "No.") }) {
            test async throws in
            let made = try await test.account()
            let account = try await test.store.accounts.change(
                made.accountID, AccountChange(interruptsPurchases: true))
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: account)
            let resolved = try await test.store.resolve(request.idempotencyKey)
            #expect(resolved.state == .failed && resolved.failure?.code == .paymentDeclined)
            #expect(try await test.store.pendingPurchases().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aProductShownAsFreeIsNotCharged(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let free = Money(milliunits: 0, currency: "USD")
            // Shown as owned, and refunded before the answer came.
            let early = try await test.store.purchase(test.request("hats", agreedPrice: free), by: account)
            #expect(early.state == .failed && early.failure?.code == .priceChanged)
            let first = try await test.buy("hats", by: account)
            let again = try await test.store.purchase(test.request("hats", agreedPrice: free), by: account)
            #expect(again.transaction?.originalTransactionID == first.transactionID)
            let told = Money(milliunits: 2990, currency: "USD")
            #expect(
                try await test.store.purchase(test.request("hats", agreedPrice: told), by: account).state == .purchased)
            let request = ProductsRequest(
                bundleID: TestStore.bundleID, productIDs: ["hats", "credits5", "nothing"], languages: [])
            let state = try await test.store.customerState(request, for: account)
            #expect(state.ownedProductIDs == ["hats"] && state.account.email == account.email)
        }
    }
}
