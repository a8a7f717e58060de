import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// An item of the feed with its snapshot, as a reader of the JSON has it.
struct ReadSnapshot {
    /// A value in the JSON.
    enum Member: Decodable, Equatable {
        case flag(Bool)
        case number(Int64)
        case text(String)
        case texts([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .texts(try container.decode([String].self))
            }
        }
    }

    private struct Body: Decodable {
        var status: Int
        var transaction: [String: Member]
        var renewalInfo: [String: Member]
    }

    /// The type and subtype of the news.
    let words: String
    let status: Int
    let transaction: [String: Member]
    let renewal: [String: Member]

    init(_ item: SubscriptionFeedItem) throws {
        words = [item.news.type.rawValue, item.news.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        let text = try #require(item.snapshot)
        let body = try JSONDecoder().decode(Body.self, from: Data(text.utf8))
        (status, transaction, renewal) = (body.status, body.transaction, body.renewalInfo)
    }

    /// A member as text: `1`, `true`, `club.monthly`; nil when it is missing.
    static func text(_ member: Member?) -> String? {
        switch member {
        case .flag(let flag): "\(flag)"
        case .number(let number): "\(number)"
        case .text(let text): text
        case .texts(let texts): texts.joined(separator: ", ")
        case nil: nil
        }
    }
}

extension TestStore {
    /// The last item of the feed for a subscription.
    func lastSnapshot(of original: TransactionID) async throws -> ReadSnapshot? {
        let item = try await database.read { connection in
            try connection.queryOne(
                "SELECT max(number) FROM subscription_news WHERE original_transaction_id = $1", [original.rawValue]
            )?.optionalInt64(0).flatMap { try SubscriptionFeed.page(after: $0 - 1, limit: 1, connection).first }
        }
        return try item.map { try ReadSnapshot($0) }
    }

    /// All items of the feed for one subscription, oldest first.
    func snapshots(of original: TransactionID) async throws -> [ReadSnapshot] {
        try await store.newsFeed().filter { $0.originalTransactionID == original }.map { try ReadSnapshot($0) }
    }
}

/// What the news say of the state when they were written.
@Suite("Snapshots of news", .timeLimit(.minutes(1))) struct SubscriptionSnapshotTests {
    private func check(_ object: [String: ReadSnapshot.Member], _ expected: [String: String?]) {
        for (name, value) in expected { #expect(ReadSnapshot.text(object[name]) == value, "\(name)") }
    }

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aPeriodHasAllMembersOfApplesPayload(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let account = try await test.account()
            let token = "5d1c5aa4-9c1e-4f0b-8c7e-0d5f2b6a7c11"
            let bought = try await test.buy("club.monthly", by: account, username: token.uppercased())
            let row = try #require(try await test.ledger().first)
            let found = try #require(try await test.snapshots(of: bought.transactionID).first)
            #expect(found.words == "SUBSCRIBED/INITIAL_BUY" && found.status == 1)
            check(
                found.transaction,
                [
                    "transactionId": row.transactionID.description,
                    "originalTransactionId": row.transactionID.description,
                    "webOrderLineItemId": row.webOrderLineItemID.map { "\($0)" },
                    "bundleId": TestStore.bundleID.rawValue, "productId": "club.monthly",
                    "subscriptionGroupIdentifier": row.subscriptionGroupID?.rawValue,
                    "purchaseDate": "\(row.purchaseDate)", "originalPurchaseDate": "\(row.originalPurchaseDate)",
                    "expiresDate": row.expiresDate.map { "\($0)" }, "quantity": "1",
                    "type": "Auto-Renewable Subscription", "appAccountToken": token,
                    "inAppOwnershipType": "PURCHASED", "offerType": "1", "offerIdentifier": nil,
                    "offerDiscountType": "FREE_TRIAL", "offerPeriod": "P1W",
                    "environment": environment == .sandbox ? "Sandbox" : "Production", "storefront": "USA",
                    "storefrontId": "143441", "transactionReason": "PURCHASE", "price": "0", "currency": "USD",
                    "isUpgraded": nil, "revocationDate": nil,
                ])
            check(
                found.renewal,
                [
                    "originalTransactionId": row.transactionID.description, "productId": "club.monthly",
                    "autoRenewProductId": "club.monthly", "autoRenewStatus": "1", "isInBillingRetryPeriod": nil,
                    "expirationIntent": nil, "gracePeriodExpiresDate": nil, "priceIncreaseStatus": nil,
                    // The next period has its full price.
                    "offerType": nil, "offerDiscountType": nil,
                    "environment": environment == .sandbox ? "Sandbox" : "Production",
                    "recentSubscriptionStartDate": "\(row.originalPurchaseDate)",
                    "renewalDate": row.expiresDate.map { "\($0)" }, "currency": "USD", "appAccountToken": token,
                ])
            // Identifiers are strings, and dates and prices numbers.
            #expect(found.transaction["transactionId"] == .text(row.transactionID.description))
            #expect(found.transaction["purchaseDate"] == .number(row.purchaseDate))
            #expect(found.transaction["price"] == .number(0) && found.renewal["autoRenewStatus"] == .number(1))
            try await test.store.changeClock { try $0.advance(by: 8 * 86_400_000) }
            let rows = try await test.ledger()
            let renewed = try #require(try await test.snapshots(of: bought.transactionID).last)
            #expect(rows.count == 2 && rows.map(\.isRenewal) == [false, true])
            check(
                renewed.transaction,
                [
                    "transactionId": rows[1].transactionID.description, "transactionReason": "RENEWAL",
                    "price": "\(rows[1].price.milliunits)", "offerType": nil, "offerPeriod": nil,
                ])
            // What was announced is what was charged.
            #expect(ReadSnapshot.text(found.renewal["renewalPrice"]) == "\(rows[1].price.milliunits)")
        }
    }

    @Test(arguments: Backend.available) func theRenewalInformationIsOfTheNextPeriod(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            let account = try await test.account()
            let bought = try await test.buy("club.monthly", by: account)
            func last() async throws -> ReadSnapshot {
                try #require(try await test.snapshots(of: bought.transactionID).last)
            }
            let terms: [String: String?] = ["offerDiscountType": "PAY_AS_YOU_GO", "offerPeriod": "P2M"]
            try check(await last().transaction, ["offerType": "1", "price": "990"].merging(terms) { $1 })
            try check(await last().renewal, ["offerType": "1", "renewalPrice": "990"].merging(terms) { $1 })
            try await test.store.changeClock { try $0.advance(months: 1) }
            try check(await last().transaction, ["offerType": "1", "price": "990"].merging(terms) { $1 })
            try check(await last().renewal, ["offerType": nil, "renewalPrice": "5990", "offerPeriod": nil])
            _ = try await test.customCode("HALF")
            try await test.redeem("HALF", by: account)
            let half: [String: String?] = ["offerType": "3", "offerIdentifier": "Half"].merging(terms) { $1 }
            #expect(try await last().words == "OFFER_REDEEMED")
            try check(await last().transaction, ["offerType": "1", "offerIdentifier": nil])
            try check(await last().renewal, half.merging(["renewalPrice": "2990"]) { $1 })
            try await test.store.changeClock { try $0.advance(months: 1) }
            try check(await last().transaction, half.merging(["price": "2990"]) { $1 })
            // Auto-renew is off: nothing will be charged.
            try await test.cancelSubscriptions(of: account)
            try check(await last().renewal, ["offerType": nil, "renewalPrice": nil, "autoRenewStatus": "0"])
            try await test.store.changeClock { try $0.advance(months: 1) }
            #expect(try await last().words == "EXPIRED/VOLUNTARY")
            #expect(try await last().status == 2)
            try check(
                await last().renewal,
                [
                    "expirationIntent": "1", "isInBillingRetryPeriod": "false",
                    // The preferred one comes first.
                    "eligibleWinBackOfferIds": "loyal, return",
                ])
            // A gap of more than ten minutes begins a new run in the sandbox.
            try await test.store.changeClock { try $0.advance(by: 601_000) }
            try await test.buy("club.monthly", by: account)
            let resubscribed = try await last()
            #expect(resubscribed.words == "SUBSCRIBED/RESUBSCRIBE")
            let row = try #require(try await test.ledger().last)
            check(
                resubscribed.renewal,
                [
                    "recentSubscriptionStartDate": "\(row.purchaseDate)", "eligibleWinBackOfferIds": nil,
                    "expirationIntent": nil, "isInBillingRetryPeriod": nil,
                ])
            // After a move, the price is that of the account's storefront, as the renewal charges it.
            _ = try await test.store.accounts.change(account.accountID, AccountChange(storefront: "JPN"))
            for isOn in [false, true] {
                _ = try await test.store.setAutoRenew(isOn, of: bought.transactionID)
            }
            let moved = try await last()
            #expect(ReadSnapshot.text(moved.renewal["currency"]) == "JPY")
            try await test.store.changeClock { try $0.advance(months: 1) }
            let renewed = try await last()
            #expect(renewed.words == "DID_RENEW")
            check(
                renewed.transaction,
                ["currency": "JPY", "price": ReadSnapshot.text(moved.renewal["renewalPrice"])])
        }
    }

    @Test(arguments: Backend.available) func `an approval after a move states the renewal's price where the account is`(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let request = test.request("gym.monthly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            _ = try await test.store.accounts.change(account.accountID, AccountChange(storefront: "JPN"))
            let bought = try #require(try await test.store.approve(request.idempotencyKey).transaction)
            let sold = try #require(try await test.snapshots(of: bought.transactionID).last)
            #expect(ReadSnapshot.text(sold.transaction["currency"]) == "USD")
            #expect(ReadSnapshot.text(sold.renewal["currency"]) == "JPY")
        }
    }

    @Test(arguments: Backend.available) func refundsStateWhatWasGivenBack(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let bought = try await test.buy("gym.monthly", by: account)
            try await test.store.changeClock { try $0.advance(by: 31 * 86_400_000) }
            func refund() async throws -> ReadSnapshot {
                try #require(try await test.snapshots(of: bought.transactionID).last { $0.words == "REFUND" })
            }
            _ = try await test.store.refund(bought.transactionID, reason: .app)
            let earlier = try await refund()
            #expect(earlier.status == 1)
            check(
                earlier.transaction,
                [
                    "transactionId": bought.transactionID.description, "revocationReason": "1",
                    "revocationType": "REFUND_FULL", "revocationPercentage": nil,
                    "revocationDate": "\(test.store.clock.milliseconds)",
                ])
            let last = try #require(try await test.ledger().last)
            _ = try await test.store.refund(last.transactionID, reason: .other, share: .prorated)
            let prorated = try await refund()
            let given = try #require(try await test.ledger().last).refunded
            #expect(prorated.status == 5 && given > 0 && given < last.price.milliunits)
            check(
                prorated.transaction,
                [
                    "transactionId": last.transactionID.description, "revocationReason": "0",
                    "revocationType": "REFUND_PRORATED",
                    "revocationPercentage": "\(given * 100_000 / last.price.milliunits)",
                ])
            _ = try await test.store.reverseRefund(last.transactionID)
            let reversed = try #require(try await test.snapshots(of: bought.transactionID).last)
            #expect(reversed.words == "REFUND_REVERSED" && reversed.status == 1)
            check(reversed.transaction, ["revocationDate": nil, "revocationType": nil])
        }
    }

    @Test(arguments: Backend.available) func membersHaveTheirOwn(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            _ = try await home.test.buy("gym.monthly", by: home.anna)
            let share = try await home.shared(home.ben)
            try await home.advance(days: 31)
            var all = try await home.test.snapshots(of: share.originalTransactionID)
            #expect(all.map(\.words) == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"])
            for snapshot in all {
                check(
                    snapshot.transaction,
                    [
                        "originalTransactionId": share.originalTransactionID.description,
                        "inAppOwnershipType": "FAMILY_SHARED", "price": "0",
                    ])
                check(
                    snapshot.renewal,
                    [
                        "originalTransactionId": share.originalTransactionID.description, "autoRenewStatus": "1",
                        "renewalPrice": nil,
                    ])
            }
            let periods = try await home.ledger(home.ben)
            #expect(
                all.map { ReadSnapshot.text($0.transaction["transactionId"]) }
                    == periods.map(\.transactionID.description))
            _ = try await home.store.removeFromFamily(home.ben)
            all = try await home.test.snapshots(of: share.originalTransactionID)
            let revoked = try #require(all.last)
            #expect(revoked.words == "REVOKE" && revoked.status == 5)
            check(revoked.transaction, ["revocationType": "FAMILY_REVOKE", "revocationReason": "0"])
            check(revoked.renewal, ["autoRenewStatus": "0"])
        }
    }

    @Test(arguments: Backend.available) func theFeedIsInOrderAndInPages(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            for number in 0..<3 { try await test.buy("gym.monthly", by: test.account("ape\(number)@example.com")) }
            try await test.store.changeClock { try $0.advance(months: 2) }
            let all = try await test.store.newsFeed()
            #expect(all.count == 9 && all.map(\.number) == all.map(\.number).sorted())
            var pages: [SubscriptionFeedItem] = []
            while true {
                let page = try await test.store.newsFeed(after: pages.last?.number ?? 0, limit: 4)
                if page.isEmpty { break }
                pages += page
            }
            #expect(pages == all)
        }
    }

    @Test(arguments: Backend.available) func rowsOfEarlierVersionsAreKept(_ backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            let migrations = StoreSchema.migrations.prefix { $0.name != "snapshots of news" }
            let before = try await Database.open(location, migrations: Array(migrations), logger: .silent)
            try await before.write { connection in
                for (id, start, offer) in [(1, 0, "'trial'"), (2, 7, "NULL"), (3, 20, "NULL")] {
                    try connection.execute(
                        """
                        INSERT INTO transactions (account_id, transaction_id, original_transaction_id, bundle_id,
                            product_id, item_id, kind, quantity, price, currency, storefront, purchase_date,
                            original_purchase_date, expires_date, offer)
                        VALUES ('a', \(id), 1, 'com.example.app', 'monthly', 1, 'autoRenewableSubscription', 1, 990,
                            'USD', 'USA', \(start), 0, \(start + 7), \(offer))
                        """)
                }
                try connection.execute(
                    """
                    INSERT INTO subscription_news (number, original_transaction_id, type, date, transaction_id)
                    VALUES (5, 1, 'DID_RENEW', 7, 2)
                    """)
            }
            await before.close()
            let after = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
            let rows = try await after.read { try Transactions.lasting(of: "a", in: "com.example.app", $0) }
            #expect(rows.map(\.isRenewal) == [false, true, false])
            #expect(rows.map(\.offerTerms?.paymentMode) == [.free, nil, nil])
            let feed = try await after.read { try SubscriptionFeed.page(after: 0, limit: 10, $0) }
            #expect(feed.map(\.number) == [5] && feed.map(\.snapshot) == [nil])
            await after.close()
        }
    }
}
