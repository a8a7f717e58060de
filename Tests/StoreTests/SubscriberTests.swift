import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Subscribers and their periods", .timeLimit(.minutes(1))) struct SubscriberTests {
    private static let day: Int64 = 86_400_000

    @Test(arguments: Backend.available) func onlyCurrentPeriodsAreListedByKey(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            try await test.buy("club.weekly", by: bob)
            try await test.cancelSubscriptions(of: bob)
            test.clock.milliseconds += 8 * Self.day
            let club = try await test.buy("club.monthly", by: ape).transactionID
            let gym = try await test.buy("gym.monthly", by: ape).transactionID
            let refunded = try await test.buy("gym.monthly", by: bob).transactionID
            _ = try await test.store.refund(refunded, reason: .other)
            try await test.buy("season", by: bob)
            try await test.buy("news", by: bob)
            func list(_ query: SubscriberQuery) async throws -> [TransactionID] {
                let page = try await test.store.subscribers(query)
                #expect(page.next == nil)
                return page.rows.map(\.period.transactionID)
            }
            let all = try await test.store.subscribers(SubscriberQuery())
            #expect(
                all.rows.map(\.period.transactionID) == [gym, club] && all.rows.allSatisfy { $0.email == ape.email })
            #expect(try await list(SubscriberQuery(bundleID: "com.example.other")).isEmpty)
            #expect(try await list(SubscriberQuery(groupID: "21000002")) == [gym])
            #expect(try await list(SubscriberQuery(bundleID: TestStore.bundleID, productID: "club.monthly")) == [club])
            let first = try await test.store.subscribers(SubscriberQuery(limit: 1))
            #expect(first.rows.map(\.period.transactionID) == [gym] && first.next == gym)
            #expect(try await list(SubscriberQuery(before: first.next, limit: 1)) == [club])
            // The end of a period ends the subscription.
            try await test.cancelSubscriptions(of: ape)
            test.clock.milliseconds = try #require(all.rows.first?.period.expiresDate)
            let later = try await list(SubscriberQuery())
            #expect(!later.contains(gym))
        }
    }

    /// More transactions than one request looks at: the cursor still gets to the end.
    @Test(arguments: Backend.available) func aRequestLooksAtABoundedNumberOfRows(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            let club = try await test.buy("club.yearly", by: ape).transactionID
            let coins = try await test.buy("credits5", by: ape).transactionID
            try await test.database.write { connection in
                try connection.execute(
                    """
                    INSERT INTO transactions (\(Transaction.columns))
                    WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 20100)
                    SELECT account_id, transaction_id + i, transaction_id + i, bundle_id, product_id, item_id, kind,
                        quantity, price, currency, storefront, purchase_date, original_purchase_date, expires_date,
                        web_order_line_item_id, subscription_group_id, offer, application_username, idempotency_key,
                        finished_at, revoked_at, revocation_reason, promotional_offer_id, is_upgraded, refunded,
                        shared_from, offer_kind, is_renewal, offer_mode, offer_period
                    FROM transactions, numbers WHERE transaction_id = $1
                    """, [coins.rawValue])
            }
            let newest = try await test.store.subscribers(SubscriberQuery())
            #expect(newest.rows.isEmpty && newest.next != nil)
            let older = try await test.store.subscribers(SubscriberQuery(before: newest.next))
            #expect(older.rows.map(\.period.transactionID) == [club] && older.next == nil)
        }
    }

    @Test(arguments: Backend.available) func eachPeriodNamesItsStep(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            let stranger = try await test.account("stranger@example.com")
            try await test.buy("club.monthly", by: stranger)
            // Levels: yearly 1, monthly 2, weekly 3.
            try await test.buy("club.weekly", by: ape)
            try await test.buy("gym.monthly", by: ape)
            try await test.cancelSubscriptions(of: ape)
            try await test.buy("club.yearly", by: ape)
            // The lower plan begins with the renewal.
            try await test.buy("club.monthly", by: ape)
            try await test.store.changeClock { try $0.advance(by: 366 * Self.day) }
            try await test.cancelSubscriptions(of: ape)
            test.clock.milliseconds += 40 * Self.day
            let returned = try await test.buy("club.monthly", by: ape)
            try await test.cancelSubscriptions(of: ape)
            let end = try #require(returned.expiresDate)
            try await test.store.changeClock { try $0.set(to: end) }
            try await test.buy("club.monthly", by: ape)
            let page = try await test.store.subscriptionPeriods(of: ape)
            let steps = page.rows.map { "\($0.period.productID) \($0.step) \($0.previous?.rawValue ?? "-")" }
            #expect(
                steps == [
                    "club.monthly again club.monthly", "club.monthly returned club.monthly",
                    "club.monthly downgrade club.yearly", "club.yearly upgrade club.weekly", "gym.monthly first -",
                    "club.weekly first -",
                ])
            #expect(page.next == nil)
            // The step of a page's last row does not depend on the page's size.
            var (found, before): ([String], TransactionID?) = ([], nil)
            repeat {
                let part = try await test.store.subscriptionPeriods(of: ape, before: before, limit: 1)
                found += part.rows.map { "\($0.period.productID) \($0.step) \($0.previous?.rawValue ?? "-")" }
                before = part.next
            } while before != nil && found.count < 9
            #expect(found == steps)
            // The gym had no offer, and is over.
            let groups = try await test.store.groupsWithoutIntroduction(of: ape, in: TestStore.bundleID)
            #expect(groups == ["21000001"])
            #expect(try await test.store.groupsWithoutIntroduction(of: ape, in: "com.example.other").isEmpty)
        }
    }

    @Test func aPlanWithoutAKnownLevelIsACrossgrade() async throws {
        let period = try await Backend.sqlite.period("club.monthly")
        let other = try await Backend.sqlite.period("club.weekly")
        #expect(SubscriptionPlan(period, after: other) { _ in nil }.step == .crossgrade)
        #expect(SubscriptionPlan(period, after: other) { _ in 1 }.step == .crossgrade)
        #expect(SubscriptionPlan(period, after: nil) { _ in 1 }.step == .first)
        var refunded = period
        refunded.revokedAt = period.purchaseDate - 1
        #expect(SubscriptionPlan(period, after: refunded) { _ in 1 }.step == .returned)
    }
}

extension Backend {
    /// The transaction of a new period.
    fileprivate func period(_ productID: ProductID) async throws -> Transaction {
        var found: Transaction?
        try await withStore { test async throws in
            let id = try await test.buy(productID, by: try await test.account()).transactionID
            if case .product(let transaction) = try await test.store.ledgerEntry(id).row { found = transaction }
        }
        return try #require(found)
    }
}
