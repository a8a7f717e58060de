import Database
import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// What the merchant asks a store's API, and does with the answers.
@Suite(.timeLimit(.minutes(1))) struct StoreAPITests {
    private static let day: Int64 = 86_400_000
    private static let month: Int64 = 30 * day

    private func json(_ object: [String: Any]) throws -> [UInt8] {
        [UInt8](try JSONSerialization.data(withJSONObject: object))
    }

    private func info(
        _ shop: TestMerchant, _ fields: [String: Any], _ environment: StoreEnvironment = .sandbox
    ) throws -> [UInt8] {
        try json([
            "signedTransactionInfo": String(decoding: try shop.sign(fields, environment: environment), as: UTF8.self)
        ])
    }

    /// The fields of a period of the subscription "1".
    private func period(
        _ shop: TestMerchant, _ number: Int, from start: Int64, _ more: [String: Any] = [:]
    ) -> [String: Any] {
        let fields: [String: Any] = [
            "originalTransactionId": "1", "webOrderLineItemId": String(number), "type": "Auto-Renewable Subscription",
            "purchaseDate": start, "expiresDate": start + Self.month,
        ]
        return shop.transaction("monthly", String(number), fields.merging(more) { $1 })
    }

    /// An answer of Get All Subscription Statuses.
    private func statuses(
        _ shop: TestMerchant, _ status: Int, _ transaction: [String: Any], willRenew: Int = 1,
        _ more: [String: Any] = [:]
    ) throws -> [UInt8] {
        let renewal: [String: Any] = [
            "originalTransactionId": "1", "environment": "Sandbox", "signedDate": shop.clock.milliseconds,
            "autoRenewProductId": "monthly", "autoRenewStatus": willRenew,
        ]
        let item: [String: Any] = [
            "originalTransactionId": "1", "status": status,
            "signedTransactionInfo": String(decoding: try shop.sign(transaction), as: UTF8.self),
            "signedRenewalInfo": String(decoding: try shop.sign(renewal.merging(more) { $1 }), as: UTF8.self),
        ]
        return try json([
            "environment": "Sandbox", "bundleId": "com.example.books",
            "data": [["subscriptionGroupIdentifier": "21", "lastTransactions": [item]]],
        ])
    }

    /// Runs a test over a merchant with an API.
    private func with(
        _ backend: Backend,
        _ change: (inout MerchantPolicy) -> Void = { _ in },
        _ body: (TestMerchant, ScriptedStoreAPI) async throws -> Void
    ) async throws {
        let api = ScriptedStoreAPI()
        var policy = MerchantPolicy(environments: [.production, .sandbox])
        change(&policy)
        try await TestMerchant.with(backend, policy: policy, storeAPI: api) { try await body($0, api) }
    }

    // MARK: Redemption by identifier

    @Test(arguments: Backend.available) func anIdentifierIsRedeemedOnce(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let bought = try info(shop, shop.transaction("coins", "7"))
            let paid = try info(shop, shop.transaction("coins", "8", environment: "Production"), .production)
            api.answer { sent in
                switch (sent.request, sent.environment) {
                case (.transaction("7"), .sandbox): return bought
                case (.transaction("8"), .production): return paid
                default: throw StoreAPIError(.unknownTransaction, "HTTP 404")
                }
            }
            for _ in 0..<2 {
                let answer = try await shop.merchant.redeem(transactionID: "7", for: "ann")
                #expect(answer.redeemed.map(\.environment) == [.sandbox])
                #expect(try await shop.gems("ann", in: .sandbox) == 100)
            }
            #expect(api.sent.prefix(2).map(\.environment) == [.production, .sandbox])
            #expect(api.sent.allSatisfy { $0.app == "com.example.books" })
            _ = try await shop.merchant.redeem(transactionID: "8", in: "com.example.books", for: "ann")
            #expect(try await shop.gems("ann", in: .production) == 100)
            let codes = [("7", "bob"), ("9", "ann"), ("../1", "ann"), ("", "ann")]
            let expected: [MerchantErrorCode] = [
                .alreadyRedeemed, .unknownTransaction, .invalidRequest, .invalidRequest,
            ]
            for ((id, user), code) in zip(codes, expected) {
                #expect(
                    try await shop.code { _ = try await shop.merchant.redeem(transactionID: id, for: UserID(user)) }
                        == code)
            }
            #expect(
                try await shop.code {
                    _ = try await shop.merchant.redeem(transactionID: "7", in: "com.example.other", for: "ann")
                } == .wrongApp)
            for (failure, code) in [
                (StoreAPIError.Code.unavailable, MerchantErrorCode.storeUnavailable), (.noKey, .noStoreKey),
                (.unauthorized, .noStoreKey), (.malformedAnswer, .storeUnavailable),
            ] {
                api.fail(failure)
                #expect(
                    try await shop.code { _ = try await shop.merchant.redeem(transactionID: "7", for: "ann") } == code)
            }
            // Production has no such transaction, which is a guess although the sandbox is not reached.
            for (failure, code) in [
                (StoreAPIError.Code.unavailable, MerchantErrorCode.storeUnavailable), (.unauthorized, .noStoreKey),
                (.unknownTransaction, .unknownTransaction),
            ] {
                api.answer { throw StoreAPIError($0.environment == .production ? .unknownTransaction : failure, "") }
                let error = await #expect(throws: MerchantError.self) {
                    try await shop.merchant.redeem(transactionID: "7", for: "ann")
                }
                #expect(error?.code == code && error?.isUnknownTransaction == true)
            }
            api.fail(.unavailable)
            let error = await #expect(throws: MerchantError.self) {
                try await shop.merchant.redeem(transactionID: "7", for: "ann")
            }
            #expect(error?.isUnknownTransaction == false)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available)
    func `an identifier repeats the answer to every user who has redeemed the purchase`(_ backend: Backend) async throws
    {
        try await with(backend) {
            $0.conflict = .family(members: 2)
        } _: { shop, api in
            let pro = shop.transaction("pro", "7", ["type": "Non-Consumable"])
            let month = period(shop, 1, from: shop.clock.milliseconds)
            let (forever, passing) = (try info(shop, pro), try info(shop, month))
            let status = try statuses(shop, 1, month)
            api.answer { sent in
                switch (sent.request, sent.environment) {
                case (.transaction("7"), .sandbox): return forever
                case (.transaction("1"), .sandbox): return passing
                case (.statuses, .sandbox): return status
                default: throw StoreAPIError(.unknownTransaction, "HTTP 404")
                }
            }
            for user in ["ann", "bob"] as [UserID] {
                for fields in [pro, month] {
                    _ = try await shop.merchant.redeem(.signedTransaction(try shop.sign(fields)), for: user)
                }
            }
            for (id, isOver) in [("7", false), ("1", false), ("1", true)] {
                if isOver { shop.clock.milliseconds += Self.month }
                for user in ["ann", "bob"] as [UserID] {
                    let answer = try await shop.merchant.redeem(transactionID: id, for: user)
                    #expect(answer.redeemed.map(\.transactionID) == [id], "\(user)")
                }
                // Who has only guessed the identifier gets nothing.
                #expect(
                    try await shop.code { _ = try await shop.merchant.redeem(transactionID: id, for: "cid") }
                        == (isOver ? .expired : .alreadyRedeemed))
            }
            #expect(try await shop.rights("cid") == [:])
            #expect(try await shop.findings() == [])
        }
    }

    @Test func withoutAClientThereIsNoKey() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            #expect(
                try await shop.code { _ = try await shop.merchant.redeem(transactionID: "7", for: "ann") }
                    == .noStoreKey)
            #expect(try await shop.code { _ = try await shop.merchant.sweep() } == .noStoreKey)
        }
    }

    /// Whoever answers in the store's place can refuse, and can grant nothing.
    @Test func hostileAnswersGrantNothing() async throws {
        try await with(.sqlite) { shop, api in
            var forged = try info(shop, shop.transaction("coins", "7"))
            // The signature is the end of the text.
            let (place, letter) = (forged.count - 6, UInt8(ascii: "A"))
            forged[place] = forged[place] == letter ? letter + 1 : letter
            let other = try info(shop, shop.transaction("coins", "8"))
            let foreign = try info(shop, shop.transaction("coins", "7", ["bundleId": "com.example.other"]))
            let elsewhere = try info(shop, shop.transaction("coins", "7", environment: "Production"), .production)
            let answers: [([UInt8], MerchantErrorCode)] = [
                (forged, .notGenuine), (other, .notGenuine), (foreign, .wrongApp), (elsewhere, .notGenuine),
                (Array("{}".utf8), .storeUnavailable), (Array("<html>".utf8), .storeUnavailable),
            ]
            for (body, code) in answers {
                api.answer { sent in
                    guard sent.environment == .sandbox else { throw StoreAPIError(.unknownTransaction, "HTTP 404") }
                    return body
                }
                let refused = try await shop.code {
                    _ = try await shop.merchant.redeem(transactionID: "7", for: "ann")
                }
                #expect(refused == code)
            }
            #expect(try await shop.gems("ann", in: .sandbox) == 0)
        }
    }

    @Test(arguments: Backend.available) func aFormerPeriodLeadsToTheNewest(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let start = shop.clock.milliseconds
            shop.clock.milliseconds += Self.month + Self.day
            let former = try info(shop, period(shop, 1, from: start))
            let newest = try statuses(shop, 1, period(shop, 2, from: start + Self.month), willRenew: 0)
            api.answer { sent in
                guard sent.environment == .sandbox else { throw StoreAPIError(.unknownTransaction, "HTTP 404") }
                if case .statuses = sent.request { return newest }
                return former
            }
            let answer = try await shop.merchant.redeem(transactionID: "1", for: "ann")
            #expect(answer.redeemed.map(\.transactionID) == ["2"])
            #expect(answer.refused.map(\.code) == [.expired])
            let club = try await shop.merchant.entitlements(of: "ann").entitlements.first {
                $0.entitlement?.rawValue == "club"
            }
            #expect(club?.state == .active && club?.willRenew == false)
        }
    }

    // MARK: Sweep

    @Test(arguments: Backend.available) func aSweepRepairsWhatWasMissed(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let start = shop.clock.milliseconds
            let first = period(shop, 1, from: start)
            _ = try await shop.merchant.redeem(.signedTransaction(try shop.sign(first)), for: "ann")
            #expect(try await shop.merchant.sweep().asked == 0)

            // The renewal was not reported.
            shop.clock.milliseconds = start + Self.month + Subscription.reportDelay
            #expect(try await shop.rights("ann")["club"] == .expired)
            let second = period(shop, 2, from: start + Self.month)
            var answer = try statuses(shop, 1, second)
            api.answer { [answer] _ in answer }
            #expect(try await shop.merchant.sweep() == SweepReport(asked: 1, changed: 1, failed: 0))
            #expect(api.sent.map(\.request) == [.statuses("1")] && api.sent.map(\.environment) == [.sandbox])
            #expect(try await shop.rights("ann")["club"] == .active)
            #expect(try await shop.gems("ann", in: .sandbox) == 20)
            #expect(try await shop.merchant.sweep().asked == 0)

            // A refund was not reported: a week of silence.
            shop.clock.milliseconds += Subscription.longestSilence
            let refunded = second.merging([
                "revocationDate": shop.clock.milliseconds, "signedDate": shop.clock.milliseconds,
            ]) { $1 }
            answer = try statuses(shop, 5, refunded)
            api.answer { [answer] _ in answer }
            #expect(try await shop.merchant.sweep() == SweepReport(asked: 1, changed: 1, failed: 0))
            #expect(try await shop.rights("ann")["club"] == .revoked)
            #expect(try await shop.gems("ann", in: .sandbox) == 10)

            // Nor was its reversal.
            shop.clock.milliseconds += Subscription.longestSilence
            answer = try statuses(shop, 1, second.merging(["signedDate": shop.clock.milliseconds]) { $1 })
            api.answer { [answer] _ in answer }
            #expect(try await shop.merchant.sweep().changed == 1)
            #expect(try await shop.rights("ann")["club"] == .active)
            #expect(try await shop.gems("ann", in: .sandbox) == 20)

            // Nor the grace period, nor the end.
            let end = start + 2 * Self.month
            shop.clock.milliseconds = end + Subscription.reportDelay
            let grace = ["gracePeriodExpiresDate": end + 16 * Self.day]
            answer = try statuses(shop, 4, second, grace)
            api.answer { [answer] _ in answer }
            #expect(try await shop.merchant.sweep().changed == 1)
            #expect(try await shop.rights("ann")["club"] == .grace)
            shop.clock.milliseconds += Subscription.retryPause
            answer = try statuses(shop, 2, second, willRenew: 0, grace)
            api.answer { [answer] _ in answer }
            #expect(try await shop.merchant.sweep().changed == 1)
            #expect(try await shop.rights("ann")["club"] == .expired)
            // It is over, and nothing more is asked.
            shop.clock.milliseconds += 365 * Self.day
            #expect(try await shop.merchant.sweep().asked == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available)
    func `a subscription is asked about again soon after a temporary failure of the merchant`(_ backend: Backend)
        async throws
    {
        try await with(backend) { shop, api in
            /// Sets the kind of a product as a newer program on the same database does.
            func setKind(_ kind: String) async throws {
                try await shop.database.write { connection in
                    try connection.execute("UPDATE products SET kind = $1 WHERE product_id = 'monthly'", [kind])
                    try connection.execute("UPDATE product_revision SET revision = revision + 1")
                }
            }
            let start = shop.clock.milliseconds
            _ = try await shop.merchant.redeem(
                .signedTransaction(try shop.sign(period(shop, 1, from: start))), for: "ann")
            let due = start + Subscription.longestSilence
            shop.clock.milliseconds = due
            let answer = try statuses(shop, 1, period(shop, 1, from: start))
            api.answer { _ in answer }
            try await setKind("newer")
            let minute: Int64 = 60_000
            for (late, pause) in [(0, minute), (minute, minute), (2 * minute, 2 * minute), (Self.day, 60 * minute)] {
                shop.clock.milliseconds = due + late
                #expect(try await shop.merchant.sweep() == SweepReport(asked: 1, changed: 0, failed: 1))
                shop.clock.milliseconds += pause - 1
                #expect(try await shop.merchant.sweep().asked == 0)
            }
            // One that is not due, about which an operator asks, waits as long.
            let hour = 60 * minute
            shop.clock.milliseconds = due - hour
            #expect(try await shop.merchant.sweepAll() == 1)
            #expect(try await shop.merchant.sweep().failed == 1)
            shop.clock.milliseconds += hour - 1
            #expect(try await shop.merchant.sweep().asked == 0)
            try await setKind(ProductKind.autoRenewableSubscription.rawValue)
            shop.clock.milliseconds += 1
            let round = try await shop.merchant.sweep()
            #expect(round.asked == 1 && round.failed == 0)
        }
    }

    @Test(arguments: Backend.available)
    func `a subscription is asked about again soon after an error of the database`(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let start = shop.clock.milliseconds
            _ = try await shop.merchant.redeem(
                .signedTransaction(try shop.sign(period(shop, 1, from: start))), for: "ann")
            let due = start + Subscription.longestSilence
            shop.clock.milliseconds = due
            let answer = try statuses(shop, 1, period(shop, 1, from: start))
            api.answer { _ in answer }
            try await shop.database.write { try $0.execute("ALTER TABLE redemptions RENAME TO away") }
            await #expect(throws: DatabaseError.self) { try await shop.merchant.sweep() }
            try await shop.database.write { try $0.execute("ALTER TABLE away RENAME TO redemptions") }
            shop.clock.milliseconds = due + Merchant.sweepPause - 1
            #expect(try await shop.merchant.sweep().asked == 0)
            shop.clock.milliseconds += 1
            let round = try await shop.merchant.sweep()
            #expect(round.asked == 1 && round.failed == 0)
        }
    }

    @Test(arguments: Backend.available) func aSweepIsBounded(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let start = shop.clock.milliseconds
            for number in 1...3 {
                _ = try await shop.redeem(
                    shop.purchase("monthly", number, expiresIn: Self.month, token: nil, environment: .sandbox),
                    for: "ann")
            }
            shop.clock.milliseconds = start + Self.month + Self.day
            // An unavailable store is asked once, and all wait.
            api.fail(.unavailable, retryAfter: 120)
            #expect(try await shop.merchant.sweep() == SweepReport(asked: 1, changed: 0, failed: 1))
            api.fail(.unknownTransaction)
            #expect(try await shop.merchant.sweep().asked == 0)
            shop.clock.milliseconds += 120_000
            #expect(try await shop.merchant.sweep(limit: 1) == SweepReport(asked: 1, changed: 0, failed: 1))
            #expect(try await shop.merchant.sweep() == SweepReport(asked: 2, changed: 0, failed: 2))
            #expect(try await shop.merchant.sweep().asked == 0)
            #expect(try await shop.merchant.sweepAll() == 3)
            #expect(try await shop.merchant.sweep().asked == 3)
        }
    }

    @Test(arguments: Backend.available)
    func `subscriptions are made due once in any collation`(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let (pages, due) = try await shop.database.write { connection in
                if backend == .postgresql {
                    // The root collation of Unicode compares letters before their case.
                    try connection.execute(
                        #"ALTER TABLE subscriptions ALTER COLUMN subscription_key TYPE TEXT COLLATE "und-x-icu""#)
                }
                for app in ["a", "B", "c", "D"] {
                    try connection.execute(
                        """
                        INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at,
                            status_signed_at)
                        VALUES ($1, 'ann', 'monthly', 1, 2, 1)
                        """, ["apple/P/com.example.\(app)/1"])
                }
                var found: [[String]] = []
                repeat {
                    let last = found.last?.last ?? ""
                    found.append(try SubscriptionRow.makeDue(after: last, limit: 2, connection))
                } while found.last?.isEmpty == false && found.count < 5
                return (found, try connection.query("SELECT 1 FROM subscriptions WHERE ask_after = 0").count)
            }
            #expect(pages.map(\.count) == [2, 2, 0] && Set(pages.joined()).count == 4 && due == 4, "\(pages)")
        }
    }
}
