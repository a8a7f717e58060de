import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Notifications as a store signs them, from the JWS to the books. No app sends anything.
@Suite(.timeLimit(.minutes(1))) struct SignedNotificationTests {
    private static let month: Int64 = 2_592_000_000

    /// The fields of a period of the subscription "1", which names its owner.
    private func period(
        _ shop: TestMerchant, _ product: String, _ number: Int, from start: Int64, to end: Int64,
        _ more: [String: Any] = [:]
    ) -> [String: Any] {
        let fields: [String: Any] = [
            "originalTransactionId": "1", "webOrderLineItemId": String(number), "type": "Auto-Renewable Subscription",
            "purchaseDate": start, "expiresDate": end, "appAccountToken": AccountToken.token(of: "ann"),
        ]
        return shop.transaction(product, String(number), fields.merging(more) { $1 })
    }

    /// The fields of the subscription's renewal information.
    private func renewal(_ shop: TestMerchant, _ more: [String: Any] = [:]) -> [String: Any] {
        let fields: [String: Any] = [
            "originalTransactionId": "1", "environment": "Sandbox", "signedDate": shop.clock.milliseconds,
            "autoRenewProductId": "monthly", "autoRenewStatus": 1,
        ]
        return fields.merging(more) { $1 }
    }

    /// Receives a notification twice. A second passes.
    private func send(
        _ shop: TestMerchant, _ type: String, _ subtype: String? = nil, of transaction: [String: Any],
        _ renewal: [String: Any]? = nil
    ) async throws {
        let payload = try shop.notification(
            type, transaction, id: UUID().uuidString, renewal: renewal, subtype: subtype)
        #expect(try await shop.merchant.receive(signedPayload: payload) == .applied, "\(type)")
        #expect(try await shop.merchant.receive(signedPayload: payload) == .duplicate, "\(type)")
        shop.clock.milliseconds += 1_000
    }

    private func club(_ shop: TestMerchant) async throws -> Entitlement {
        let list = try await shop.merchant.entitlements(of: "ann").entitlements
        return try #require(list.first { $0.entitlement?.rawValue == "club" })
    }

    // MARK: Each type

    @Test(arguments: Backend.available) func theBooksFollowASubscription(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.merchant.describe("ann")
            let start = shop.clock.milliseconds
            var end = start + Self.month
            var now = period(shop, "monthly", 1, from: start, to: end)
            try await send(shop, "SUBSCRIBED", "INITIAL_BUY", of: now, renewal(shop))
            #expect(try await club(shop).state == .active)
            #expect(try await shop.gems("ann", in: .sandbox) == 10)
            #expect(try await shop.gems("ann", in: .production) == 0)

            // What is said of the next period.
            for (subtype, status) in [("AUTO_RENEW_DISABLED", 0), ("AUTO_RENEW_ENABLED", 1)] {
                try await send(
                    shop, "DID_CHANGE_RENEWAL_STATUS", subtype, of: now, renewal(shop, ["autoRenewStatus": status]))
                #expect(try await club(shop).willRenew == (status == 1))
            }
            try await send(
                shop, "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", of: now,
                renewal(shop, ["autoRenewProductId": "magazine"]))
            #expect(try await club(shop).renewsAs == "magazine")
            try await send(
                shop, "PRICE_INCREASE", "PENDING", of: now,
                renewal(shop, ["autoRenewStatus": 0, "priceIncreaseStatus": 0]))
            #expect(try await club(shop).renewsAs == "monthly")
            #expect(try await club(shop).willRenew == false)
            try await send(
                shop, "PRICE_INCREASE", "ACCEPTED", of: now, renewal(shop, ["priceIncreaseStatus": 1]))
            #expect(try await club(shop).willRenew == true)
            end += 10_000
            now = period(shop, "monthly", 1, from: start, to: end)
            try await send(shop, "RENEWAL_EXTENDED", of: now, renewal(shop))
            #expect(try await club(shop).expiresAt == end)

            // A payment fails, and is made up for.
            shop.clock.milliseconds = end
            let grace = end + 60_000
            try await send(
                shop, "DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: now,
                renewal(shop, ["gracePeriodExpiresDate": grace, "isInBillingRetryPeriod": true]))
            #expect(try await club(shop).state == .grace)
            #expect(try await club(shop).graceUntil == grace)
            shop.clock.milliseconds = grace
            try await send(
                shop, "GRACE_PERIOD_EXPIRED", of: now, renewal(shop, ["gracePeriodExpiresDate": grace]))
            #expect(try await club(shop).state == .expired)
            let second = shop.clock.milliseconds
            now = period(shop, "monthly", 2, from: second, to: second + Self.month)
            try await send(shop, "DID_RENEW", "BILLING_RECOVERY", of: now, renewal(shop))
            #expect(try await club(shop).state == .active)
            #expect(try await shop.gems("ann", in: .sandbox) == 20)

            // Another plan begins at once. The store refunds the rest of the former.
            let third = shop.clock.milliseconds
            let gold = period(shop, "gold", 3, from: third, to: third + Self.month)
            try await send(shop, "DID_CHANGE_RENEWAL_PREF", "UPGRADE", of: gold, renewal(shop))
            #expect(try await shop.rights("ann") == ["gold": .active, "club": .active])
            #expect(try await club(shop).productID == "gold")
            #expect(try await shop.gems("ann", in: .sandbox) == 10)
            for type in ["REFUND", "REFUND_REVERSED", "REVOKE"] {
                let state: Entitlement.State = type == "REFUND_REVERSED" ? .active : .revoked
                let revocation: [String: Any] = state == .active ? [:] : ["revocationDate": shop.clock.milliseconds]
                let changed = period(shop, "gold", 3, from: third, to: third + Self.month, revocation)
                try await send(shop, type, of: changed, renewal(shop))
                #expect(try await shop.rights("ann") == ["gold": state, "club": state], "\(type)")
            }

            // Bought again, with an offer for the next period, and left to end.
            let fourth = shop.clock.milliseconds
            now = period(shop, "monthly", 4, from: fourth, to: fourth + Self.month)
            try await send(shop, "SUBSCRIBED", "RESUBSCRIBE", of: now, renewal(shop))
            #expect(try await club(shop).state == .active)
            #expect(try await shop.gems("ann", in: .sandbox) == 20)
            try await send(shop, "OFFER_REDEEMED", of: now, renewal(shop, ["autoRenewProductId": "gold"]))
            #expect(try await club(shop).renewsAs == "gold")
            shop.clock.milliseconds = fourth + Self.month
            try await send(shop, "EXPIRED", "VOLUNTARY", of: now, renewal(shop, ["autoRenewStatus": 0]))
            #expect(try await club(shop).state == .expired)
            #expect(try await club(shop).willRenew == false)

            let coins = shop.transaction("coins", "9", ["appAccountToken": AccountToken.token(of: "ann")])
            try await send(shop, "ONE_TIME_CHARGE", of: coins)
            #expect(try await shop.gems("ann", in: .sandbox) == 120)
            #expect(try await shop.merchant.report(of: "ann").flags.isEmpty)
            #expect(try await shop.findings() == [])
        }
    }

    @Test func otherTypesAreRecordedAlone() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            _ = try await shop.merchant.describe("ann")
            let coins = shop.transaction("coins", "9", ["appAccountToken": AccountToken.token(of: "ann")])
            let types = [
                "REFUND_DECLINED", "CONSUMPTION_REQUEST", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "METADATA_UPDATE",
                "MIGRATION", "PRICE_CHANGE", "TEST", "SOMETHING_NEW", "refund",
            ]
            for type in types {
                let payload = try shop.notification(type, coins, id: type, subtype: "ANYTHING")
                #expect(try await shop.merchant.receive(signedPayload: payload) == .ignored, "\(type)")
                #expect(try await shop.merchant.receive(signedPayload: payload) == .duplicate, "\(type)")
            }
            for (type, subtype) in [
                ("REFUND", "SEATS"), ("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY"),
                ("DID_CHANGE_RENEWAL_PREF", "DECREASE_QUANTITY"),
            ] {
                let payload = try shop.notification(type, coins, id: type + subtype, subtype: subtype)
                #expect(try await shop.merchant.receive(signedPayload: payload) == .ignored, "\(type)/\(subtype)")
            }
            #expect(try await shop.gems("ann", in: .sandbox) == 0)
            let list = try await shop.merchant.notifications().notifications.filter { $0.subtype == "ANYTHING" }
            #expect(Set(list.map(\.type)) == Set(types))
            #expect(list.allSatisfy { $0.outcome == .ignored && $0.subtype == "ANYTHING" && $0.transactionID == "9" })
        }
    }

    // MARK: Any order

    static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    /// A purchase, its refund and the refund's reversal, of a period and of coins.
    @Test(arguments: Backend.available, SignedNotificationTests.orders)
    func aReversedRefundLeavesThePurchaseInAnyOrder(_ backend: Backend, _ order: [Int]) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.merchant.describe("ann")
            let start = shop.clock.milliseconds
            let second = start + Self.month
            let first = period(shop, "monthly", 1, from: start, to: second)
            try await send(shop, "SUBSCRIBED", "INITIAL_BUY", of: first, renewal(shop))
            let token: [String: Any] = ["appAccountToken": AccountToken.token(of: "ann"), "purchaseDate": second]
            var payloads: [[[UInt8]]] = []
            for (index, types) in [
                ("DID_RENEW", "ONE_TIME_CHARGE"), ("REFUND", "REFUND"), ("REFUND_REVERSED", "REFUND_REVERSED"),
            ].enumerated() {
                shop.clock.milliseconds = second + Int64(index) * 1_000
                let revocation: [String: Any] = index == 1 ? ["revocationDate": shop.clock.milliseconds] : [:]
                let next = period(shop, "monthly", 2, from: second, to: second + Self.month, revocation)
                let coins = shop.transaction("coins", "9", token.merging(revocation) { $1 })
                payloads.append([
                    try shop.notification(types.0, next, id: "period-\(index)", renewal: renewal(shop)),
                    try shop.notification(types.1, coins, id: "coins-\(index)"),
                ])
            }
            shop.clock.milliseconds = second + 10_000
            for payload in (order + order).flatMap({ payloads[$0] }) {
                _ = try await shop.merchant.receive(signedPayload: payload)
            }
            #expect(try await club(shop).state == .active)
            #expect(try await club(shop).expiresAt == second + Self.month)
            #expect(try await shop.gems("ann", in: .sandbox) == 120)
            #expect(try await shop.merchant.report(of: "ann").flags.isEmpty)
            #expect(try await shop.findings() == [])
        }
    }

    /// Without a known owner, the purchase waits with what the store said of it.
    @Test(arguments: Backend.available, SignedNotificationTests.orders)
    func anUnclaimedPurchaseKeepsItsFacts(_ backend: Backend, _ order: [Int]) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            // The token of a user whom the merchant does not know.
            let first = period(shop, "monthly", 1, from: start, to: start + Self.month)
            let longer = period(shop, "monthly", 1, from: start, to: start + Self.month + 5_000)
            var payloads = [try shop.notification("SUBSCRIBED", first, id: "n-0", renewal: renewal(shop))]
            shop.clock.milliseconds += 1_000
            payloads.append(try shop.notification("RENEWAL_EXTENDED", longer, id: "n-1", renewal: renewal(shop)))
            shop.clock.milliseconds += 1_000
            payloads.append(
                try shop.notification(
                    "DID_CHANGE_RENEWAL_STATUS", longer, id: "n-2", renewal: renewal(shop, ["autoRenewStatus": 0]),
                    subtype: "AUTO_RENEW_DISABLED"))
            for index in order {
                #expect(try await shop.merchant.receive(signedPayload: payloads[index]) == .applied)
            }
            #expect(try await shop.rights("ann") == [:])
            _ = try await shop.merchant.redeem(.signedTransaction(try shop.sign(first)), for: "ann")
            #expect(try await club(shop).willRenew == false)
            #expect(try await club(shop).expiresAt == start + Self.month + 5_000)
            #expect(try await shop.gems("ann", in: .sandbox) == 10)
            #expect(try await shop.findings() == [])
        }
    }

    // MARK: Refusals

    @Test func whatIsNoNotificationOfThisMerchantIsRefused() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            let coins = shop.transaction("coins", "9")
            let good: [String: Any] = [
                "notificationType": "REFUND", "notificationUUID": "n-1", "signedDate": shop.clock.milliseconds,
            ]
            func signed(_ changes: [String: Any?], data: [String: Any] = [:]) throws -> [UInt8] {
                let part: [String: Any] = [
                    "bundleId": "com.example.books", "environment": "Sandbox",
                    "signedTransactionInfo": String(decoding: try shop.sign(coins), as: UTF8.self),
                ]
                var fields = good.merging(["data": part.merging(data) { $1 }]) { $1 }
                for (name, value) in changes { fields[name] = value }
                return try shop.sign(fields)
            }
            func forged(_ text: [UInt8]) -> [UInt8] {
                var forged = text
                forged[forged.count - 4] = forged[forged.count - 4] == 0x41 ? 0x42 : 0x41
                return forged
            }
            func inner(_ text: [UInt8]) throws -> [UInt8] {
                try signed([:], data: ["signedTransactionInfo": String(decoding: text, as: UTF8.self)])
            }
            let elsewhere = shop.transaction("coins", "9", environment: "Production")
            let other = shop.transaction("coins", "9", ["bundleId": "com.example.other"])
            let table: [(String, [UInt8], MerchantErrorCode)] = [
                ("empty", [], .malformedReceipt), ("no JWS", Array("a.b.c".utf8), .malformedReceipt),
                ("large", Array(repeating: 0x41, count: MerchantLimits.notification + 1), .tooLarge),
                ("forged", forged(try signed([:])), .notGenuine),
                ("no type", try signed(["notificationType": nil]), .malformedReceipt),
                ("an empty type", try signed(["notificationType": ""]), .malformedReceipt),
                ("a type with NUL", try signed(["notificationType": "REFUND\u{0}"]), .malformedReceipt),
                ("a number as type", try signed(["notificationType": 7]), .malformedReceipt),
                ("no identifier", try signed(["notificationUUID": nil]), .malformedReceipt),
                ("an empty identifier", try signed(["notificationUUID": ""]), .malformedReceipt),
                (
                    "a long identifier", try signed(["notificationUUID": String(repeating: "n", count: 129)]),
                    .malformedReceipt
                ),
                ("a long subtype", try signed(["subtype": String(repeating: "s", count: 129)]), .malformedReceipt),
                ("no date", try signed(["signedDate": nil]), .malformedReceipt),
                ("data that is no object", try signed(["data": "x"]), .malformedReceipt),
                ("another app", try signed([:], data: ["bundleId": "com.example.other"]), .wrongApp),
                ("an app in capitals", try signed([:], data: ["bundleId": "com.example.Books"]), .wrongApp),
                ("Xcode", try signed([:], data: ["environment": "Xcode"]), .wrongEnvironment),
                ("a forged transaction", try inner(forged(try shop.sign(coins))), .notGenuine),
                ("a transaction of production", try inner(try shop.sign(elsewhere)), .notGenuine),
                ("a transaction of another app", try inner(try shop.sign(other)), .wrongApp),
                ("a notification as transaction", try inner(try signed([:])), .malformedReceipt),
                (
                    "renewal information of production",
                    try signed(
                        [:],
                        data: [
                            "signedRenewalInfo": String(
                                decoding: try shop.sign([
                                    "originalTransactionId": "9", "environment": "Production",
                                    "signedDate": shop.clock.milliseconds,
                                ]), as: UTF8.self)
                        ]), .notGenuine
                ),
            ]
            for (name, payload, expected) in table {
                let code = try await shop.code { _ = try await shop.merchant.receive(signedPayload: payload) }
                #expect(code == expected, "\(name)")
            }
            #expect(try await shop.merchant.notifications().notifications == [])
            // None of them has used up the identifier. An empty subtype is none.
            #expect(try await shop.merchant.receive(signedPayload: try signed(["subtype": ""])) == .applied)
        }
    }

    @Test func productionStatesTheAppsNumber() async throws {
        try await TestMerchant.with(.sqlite, appIDs: [TestMerchant.bundleID: 7]) { shop async throws in
            func code(_ environment: String, _ number: Int?) async throws -> MerchantErrorCode? {
                var data: [String: Any] = ["bundleId": "com.example.books", "environment": environment]
                if let number { data["appAppleId"] = number }
                let payload = try shop.sign([
                    "notificationType": "TEST", "notificationUUID": UUID().uuidString,
                    "signedDate": shop.clock.milliseconds, "data": data,
                ])
                return try await shop.code { _ = try await shop.merchant.receive(signedPayload: payload) }
            }
            #expect(try await code("Production", 7) == nil)
            #expect(try await code("Production", 8) == .wrongApp)
            #expect(try await code("Production", nil) == .wrongApp)
            #expect(try await code("Sandbox", nil) == nil)
        }
    }

    // MARK: The list

    @Test(arguments: Backend.available) func notificationsAreListedAndKeptFor200Days(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            let coins = shop.transaction("coins", "9", ["originalTransactionId": "9"])
            let refund = try shop.notification("REFUND", coins, id: "n-0")
            #expect(try await shop.merchant.receive(signedPayload: refund) == .applied)
            for number in 1...4 {
                // Two of them at the same time.
                shop.clock.milliseconds = start + Int64(number / 2) * 1_000
                try await shop.merchant.apply(
                    VerifiedNotification(
                        notificationID: "n-\(number)", type: "TEST", subtype: nil, signedAt: start, purchase: nil,
                        renewal: nil))
            }
            var found: [StoreNotificationRecord] = []
            var next: String?
            repeat {
                let page = try await shop.merchant.notifications(before: next, limit: 2)
                #expect(page.notifications.count <= 2)
                found += page.notifications
                next = page.next
            } while next != nil && found.count < 10
            #expect(found.map(\.notificationID) == ["n-4", "n-3", "n-2", "n-1", "n-0"])
            #expect(
                found.last
                    == StoreNotificationRecord(
                        notificationID: "n-0", type: "REFUND", outcome: .applied, environment: .sandbox,
                        bundleID: TestMerchant.bundleID, transactionID: "9", originalTransactionID: "9",
                        signedAt: start, receivedAt: start))
            for before in ["", "n-4", "-1-n", "1-\u{0}"] {
                await #expect(throws: MerchantError.self) { try await shop.merchant.notifications(before: before) }
            }
            shop.clock.milliseconds = start + Merchant.notificationsKeptFor
            #expect(try await shop.merchant.pruneNotifications() == 0)
            shop.clock.milliseconds += 1
            #expect(try await shop.merchant.pruneNotifications(limit: 1) == 1)
            #expect(try await shop.merchant.pruneNotifications(limit: 1) == 1)
            #expect(try await shop.merchant.pruneNotifications(limit: 1) == 0)
            let kept = try await shop.merchant.notifications()
            #expect(kept.notifications.map(\.notificationID) == ["n-4", "n-3", "n-2"] && kept.next == nil)
        }
    }

    @Test(arguments: Backend.available) func thoseOfAnEarlierProgramAreListed(_ backend: Backend) async throws {
        let earlier = Array(MerchantSchema.migrations.prefix { $0.name != "listed notifications" })
        try await backend.withDatabase(migrations: earlier) { database, location in
            try await database.write {
                try $0.execute(
                    """
                    INSERT INTO notifications (notification_id, type, subtype, signed_at, received_at)
                    VALUES ('n-1', 'DID_RENEW', NULL, 1, 2)
                    """)
            }
            let now = try await Database.open(location, migrations: MerchantSchema.migrations, logger: .silent)
            try await TemporaryDirectory.with { directory async throws in
                let merchant = Merchant(
                    database: now, blobs: try DirectoryBlobStore(folder: directory.url),
                    verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []),
                    policy: MerchantPolicy(), now: { 3 }, makeID: { UUID() })
                let list = try await merchant.notifications()
                #expect(
                    list.notifications == [
                        StoreNotificationRecord(notificationID: "n-1", type: "DID_RENEW", signedAt: 1, receivedAt: 2)
                    ])
            }
            await now.close()
        }
    }
}
