import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Requests for refunds by a device", .timeLimit(.minutes(1))) struct CustomerRefundTests {
    private typealias Scene = APIScene

    @Test(arguments: Backend.available) func onlyTheAccountsOwnTransactionCounts(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let (store, app) = (scene.store, TestStore.bundleID)
            let (ape, eve) = (try await scene.test.account(), try await scene.test.account("eve@example.com"))
            let id = try await scene.test.buy("credits5", by: ape, quantity: 2).transactionID
            #expect(
                try await store.refundable(id, of: ape, in: app)
                    == RefundableTransaction(productID: "credits5", price: Money(milliunits: 1980, currency: "USD")))
            for (account, bundleID, transaction) in [
                (eve, app, id), (ape, "com.example.other", id), (ape, app, TransactionID(rawValue: 7)),
            ] as [(Account, BundleID, TransactionID)] {
                #expect(
                    try await refusal { try await store.refundable(transaction, of: account, in: bundleID) }
                        == .unknownTransaction)
                #expect(
                    try await refusal {
                        try await store.requestRefund(of: transaction, reason: .other, by: account, in: bundleID)
                    } == .unknownTransaction)
            }
            #expect(try await store.refundRequests(RefundRequestFilter()).rows.isEmpty)
            let made = try await store.requestRefund(of: id, reason: .legal, by: ape, in: app)
            #expect(made.state == .waiting && made.reason == .legal && made.accountID == ape.accountID)
            #expect(try await scene.notifications(id) == ["ONE_TIME_CHARGE", "CONSUMPTION_REQUEST"])
        }
    }

    @Test(arguments: Backend.available) func aSecondRequestIsRefused(_ backend: Backend) async throws {
        try await backend.withRefunds { scene async throws in
            let (store, app) = (scene.store, TestStore.bundleID)
            let ape = try await scene.test.account()
            for product: ProductID in ["credits5", "gym.monthly"] {
                let id = try await scene.test.buy(product, by: ape).transactionID
                let made = await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<6 {
                        group.addTask {
                            (try? await store.requestRefund(of: id, reason: .other, by: ape, in: app)) != nil
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(made == 1, "\(product)")
                #expect(try await refusal { try await store.refundable(id, of: ape, in: app) } == .refundRequested)
                // The operator's same request changes nothing, as before.
                let request = try await store.requestRefund(of: id, reason: .other)
                // After it was declined, the customer can ask again.
                try await store.decideRefund(request.requestID, .decline)
                let again = try await store.requestRefund(of: id, reason: .legal, by: ape, in: app)
                #expect(again.requestID != request.requestID)
                try await store.decideRefund(again.requestID, .approve(.whole))
                #expect(try await refusal { try await store.refundable(id, of: ape, in: app) } == .wrongState)
            }
        }
    }
}
