import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("The operator's view of the ledger", .timeLimit(.minutes(1))) struct LedgerQueryTests {
    private static func ids(_ page: LedgerPage<LedgerRow>) -> [TransactionID] { page.rows.map(\.transactionID) }

    @Test(arguments: Backend.available) func eachFilterSelects(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            let coins = try await test.buy("credits5", by: ape, username: "Kim").transactionID
            test.clock.milliseconds += 60_000
            let hats = try await test.buy("hats", by: bob).transactionID
            test.clock.milliseconds += 60_000
            var request = test.request("thing")
            request.bundleID = "com.example.other"
            let thing = try #require(try await test.store.purchase(request, by: ape).transaction).transactionID
            try await test.store.finish(hats, of: bob)
            _ = try await test.store.refund(thing, reason: .app)
            func list(_ change: (inout LedgerQuery) -> Void) async throws -> [TransactionID] {
                var query = LedgerQuery()
                change(&query)
                let page = try await test.store.ledger(query)
                #expect(page.next == nil)
                return Self.ids(page)
            }
            #expect(try await list { _ in } == [thing, hats, coins])
            #expect(try await list { $0.bundleID = "com.example.other" } == [thing])
            #expect(try await list { $0.productID = "hats" } == [hats])
            #expect(try await list { $0.kind = "nonConsumable" } == [thing, hats])
            #expect(try await list { $0.kind = LedgerQuery.itemKind }.isEmpty)
            #expect(try await list { $0.state = .unfinished } == [coins])
            #expect(try await list { $0.state = .finished } == [hats])
            #expect(try await list { $0.state = .refunded } == [thing])
            #expect(try await list { $0.from = TestClock.start + 60_000 } == [thing, hats])
            #expect(try await list { $0.until = TestClock.start + 60_000 } == [coins])
            #expect(try await list { $0.applicationUsername = "Kim" } == [coins])
            #expect(try await list { $0.accountID = ape.accountID } == [thing, coins])
            #expect(try await list { ($0.accountID, $0.state) = (ape.accountID, .refunded) } == [thing])
            #expect(try await list { ($0.accountID, $0.productID) = (ape.accountID, "hats") }.isEmpty)
            let page = try await test.store.ledger(LedgerQuery(limit: 2))
            #expect(Self.ids(page) == [thing, hats] && page.next == hats)
            let rest = try await test.store.ledger(LedgerQuery(before: page.next, limit: 2))
            #expect(Self.ids(rest) == [coins] && rest.next == nil)
        }
    }

    /// More rows than one request looks at: the answer says where to look further, and the cursor gets to the end.
    @Test(arguments: Backend.available) func aFilterLooksAtABoundedNumberOfRows(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            let rare = try await test.buy("hats", by: ape).transactionID
            try await test.database.write { connection in
                try connection.execute(
                    """
                    INSERT INTO transactions (\(Transaction.columns))
                    WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 20100)
                    SELECT account_id, transaction_id + i, transaction_id + i, bundle_id, 'credits5', item_id, 'consumable',
                        quantity, price, currency, storefront, purchase_date, original_purchase_date, expires_date,
                        web_order_line_item_id, subscription_group_id, offer, application_username, idempotency_key,
                        purchase_date, revoked_at, revocation_reason, promotional_offer_id, is_upgraded, refunded,
                        shared_from, offer_kind, is_renewal, offer_mode, offer_period
                    FROM transactions, numbers
                    """, [])
            }
            for account in [nil, ape.accountID] {
                var query = LedgerQuery(accountID: account, limit: 5)
                query.productID = "hats"
                var found: [TransactionID] = []
                var requests = 0
                repeat {
                    let page = try await test.store.ledger(query)
                    if requests == 0 { #expect(page.rows.isEmpty && page.next != nil) }
                    found += Self.ids(page)
                    query.before = page.next
                    requests += 1
                } while query.before != nil && requests < 9
                #expect(found == [rare])
                #expect(requests == (account == nil ? 2 : 3))
            }
        }
    }

    @Test(arguments: Backend.available) func anEntryHasItsPurchaseAndItsDeliveries(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            let first = try await test.buy("hats", by: ape)
            try await test.store.finish(first.transactionID, of: ape)
            let again = try await test.buy("hats", by: ape)
            let restored = try await test.store.restore(
                RestoreRequest(
                    idempotencyKey: UUID(), bundleID: TestStore.bundleID, deviceID: TestStore.device,
                    applicationUsername: nil, after: nil), for: ape)
            let delivery = try #require(restored.transactions.first?.transactionID)
            for id in [first.transactionID, delivery] {
                let entry = try await test.store.ledgerEntry(id)
                #expect(entry.row.transactionID == first.transactionID && entry.account?.email == ape.email)
                #expect(entry.chain.map(\.transactionID) == [first.transactionID, again.transactionID])
                #expect(entry.deliveries.map(\.transactionID) == [delivery])
                #expect(entry.deliveries.first?.deviceID == TestStore.device.uuidString)
                #expect(entry.attempt?.paymentReference?.hasPrefix("sandbox-") == true)
                #expect(entry.attempt?.state == .bought)
            }
            #expect(
                try await refusal { try await test.store.ledgerEntry(TransactionID(rawValue: 1)) }
                    == .unknownTransaction)
        }
    }

    @Test(arguments: Backend.available) func attemptsSayHowTheyEnded(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            var ape = try await test.account()
            let child = try await test.account("child@example.com", asksToBuy: true)
            try await test.store.payments.setRule(
                DeclineRule(ruleID: "once", accountID: nil, productID: "hats", minimumAmount: nil, remaining: 1))
            let declined = test.request("hats")
            #expect(try await test.store.purchase(declined, by: ape).state == .failed)
            // The answer to a key is final, and so is its attempt.
            #expect(try await test.store.purchase(declined, by: ape).state == .failed)
            let asked = test.request("credits5")
            #expect(try await test.store.purchase(asked, by: child).state == .deferred)
            let later = test.request("hats")
            #expect(try await test.store.purchase(later, by: child).state == .deferred)
            _ = try await test.store.approve(later.idempotencyKey)
            ape = try await test.store.accounts.change(ape.accountID, AccountChange(interruptsPurchases: true))
            let interrupted = test.request("credits5", quantity: 3)
            #expect(try await test.store.purchase(interrupted, by: ape).failure?.code == .interrupted)
            ape = try await test.store.accounts.change(ape.accountID, AccountChange(interruptsPurchases: false))
            let bought = try await test.buy("credits5", by: ape)

            let all = try await test.store.attempts(AttemptQuery())
            #expect(
                all.rows.map(\.idempotencyKey) == [interrupted, later, asked, declined].map(\.idempotencyKey))
            #expect(all.rows.map(\.state) == [.interrupted, .bought, .waiting, .declined])
            #expect(all.rows.last?.failure?.code == .paymentDeclined && all.rows.first?.quantity == 3)
            #expect(all.next == nil)
            #expect(all.rows.allSatisfy { $0.attemptID < bought.transactionID })
            for (state, request) in [
                (PurchaseAttempt.State.declined, declined), (.waiting, asked), (.interrupted, interrupted),
            ] {
                var query = AttemptQuery()
                query.state = state
                #expect(try await test.store.attempts(query).rows.map(\.idempotencyKey) == [request.idempotencyKey])
            }
            var query = AttemptQuery(accountID: ape.accountID)
            #expect(try await test.store.attempts(query).rows.map(\.state) == [.interrupted, .declined])
            query.productID = "hats"
            #expect(try await test.store.attempts(query).rows.map(\.state) == [.declined])
            query = AttemptQuery(limit: 3)
            query.before = try await test.store.attempts(query).next
            #expect(try await test.store.attempts(query).rows.map(\.state) == [.declined])
            query = AttemptQuery()
            query.state = .bought
            #expect(
                try await test.store.attempts(query).rows.map(\.transactionID).first == bought.transactionID)
            #expect(try await test.store.attempts(query).rows.count == 2)
        }
    }

    /// A purchase that succeeds at once writes no further row.
    @Test(arguments: Backend.available) func aPurchaseThatSucceedsWritesNoAttempt(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            try await test.buy("credits5", by: ape)
            #expect(try await test.count("attempts") == 0)
            #expect(try await test.count("purchases") == 1)
        }
    }

    @Test(arguments: Backend.available) func attemptsOfOlderVersionsComeFirst(_ backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            let before = try await Database.open(
                location, migrations: Array(StoreSchema.migrations.prefix(11)), logger: .silent)
            try await before.write { connection in
                for (key, state, failure, time) in [
                    ("b", "'failed'", "'payment_declined'", 2000), ("a", "'deferred'", "NULL", 1000),
                ] {
                    try connection.execute(
                        """
                        INSERT INTO purchases (idempotency_key, account_id, bundle_id, product_id, quantity, state,
                            failure_code, amount, currency, created_at)
                        VALUES ('\(key)', 'one', 'com.example.app', 'hats', 1, \(state), \(failure), 0, 'USD', \(time))
                        """, [])
                }
            }
            await before.close()
            let after = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
            let rows = try await after.read { connection in
                try connection.query("SELECT attempt_id, idempotency_key FROM attempts ORDER BY attempt_id", []).map {
                    "\(try $0.int64(0)) \(try $0.string(1))"
                }
            }
            #expect(rows == ["1 a", "2 b"])
            await after.close()
        }
    }
}
