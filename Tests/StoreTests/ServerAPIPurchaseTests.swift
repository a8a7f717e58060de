import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("The App Store Server API: orders, refunds and single purchases", .timeLimit(.minutes(1)))
struct ServerAPIPurchaseTests {
    private static let token = "7E3FB20B-4CDB-47CC-936D-99D65F608138"

    private static func body(_ token: String) -> [UInt8] { Array(#"{"appAccountToken": \#(token), "x": [1]}"#.utf8) }

    /// Whether two digits differ by the check's modulus; three pairs do not.
    private static func differ(_ one: UInt8, _ other: UInt8) -> Bool {
        let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
        guard let first = digits.firstIndex(of: one), let second = digits.firstIndex(of: other) else { return false }
        return abs(first - second) % 29 != 0
    }

    @Test func orderIdentifiersAreReadAsTheyAreWritten() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let id = TransactionID(rawValue: Int64.random(in: 1..<1 << 53, using: &generator))
            let text = OrderID(id).description
            #expect(text.utf8.count == 13 && text.first == "M")
            #expect(OrderID(text)?.transactionID == id && OrderID(text.lowercased())?.transactionID == id)
            // Neighbours that changed places, and a digit that is one more, are noticed.
            let place = Int.random(in: 1...10, using: &generator)
            var swapped = Array(text.utf8)
            swapped.swapAt(place, place + 1)
            if swapped[place] != swapped[place + 1], Self.differ(swapped[place], swapped[place + 1]) {
                #expect(OrderID(String(decoding: swapped, as: UTF8.self)) == nil, "\(text)")
            }
            var wrong = Array(text.utf8)
            wrong[place] = wrong[place] == UInt8(ascii: "7") ? UInt8(ascii: "8") : UInt8(ascii: "7")
            if Self.differ(wrong[place], text.utf8.dropFirst(place).first ?? 0) {
                #expect(OrderID(String(decoding: wrong, as: UTF8.self)) == nil, "\(text)")
            }
        }
        for bad in ["", "M", "M0000000000000", "M00000000001", "X000000000011", "M00000000001I", "MÄ0000000001"] {
            #expect(OrderID(bad) == nil, "\(bad)")
        }
    }

    @Test(arguments: Backend.available) func anOrderIsLookedUp(_ backend: Backend) async throws {
        try await backend.withStore(.production) { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let hats = try await test.buy("hats", by: account)
            let again = try await test.buy("hats", by: account)
            let credits = try await test.buy("credits5", by: account)
            let orders = try await test.ledger().map { try #require($0.orderID?.description) }
            #expect(orders[0] == orders[1] && orders[0] != orders[2])
            func found(_ order: String) async throws -> [String]? {
                let answer = try api.object(try await api.api.order(order, of: TestStore.bundleID))
                guard answer["status"] as? Int == 0 else {
                    #expect(answer["status"] as? Int == 1 && answer.count == 1)
                    return nil
                }
                let signed = try #require(answer["signedTransactions"] as? [String])
                return try signed.map { try #require(try api.payload($0)["transactionId"] as? String) }
            }
            let both = [hats.transactionID, again.transactionID].map(\.description)
            #expect(try await found(orders[0]) == both)
            #expect(try await found(orders[0].lowercased()) == both)
            #expect(try await found(orders[2]) == [credits.transactionID.description])
            // A later delivery is no order of its own.
            #expect(try await found(OrderID(again.transactionID).description) == nil)
            #expect(try await found("MK5TTTVWJH") == nil)
            let foreign = try api.object(try await api.api.order(orders[2], of: "com.example.other"))
            #expect(foreign["status"] as? Int == 1)
            for bad in ["", "M-1", "M 1", String(repeating: "M", count: 65)] {
                await #expect(throws: APIError.badRequest, "\(bad)") {
                    try await api.api.order(bad, of: TestStore.bundleID)
                }
            }
        }
    }

    @Test(arguments: Backend.available) func refundsHavePages(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            var bought: [TransactionID] = []
            for _ in 0..<23 { bought.append(try await test.buy("credits5", by: account).transactionID) }
            let other = try await test.buy("hats", by: account).transactionID
            func page(_ revision: String?) async throws -> (ids: [String], revision: String, hasMore: Bool) {
                let answer = try api.object(
                    try await api.api.refunds(other.description, revision: revision, of: TestStore.bundleID))
                let signed = try #require(answer["signedTransactions"] as? [String])
                return (
                    try signed.map { try #require(try api.payload($0)["transactionId"] as? String) },
                    try #require(answer["revision"] as? String), try #require(answer["hasMore"] as? Bool)
                )
            }
            let none = try await page(nil)
            #expect(none.ids.isEmpty && !none.hasMore)
            // The refunds have the reverse order of the purchases, and some the same date.
            let refunded = Array(bought.reversed().dropLast())
            for (index, id) in refunded.enumerated() {
                if index % 3 == 0 { try await test.store.changeClock { try $0.advance(by: 1_000) } }
                _ = try await test.store.refund(id, reason: .app)
            }
            let ordered = refunded.map(\.description)
            // Those of one date have the order in which they were recorded, so that a caller misses none.
            let first = try await page(none.revision)
            #expect(first.ids == Array(ordered.prefix(20)) && first.hasMore)
            let second = try await page(first.revision)
            #expect(second.ids == Array(ordered.dropFirst(20)) && !second.hasMore)
            // The last revision is kept for later refunds, and a reversed refund is none.
            let last = try await page(second.revision)
            #expect(last.ids.isEmpty && last.revision == second.revision)
            try await test.store.changeClock { try $0.advance(by: 1_000) }
            _ = try await test.store.refund(bought[0], reason: .other)
            #expect(try await page(second.revision).ids == [bought[0].description])
            _ = try await test.store.reverseRefund(bought[0])
            #expect(try await page(second.revision).ids.isEmpty)
            for bad in ["x", first.revision + "0", String(first.revision.dropLast()), "1_2_0123456789abcdef"] {
                await #expect(throws: APIError.invalidRevision, "\(bad)") {
                    try await api.api.refunds(other.description, revision: bad, of: TestStore.bundleID)
                }
            }
            let old = try api.object(try await api.api.lastRefunds(other.description, of: TestStore.bundleID))
            #expect((old["signedTransactions"] as? [String])?.count == 22 && old.count == 1)
        }
    }

    @Test(arguments: Backend.available) func aTransactionIsFinishedOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let id = try await test.buy("credits5", by: account).transactionID
            for _ in 0..<2 { try await api.api.finish(id.description, of: TestStore.bundleID) }
            #expect(try await test.ledger().first?.finishedAt == test.store.clock.milliseconds)
            let page = try await test.store.unfinishedTransactions(of: account, in: TestStore.bundleID, after: nil)
            #expect(page.transactions.isEmpty)
            await #expect(throws: APIError.transactionNotFound) {
                try await api.api.finish(id.description, of: "com.example.other")
            }
            await #expect(throws: APIError.invalidTransactionID) {
                try await api.api.finish("x", of: TestStore.bundleID)
            }
            let customer = AppTransactionID(id).description
            await #expect(throws: APIError.appTransactionNotSupported) {
                try await api.api.finish(customer, of: TestStore.bundleID)
            }
            await #expect(throws: APIError.appTransactionNotSupported) {
                try await api.api.setAppAccountToken(
                    customer, Self.body("\"\(Self.token)\""), of: TestStore.bundleID)
            }
        }
    }

    @Test(arguments: Backend.available) func anAppAccountTokenIsSet(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let gym = try await test.buy("gym.monthly", by: account)
            try await test.store.changeClock { try $0.advance(months: 1) }
            let credits = try await test.buy("credits5", by: account, username: "anna")
            let token = Self.token.lowercased()
            let before = try await TestStore.verified(try await test.appReceipt(account))
            #expect(before.inApp.count == 3 && before.inApp.allSatisfy { $0.accountToken == nil })
            for id in [gym.transactionID, credits.transactionID] {
                try await api.api.setAppAccountToken(
                    id.description, Self.body("\"\(Self.token)\""), of: TestStore.bundleID)
            }
            // The next receipt has the token, also while the clock stands still.
            let receipt = try await TestStore.verified(try await test.appReceipt(account))
            #expect(receipt.inApp.count == 3 && receipt.inApp.allSatisfy { $0.accountToken == token })
            try await test.store.changeClock { try $0.advance(months: 1) }
            let rows = try await test.ledger()
            #expect(rows.count == 4 && rows.allSatisfy { $0.appAccountToken == token })
            // The rows moved in the history, once.
            let ids = try await api.history(gym.transactionID.description)
            #expect(ids.count == 4 && Set(ids).count == 4)
            try await api.api.setAppAccountToken(
                gym.transactionID.description, Self.body("\"\(Self.token)\""), of: TestStore.bundleID)
            #expect(try await api.history(gym.transactionID.description) == ids)
            #expect(try await api.statuses(gym.transactionID).first?.renewal["appAccountToken"] as? String == token)
            let renewal = try #require(rows.first { $0.isRenewal }?.transactionID.description)
            for (id, body, error) in [
                (renewal, Self.body("\"\(Self.token)\""), .notOriginal),
                (ids[0], Self.body("\"x\""), .invalidAppAccountTokenUUID),
                (ids[0], Self.body("null"), .invalidAppAccountTokenUUID),
                (ids[0], Self.body("7"), .invalidAppAccountTokenUUID), (ids[0], Array("{".utf8), .badRequest),
                (ids[0], [], .badRequest), ("999", Self.body("\"\(Self.token)\""), .transactionNotFound),
            ] as [(String, [UInt8], APIError)] {
                await #expect(throws: error) {
                    try await api.api.setAppAccountToken(id, body, of: TestStore.bundleID)
                }
            }
        }
    }

    /// A renewal that was paid with the token before is not recorded, and is made again with the new one.
    @Test(arguments: Backend.available) func aTokenThatIsSetDuringARenewalIsKept(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let api = try await TestAPI(test)
            let gym = try await test.buy("gym.monthly", by: test.account(), username: UUID().uuidString)
            let before = try #require(
                try await test.store.database.read { try Subscriptions.find(gym.transactionID, $0) })
            try await api.api.setAppAccountToken(
                gym.transactionID.description, Self.body("\"\(Self.token)\""), of: TestStore.bundleID)
            let after = try await test.store.database.read { try Subscriptions.find(gym.transactionID, $0) }
            #expect(after?.revision == before.revision + 1)
            try await test.store.changeClock { try $0.advance(months: 1) }
            #expect(try await test.ledger().map(\.appAccountToken).allSatisfy { $0 == Self.token.lowercased() })
        }
    }

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func anAppTransactionIsTheCustomers(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let first = try await test.buy("credits5", by: account).transactionID
            try await test.store.finish(first, of: account)
            let second = try await test.buy("hats", by: account).transactionID
            let answer = try api.object(
                try await api.api.appTransaction(second.description, of: TestStore.bundleID))
            let payload = try api.payload(answer["signedAppTransactionInfo"])
            let id = try #require(payload["appTransactionId"] as? String)
            #expect(payload["receiptType"] as? String == environment.signedName)
            let number = environment == .sandbox ? nil : test.store.apps[TestStore.bundleID]?.appID
            #expect(payload["appAppleId"] as? Int64 == number)
            #expect(payload["originalPlatform"] as? String == "iOS")
            for transaction in [first, second] {
                #expect(try await api.transaction(transaction.description)["appTransactionId"] as? String == id)
            }
            // The identifier names the customer, too.
            #expect(try await api.history(id) == [first, second].map(\.description))
            #expect(try await api.statuses(second).isEmpty)
            await #expect(throws: APIError.appTransactionNotSupported) { try await api.transaction(id) }
            await #expect(throws: APIError.transactionNotFound) {
                try await api.history(AppTransactionID(second).description)
            }
        }
    }

    @Test(arguments: Backend.available)
    func aCustomersIdentifierSurvivesAClearedHistory(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let (account, other) = (try await test.account(), try await test.account("other@example.com"))
            let first = try await test.buy("credits5", by: account).transactionID
            let id = AppTransactionID(first).description
            let others = try await test.buy("gym.monthly", by: other).transactionID
            for _ in 0..<2 {
                _ = try await test.store.clearHistory(of: account)
                // The customer is known, and has no purchases.
                #expect(try await api.history(id).isEmpty)
                let bought = try await test.buy("gym.monthly", by: account).transactionID
                #expect(try await api.transaction(bought.description)["appTransactionId"] as? String == id)
                let status = try #require(try await api.statuses(bought).first)
                #expect(status.transaction["appTransactionId"] as? String == id)
                #expect(status.renewal["appTransactionId"] as? String == id)
                let answer = try api.object(
                    try await api.api.appTransaction(bought.description, of: TestStore.bundleID))
                #expect(try api.payload(answer["signedAppTransactionInfo"])["appTransactionId"] as? String == id)
                #expect(try await api.history(id) == [bought.description])
                for (wrong, app) in [
                    (AppTransactionID(bought).description, TestStore.bundleID), (id, "com.example.other"),
                ] as [(String, BundleID)] {
                    await #expect(throws: APIError.transactionNotFound) {
                        try await api.api.history(wrong, [], version: 2, of: app)
                    }
                }
            }
            #expect(try await api.history(AppTransactionID(others).description) == [others.description])
        }
    }

    /// A transaction can be committed after a later one, and the app's server may know the identifier by then.
    @Test(arguments: Backend.available)
    func aCustomersIdentifierThatWasAnsweredStays(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let (account, other) = (try await test.account(), try await test.account("other@example.com"))
            let earlier = try await test.buy("credits5", by: other).transactionID
            let first = try await test.buy("credits5", by: account).transactionID
            let id = AppTransactionID(first).description
            #expect(try await api.transaction(first.description)["appTransactionId"] as? String == id)
            let accountID = account.accountID.rawValue
            _ = try await test.database.write { connection in
                try connection.execute(
                    "UPDATE transactions SET account_id = $2 WHERE transaction_id = $1",
                    [earlier.rawValue, accountID])
            }
            for transaction in [earlier, first] {
                #expect(try await api.transaction(transaction.description)["appTransactionId"] as? String == id)
            }
            #expect(try await api.history(id).count == 2)
            await #expect(throws: APIError.transactionNotFound) {
                try await api.history(AppTransactionID(earlier).description)
            }
        }
    }

    @Test(arguments: StoreEnvironment.allCases)
    func anAppTransactionHasTheVersionsOfTheCustomersReceipts(_ environment: StoreEnvironment) async throws {
        try await Backend.sqlite.withStore(environment) { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let bought = try await test.buy("credits5", by: account).transactionID.description
            func versions() async throws -> [String?] {
                let answer = try api.object(try await api.api.appTransaction(bought, of: TestStore.bundleID))
                let payload = try api.payload(answer["signedAppTransactionInfo"])
                return ["originalApplicationVersion", "applicationVersion"].map { payload[$0] as? String }
            }
            #expect(try await versions() == ["1.0", "1.0"])
            var request = TestStore.receiptRequest
            for version in ["7", "8"] {
                request.bundleVersion = version
                try await test.store.noteVersion(in: request, of: account)
                #expect(try await versions() == [environment == .sandbox ? "1.0" : "7", version])
            }
        }
    }

    /// Apple: the reason of a member's transaction is that of the purchaser's refund, and 0 without a refund.
    @Test(arguments: Backend.available)
    func aRefundRevokesWhatAFamilySharesForItsReason(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let api = try await TestAPI(home.test)
            for product in ["hats", "gym.monthly"] as [ProductID] {
                let bought = try await home.test.buy(product, by: home.anna)
                let share = try #require(try await home.ledger(home.ben).last { $0.productID == product })
                _ = try await home.store.refund(bought.transactionID, reason: .app)
                let payload = try await api.transaction(share.transactionID.description)
                #expect(payload["revocationType"] as? String == "FAMILY_REVOKE", "\(product)")
                #expect(payload["revocationReason"] as? Int == 1, "\(product)")
            }
        }
    }

    @Test(arguments: Backend.available) func whatAFamilySharesIsNobodysOrder(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let api = try await TestAPI(home.test)
            try await home.test.buy("club.monthly", by: home.anna)
            let share = try #require(try await home.ledger(home.ben).first)
            #expect(share.orderID == nil)
            let answer = try api.object(
                try await api.api.order(OrderID(share.transactionID).description, of: TestStore.bundleID))
            #expect(answer["status"] as? Int == 1)
            await #expect(throws: APIError.familyShared) {
                try await api.api.setAppAccountToken(
                    share.originalTransactionID.description, Self.body("\"\(Self.token)\""), of: TestStore.bundleID)
            }
        }
    }
}
