import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Requests for extensions", .timeLimit(.minutes(1))) struct ExtensionRequestTests {
    private typealias Scene = APIScene

    // MARK: One subscription

    @Test(arguments: Backend.available) func aRequestExtendsOnce(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let scene = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            let bought = try await scene.test.buy("gym.monthly", by: scene.test.account())
            let end = try #require(bought.expiresDate)
            let first = try await scene.extend(bought.transactionID)
            var period = try #require(try await scene.test.ledger().first)
            let answer = try scene.object(first)
            #expect(Set(answer.keys) == ["originalTransactionId", "webOrderLineItemId", "success", "effectiveDate"])
            #expect(answer["originalTransactionId"] as? String == bought.transactionID.description)
            #expect(answer["webOrderLineItemId"] as? String == period.webOrderLineItemID.map { "\($0)" })
            #expect(answer["success"] as? Bool == true)
            #expect(answer["effectiveDate"] as? Int64 == Scene.date(10, after: end))
            #expect(period.expiresDate == Scene.date(10, after: end))

            // Again, also with other days and after a restart, it has the first answer.
            let again = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            #expect(try await again.extend(bought.transactionID) == first)
            #expect(try await again.extend(bought.transactionID, Scene.body(days: "90")) == first)
            period = try #require(try await again.test.ledger().first)
            #expect(period.expiresDate == Scene.date(10, after: end))

            // A UUID is the same in upper and lower case. Unknown members do not matter.
            let upper = Scene.body(id: "\"F47AC10B-58CC-4372-A567-0E02B2C3D479\"", ", \"more\": [1, {}]")
            let second = try await again.extend(bought.transactionID, upper)
            #expect(
                try await again.extend(
                    bought.transactionID, Scene.body(id: "\"f47ac10b-58cc-4372-a567-0e02b2c3d479\"")) == second)
            await #expect(throws: APIError.extendedOften) {
                try await again.extend(bought.transactionID, Scene.body(id: "\"third\""))
            }
            #expect(
                try await again.news(bought.transactionID) == [
                    "SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "RENEWAL_EXTENDED",
                ])

            // The answer stays when the period is over, and nothing is extended.
            try await again.store.changeClock { try $0.advance(months: 2) }
            let ledger = try await again.test.ledger()
            #expect(ledger.count > 1 && ledger[0].expiresDate == ledger[1].purchaseDate)
            #expect(try await again.extend(bought.transactionID) == first)
            #expect(try await again.test.ledger() == ledger)
        }
    }

    @Test(arguments: Backend.available) func theSameRequestManyTimesAtOnceExtendsOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let bought = try await test.buy("gym.monthly", by: test.account())
            let (api, id) = (scene.api, bought.transactionID.description)
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { _ = try? await api.extend(id, Scene.body(), of: TestStore.bundleID) }
                }
            }
            #expect(try await scene.extensions(bought.transactionID) == 1)
            let end = try #require(bought.expiresDate)
            #expect(try await test.ledger().first?.expiresDate == Scene.date(10, after: end))
        }
    }

    @Test(arguments: Backend.available) func badBodiesHaveApplesErrors(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let id = try await test.buy("gym.monthly", by: test.account()).transactionID
            let long = "\"" + String(repeating: "a", count: 129) + "\""
            var bad: [(body: [UInt8], error: APIError)] = []
            for days in ["0", "91", "-1", "1.5", "1e1", "\"10\"", "null", "true", "99999999999999999999"] {
                bad.append((Scene.body(days: days), .invalidExtendByDays))
            }
            for reason in ["-1", "4", "\"1\"", "null", "1.0"] {
                bad.append((Scene.body(reason: reason), .invalidExtendReasonCode))
            }
            for id in ["\"\"", long, "7", "null", "\"a\\u0000b\"", "[\"first\"]"] {
                bad.append((Scene.body(id: id), .invalidRequestIdentifier))
            }
            for text in ["", "{", "[]", "null", "{} {}", "{\"extendByDays\": 1, \"extendByDays\": 2}"] {
                bad.append((Array(text.utf8), .badRequest))
            }
            bad.append((Array("{}".utf8), .invalidExtendByDays))
            for (body, error) in bad {
                let text = String(decoding: body, as: UTF8.self)
                await #expect(throws: error, "\(text)") { try await scene.extend(id, body) }
                await #expect(throws: error, "\(text)") { try await scene.extendAll(body) }
            }
            #expect(try await scene.extensions(id) == 0)
            let longest = "\"" + String(repeating: "a", count: 128) + "\""
            for (days, reason, key) in [("1", "0", longest), ("90", "3", "\"é\"")] {
                _ = try await scene.extend(id, Scene.body(days: days, reason: reason, id: key))
            }
            #expect(try await scene.extensions(id) == 2)
        }
    }

    @Test(arguments: Backend.available) func otherTransactionsHaveApplesErrors(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let account = try await test.account()
            let bought = try await test.buy("gym.monthly", by: account)
            let credits = try await test.buy("credits5", by: account)
            for bad in ["", "0", "-1", "abc", "12345678901234567890", "1 ", "9e9", "٣"] {
                await #expect(throws: APIError.invalidOriginalTransactionID, "\(bad)") {
                    try await scene.api.extend(bad, Scene.body(), of: TestStore.bundleID)
                }
            }
            for (id, app) in [
                ("7", TestStore.bundleID), ("1234567890123456789", TestStore.bundleID),
                (bought.transactionID.description, "com.example.other"),
            ] as [(String, BundleID)] {
                await #expect(throws: APIError.originalTransactionNotFound, "\(id)") {
                    try await scene.api.extend(id, Scene.body(), of: app)
                }
            }
            await #expect(throws: APIError.invalidOriginalTransactionID) {
                try await scene.extend(credits.transactionID)
            }
            try await test.store.changeClock { try $0.advance(months: 1) }
            let renewal = try #require(try await test.ledger().last)
            #expect(renewal.isRenewal)
            await #expect(throws: APIError.notOriginal) { try await scene.extend(renewal.transactionID) }
            // The original transaction extends the newest period.
            let answer = try scene.object(try await scene.extend(bought.transactionID))
            #expect(answer["webOrderLineItemId"] as? String == renewal.webOrderLineItemID.map { "\($0)" })
            let end = try #require(renewal.expiresDate)
            #expect(answer["effectiveDate"] as? Int64 == Scene.date(10, after: end))
        }
    }

    @Test(arguments: Backend.available) func subscriptionsInOtherStatesAreIneligible(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let free = try await test.buy("club.monthly", by: test.account("free@example.com")).transactionID
            let expired = try await test.buy("gym.monthly", by: test.account("expired@example.com")).transactionID
            let overdue = try await test.buy("gym.monthly", by: test.account("overdue@example.com")).transactionID
            let grace = try await test.buy("gym.monthly", by: test.account("grace@example.com")).transactionID
            let refunded = try await test.buy("gym.monthly", by: test.account("refunded@example.com")).transactionID
            test.clock.milliseconds += 86_400_000
            _ = try await test.store.expireNow(expired)
            #expect(try await test.store.failRenewal(overdue).state == .billingRetry)
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
            #expect(try await test.store.failRenewal(grace).state == .gracePeriod)
            _ = try await test.store.refund(refunded, reason: .other)
            for id in [free, expired, overdue, grace, refunded] {
                let before = try await scene.news(id)
                await #expect(throws: APIError.extensionIneligible, "\(before)") { try await scene.extend(id) }
                #expect(try await scene.news(id) == before)
            }
            // A refused request can be sent again.
            _ = try await test.store.recover(overdue)
            _ = try await scene.extend(overdue)
            #expect(try await scene.extensions(overdue) == 1)
        }
    }

    @Test(arguments: Backend.available) func membersOfAFamilyAreExtendedWithThePurchaser(_ backend: Backend)
        async throws
    {
        try await backend.withHousehold { home async throws in
            let scene = try await Scene(home.test)
            let bought = try await home.test.buy("gym.monthly", by: home.anna)
            try await home.test.buy("hats", by: home.anna)
            let shares = try await home.ledger(home.ben)
            let gym = try #require(shares.first { $0.productID == "gym.monthly" })
            let hats = try #require(shares.first { $0.productID == "hats" })
            await #expect(throws: APIError.familyExtensionIneligible) { try await scene.extend(gym.transactionID) }
            await #expect(throws: APIError.familyShared) { try await scene.extend(hats.transactionID) }
            _ = try await scene.extend(bought.transactionID)
            let end = Scene.date(10, after: try #require(bought.expiresDate))
            #expect(try await home.test.ledger().compactMap(\.expiresDate) == [end, end])
            // The members' rows have the products of the purchaser's.
            let products = try await home.test.ledger().map(\.productID)
            #expect(products.sorted() == ["gym.monthly", "gym.monthly", "hats", "hats"])
            #expect(products.filter { $0 == "gym.monthly" }.count == 2)
            #expect(try await scene.extensions(gym.transactionID) == 1)
            // All subscriptions: the member's is neither extended nor counted by itself.
            _ = try await scene.extendAll()
            try await home.store.settleSubscriptions()
            #expect(try await scene.status()["succeededCount"] as? Int == 1)
            #expect(try await scene.status()["failedCount"] as? Int == 0)
            let later = Scene.date(10, after: end)
            #expect(try await home.test.ledger().compactMap(\.expiresDate) == [later, later])
        }
    }

    // MARK: All subscriptions of a product

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func allSubscriptionsOfAProductAreExtendedAfterTheAnswer(
        _ backend: Backend, _ environment: StoreEnvironment
    ) async throws {
        try await backend.withStore(environment) { test async throws in
            let scene = try await Scene(test)
            let ape = try await test.buy("gym.monthly", by: test.account())
            let bob = try await test.buy("gym.monthly", by: test.account("bob@example.com", storefront: "JPN"))
            let often = try await test.buy("gym.monthly", by: test.account("often@example.com"))
            let other = try await test.buy("club.weekly", by: test.account("other@example.com"))
            for _ in 0..<2 { _ = try await test.store.extend(often.transactionID, days: 1) }
            let before = try await test.ledger()
            let answer = try scene.object(try await scene.extendAll())
            #expect(answer as? [String: String] == ["requestIdentifier": "first"])
            // The answer comes at once, and the work later.
            var status = try await scene.status()
            #expect(Set(status.keys) == ["requestIdentifier", "complete"] && status["complete"] as? Bool == false)
            #expect(try await test.ledger() == before)
            try await test.store.settleSubscriptions()
            let now = test.store.clock.milliseconds
            status = try await scene.status()
            #expect(status["requestIdentifier"] as? String == "first" && status["complete"] as? Bool == true)
            #expect(status["completeDate"] as? Int64 == now)
            #expect(status["succeededCount"] as? Int == 2 && status["failedCount"] as? Int == 1)
            let after = try await test.ledger()
            for (earlier, later) in zip(before, after) {
                let isExtended = [ape.transactionID, bob.transactionID].contains(later.transactionID)
                let end = try #require(earlier.expiresDate)
                #expect(later.expiresDate == (isExtended ? Scene.date(10, after: end) : end))
            }
            #expect(try await scene.news(ape.transactionID).last == "RENEWAL_EXTENDED")
            #expect(try await scene.news(often.transactionID).last == "RENEWAL_EXTENSION/FAILURE")
            #expect(try await scene.news(other.transactionID).count == 1)
            let summaries = try await scene.summaries()
            let summary = try #require(summaries.first)
            #expect(summaries.count == 1 && summary["requestIdentifier"] as? String == "first")
            #expect(summary["environment"] as? String == (environment == .sandbox ? "Sandbox" : "Production"))
            let appID = test.store.apps[TestStore.bundleID]?.appID
            #expect(summary["appAppleId"] as? Int64 == (environment == .sandbox ? nil : appID))
            #expect(summary["bundleId"] as? String == TestStore.bundleID.rawValue)
            #expect(summary["productId"] as? String == "gym.monthly")
            #expect(summary["succeededCount"] as? Int == 2 && summary["failedCount"] as? Int == 1)
            #expect(summary["storefrontCountryCodes"] == nil)
            #expect(try await test.store.newsFeed().last?.news.subtype == .summary)

            // Again it changes nothing.
            let feed = try await test.store.newsFeed()
            let again = try scene.object(try await scene.extendAll())
            #expect(again as? [String: String] == ["requestIdentifier": "first"])
            try await test.store.settleSubscriptions()
            #expect(try await test.ledger() == after)
            #expect(try await test.store.newsFeed() == feed)
            // The same identifier for another product is another request.
            _ = try await scene.extendAll(Scene.mass("\"club.weekly\""))
            try await test.store.settleSubscriptions()
            #expect(try await scene.summaries().map { $0["productId"] as? String } == ["gym.monthly", "club.weekly"])
        }
    }

    @Test(arguments: Backend.available) func storefrontsLimitTheExtension(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let ape = try await test.buy("gym.monthly", by: test.account())
            let bob = try await test.buy("gym.monthly", by: test.account("bob@example.com", storefront: "JPN"))
            let eve = try await test.buy("gym.monthly", by: test.account("eve@example.com", storefront: "FRA"))
            _ = try await scene.extendAll(Scene.mass(storefronts: "[\"JPN\", \"FRA\", \"JPN\"]"))
            try await test.store.settleSubscriptions()
            #expect(try await scene.status()["succeededCount"] as? Int == 2)
            #expect(try await scene.status()["failedCount"] as? Int == 0)
            var counts: [Int] = []
            for id in [ape, bob, eve].map(\.transactionID) { counts.append(try await scene.extensions(id)) }
            #expect(counts == [0, 1, 1])
            #expect(try await scene.summaries().first?["storefrontCountryCodes"] as? [String] == ["JPN", "FRA"])
            // Null is no list.
            _ = try await scene.extendAll(Scene.mass(id: "\"second\"", storefronts: "null"))
            try await test.store.settleSubscriptions()
            #expect(try await scene.status("second")["succeededCount"] as? Int == 3)
        }
    }

    @Test(arguments: Backend.available) func badRequestsForAllHaveApplesErrors(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            for product in ["null", "7", "\"\"", "\"hats\"", "\"none\"", "\"GYM.monthly\"", "\"thing\""] {
                await #expect(throws: APIError.invalidProductID, "\(product)") {
                    try await scene.extendAll(Scene.mass(product))
                }
            }
            await #expect(throws: APIError.invalidProductID) { try await scene.extendAll(Scene.body()) }
            await #expect(throws: APIError.invalidProductID) {
                try await scene.api.extendAll(Scene.mass(), of: "com.example.other")
            }
            await #expect(throws: APIError.emptyStorefrontCountryCodes) {
                try await scene.extendAll(Scene.mass(storefronts: "[]"))
            }
            for codes in ["[\"usa\"]", "[\"USA\", \"XXX\"]", "[\"US\"]", "[\"\"]", "[1]", "[null]", "\"USA\"", "{}"] {
                await #expect(throws: APIError.invalidStorefrontCountryCode, "\(codes)") {
                    try await scene.extendAll(Scene.mass(storefronts: codes))
                }
            }
            #expect(try await test.count("mass_extensions") == 0)

            _ = try await scene.extendAll()
            let app = TestStore.bundleID
            for (product, request, app, error) in [
                ("", "first", app, .invalidProductID), ("a b", "first", app, .invalidProductID),
                (String(repeating: "a", count: 256), "first", app, .invalidProductID),
                ("gym.monthly", "", app, .invalidRequestIdentifier),
                ("gym.monthly", String(repeating: "a", count: 129), app, .invalidRequestIdentifier),
                ("gym.monthly", "a\u{0}", app, .invalidRequestIdentifier),
                ("gym.monthly", "First", app, .extensionRequestNotFound),
                ("club.weekly", "first", app, .extensionRequestNotFound),
                ("gym.monthly", "first", "com.example.other", .extensionRequestNotFound),
            ] as [(String, String, BundleID, APIError)] {
                await #expect(throws: error, "\(product) \(request)") {
                    try await scene.api.extensionStatus(of: product, request: request, of: app)
                }
            }
        }
    }

    /// Everything happens as of the date of the request, before the renewals of later dates.
    @Test(arguments: Backend.available) func extensionsPrecedeLaterRenewals(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let bought = try await test.buy("gym.monthly", by: test.account())
            let moved = Scene.date(10, after: try #require(bought.expiresDate))
            _ = try await scene.extendAll()
            try await test.store.changeClock { try $0.advance(months: 3) }
            let ledger = try await test.ledger()
            #expect(ledger.count == 3 && ledger[0].expiresDate == moved && ledger[1].purchaseDate == moved)
            #expect(
                try await scene.news(bought.transactionID) == [
                    "SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "DID_RENEW", "DID_RENEW",
                ])
            // A renewal that was due before the request comes first.
            let due = try #require(ledger.last?.expiresDate)
            test.clock.milliseconds += due - test.store.clock.milliseconds
            _ = try await scene.extendAll(Scene.mass(id: "\"second\""))
            try await test.store.settleSubscriptions()
            #expect(try await scene.news(bought.transactionID).suffix(2) == ["DID_RENEW", "RENEWAL_EXTENDED"])
            let renewal = try #require(try await test.ledger().last)
            #expect(renewal.purchaseDate == due)
            let usual = SubscriptionPeriod(unit: .month, count: 1).end(from: due)
            #expect(renewal.expiresDate == Scene.date(10, after: usual))
        }
    }

    @Test(arguments: Backend.available) func aKillBetweenTwoBatchesExtendsEachOnce(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let scene = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            var bought: [TransactionDescription] = []
            for number in 0..<7 {
                let account = try await scene.test.account("ape\(number)@example.com")
                bought.append(try await scene.test.buy("gym.monthly", by: account))
            }
            _ = try await scene.extendAll()
            let request = try #require(try await database.read { try MassExtensions.next(at: .max, $0) })
            let part = try await scene.store.carryOutBatch(of: request, limit: 3)
            #expect(part.succeeded == 3 && part.completedAt == nil && part.last == bought[2].transactionID)
            #expect(try await scene.status()["complete"] as? Bool == false)
            // Another process that has read the same part changes nothing.
            #expect(try await scene.store.carryOutBatch(of: request, limit: 3) == part)

            // A kill in a batch, before its commit.
            let ledger = try await scene.test.ledger()
            try await database.write { try $0.execute("ALTER TABLE subscription_news RENAME TO away") }
            await #expect(throws: (any Error).self) { try await scene.store.carryOutBatch(of: part, limit: 3) }
            try await database.write { try $0.execute("ALTER TABLE away RENAME TO subscription_news") }
            #expect(try await scene.test.ledger() == ledger)

            // The next start does the rest, also when the clock has moved on.
            clock.milliseconds += 5 * 86_400_000
            let again = try await Scene(TestStore.open(database, apps: apps, clock: clock))
            try await again.store.settleSubscriptions()
            let status = try await again.status()
            #expect(status["complete"] as? Bool == true && status["completeDate"] as? Int64 == clock.milliseconds)
            #expect(status["succeededCount"] as? Int == 7 && status["failedCount"] as? Int == 0)
            #expect(try await again.summaries().count == 1)
            let after = try await again.test.ledger()
            #expect(after.count == 7)
            for (period, description) in zip(after, bought) {
                let end = try #require(description.expiresDate)
                #expect(period.expiresDate == Scene.date(10, after: end))
                #expect(try await again.extensions(period.transactionID) == 1)
            }
        }
    }

    /// The last batch is full, so another one finds the end.
    @Test(arguments: Backend.available, [1, 2, 3, 5]) func batchesOfAnySizeFindTheEnd(
        _ backend: Backend, _ limit: Int
    ) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            for number in 0..<4 {
                try await test.buy("gym.monthly", by: test.account("ape\(number)@example.com"))
            }
            _ = try await scene.extendAll()
            var request = try #require(try await test.database.read { try MassExtensions.next(at: .max, $0) })
            var batches = 0
            while request.completedAt == nil, batches < 10 {
                request = try await test.store.carryOutBatch(of: request, limit: limit)
                batches += 1
            }
            #expect(batches == 4 / limit + 1 && request.succeeded == 4 && request.failed == 0)
            #expect(try await test.database.read { try MassExtensions.next(at: .max, $0) } == nil)
            #expect(try await scene.summaries().count == 1)
        }
    }

    @Test(arguments: Backend.available) func theOperatorsExtensionIsARequestToo(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            let bought = try await test.buy("gym.monthly", by: test.account())
            // An open request is carried out first.
            _ = try await scene.extendAll()
            let result = try await test.store.extendAll(of: "gym.monthly", in: TestStore.bundleID, days: 5)
            #expect(result == Store.MassExtension(succeeded: 1, failed: 0))
            let end = Scene.date(5, after: Scene.date(10, after: try #require(bought.expiresDate)))
            #expect(try await test.ledger().first?.expiresDate == end)
            #expect(try await scene.summaries().count == 2)
            await #expect(throws: APIError.extendedOften) {
                try await scene.extend(bought.transactionID, Scene.body(id: "\"third\""))
            }
        }
    }

    @Test(arguments: Backend.available) func openRequestsAreLimited(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let scene = try await Scene(test)
            for number in 0..<Store.mostOpenExtensionsOfProduct {
                _ = try await scene.extendAll(Scene.mass(id: "\"\(number)\""))
            }
            await #expect(throws: StoreError.self) { try await scene.extendAll(Scene.mass(id: "\"more\"")) }
            // A repeated one is answered, and another product has a queue of its own.
            _ = try await scene.extendAll(Scene.mass(id: "\"7\""))
            _ = try await scene.extendAll(Scene.mass("\"club.weekly\"", id: "\"more\""))
            try await test.store.settleSubscriptions()
            _ = try await scene.extendAll(Scene.mass(id: "\"more\""))
            #expect(try await scene.status("7")["complete"] as? Bool == true)
            try await test.store.settleSubscriptions()
            // The limit of an app.
            for number in 0..<Store.mostOpenExtensions {
                try await test.store.accept(Scene.request(of: ProductID("p\(number)")))
            }
            await #expect(throws: StoreError.self) { try await test.store.accept(Scene.request(of: "more")) }
        }
    }
}
