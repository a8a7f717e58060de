import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A store whose app has a receiver of notifications, and the outbox.
struct TestOutbox {
    let test: TestStore
    let outbox: NotificationOutbox
    let api: ServerAPI

    /// - Parameter isOn: whether the app has a receiver.
    init(_ test: TestStore, isOn: Bool = true) async throws {
        self.test = test
        let identity = try await TestAuthority.value.jwsIdentity(for: test.store.environment)
        outbox = NotificationOutbox(test.store) { identity }
        api = ServerAPI(
            test.store, identity: { identity }, keys: try await APIKeys.open(test.databases),
            realTime: test.clock.now)
        if isOn { try await set("https://example.com/apple") }
    }

    func set(_ url: String?) async throws {
        try await test.store.apps.setNotificationReceiver(
            try url.map { try NotificationReceiver(url: $0) }, of: TestStore.bundleID, in: test.store.environment)
    }

    func due(limit: Int = 100) async throws -> [OutgoingNotification] {
        try await outbox.due(of: TestStore.bundleID, limit: limit)
    }

    @discardableResult
    func record(
        _ result: SendAttemptResult, of notification: OutgoingNotification
    ) async throws -> ServerNotification.State? {
        try await outbox.record(
            SendAttempt(date: test.store.clock.milliseconds, result: result), of: notification)
    }

    /// Sends everything that is due, and gives it in the order in which it was sent.
    @discardableResult
    func sendAll(_ result: SendAttemptResult = .success) async throws -> [OutgoingNotification] {
        var sent: [OutgoingNotification] = []
        while true {
            let due = try await due()
            guard !due.isEmpty else { return sent }
            for notification in due { try await record(result, of: notification) }
            sent += due
        }
    }

    func object(_ json: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    /// The payload of a signed text.
    func payload(_ signed: Any?) throws -> [String: Any] {
        try object(try SignedPayload.parse(Array(try #require(signed as? String).utf8)).payload)
    }

    /// The types and subtypes of notifications.
    func words(_ sent: [OutgoingNotification]) throws -> [String] {
        try sent.map { notification in
            let payload = try payload(notification.signedPayload)
            return [payload["notificationType"], payload["subtype"]].compactMap { $0 as? String }
                .joined(separator: "/")
        }
    }

    func history(_ members: String, token: String? = nil) async throws -> [String: Any] {
        try object(
            try await api.notificationHistory(
                Array("{\(members)}".utf8), paginationToken: token, of: TestStore.bundleID))
    }

    /// The dates of a history of everything.
    var always: String {
        let now = test.store.clock.milliseconds
        return #""startDate": \#(now - 180 * 86_400_000), "endDate": \#(now + 1)"#
    }
}

extension Backend {
    /// Runs a test with a store and its outbox.
    func withOutbox(
        _ environment: StoreEnvironment = .sandbox, isOn: Bool = true, _ body: (TestOutbox) async throws -> Void
    ) async throws {
        try await withStore(environment) { try await body(try await TestOutbox($0, isOn: isOn)) }
    }
}

@Suite("Notifications", .timeLimit(.minutes(1))) struct NotificationTests {
    private static let hour: Int64 = 3_600_000

    // MARK: Writing

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func newsOfASubscriptionAreWrittenWithTheirNotification(
        _ backend: Backend, _ environment: StoreEnvironment
    ) async throws {
        try await backend.withOutbox(environment) { box async throws in
            let account = try await box.test.account()
            let bought = try await box.test.buy("gym.monthly", by: account)
            _ = try await box.test.store.setAutoRenew(false, of: bought.transactionID)
            let news = try await box.test.store.newsFeed()
            let rows = try await box.outbox.list(NotificationFilter()).rows
            #expect(rows.reversed().map(\.number) == news.map(\.number) && rows.count == 2)
            #expect(rows.allSatisfy { $0.state == .waiting && $0.attempts.isEmpty && $0.signedPayload == nil })
            let sent = try await box.sendAll()
            #expect(
                try box.words(sent) == ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
            let payload = try box.payload(sent[0].signedPayload)
            #expect(payload["version"] as? String == "2.0")
            #expect(payload["signedDate"] as? Int == Int(news[0].news.date))
            #expect(payload["notificationUUID"] as? String == rows[1].notificationID)
            #expect(rows[0].notificationID != rows[1].notificationID)
            let data = try #require(payload["data"] as? [String: Any])
            #expect(data["bundleId"] as? String == TestStore.bundleID.rawValue && data["status"] as? Int == 1)
            #expect(data["environment"] as? String == environment.rawValue)
            // Apple's sandbox omits the app's number.
            #expect((data["appAppleId"] != nil) == (environment == .production))
            let transaction = try box.payload(data["signedTransactionInfo"])
            #expect(transaction["transactionId"] as? String == bought.transactionID.description)
            #expect(transaction["signedDate"] as? Int == Int(news[0].news.date))
            let customer = AppTransactionID(bought.transactionID).description
            #expect(transaction["appTransactionId"] as? String == customer)
            let renewal = try box.payload(data["signedRenewalInfo"])
            // The state when the news was written: auto-renew was turned off later.
            #expect(renewal["autoRenewStatus"] as? Int == 1)
            #expect(renewal["appTransactionId"] as? String == customer)
        }
    }

    @Test(arguments: Backend.available) func nothingIsWrittenWithoutAURL(_ backend: Backend) async throws {
        try await backend.withOutbox(isOn: false) { box async throws in
            let account = try await box.test.account()
            try await box.test.buy("gym.monthly", by: account)
            try await box.test.buy("credits5", by: account)
            // Another environment's URL, and another app's.
            try await box.test.store.apps.setNotificationReceiver(
                try NotificationReceiver(url: "https://example.com"), of: TestStore.bundleID, in: .production)
            try await box.test.store.apps.setNotificationReceiver(
                try NotificationReceiver(url: "https://example.com"), of: "com.example.other", in: .sandbox)
            try await box.test.buy("credits5", by: account)
            #expect(try await box.test.count("notifications") == 0)
            #expect(box.outbox.receivers.keys.map(\.rawValue) == ["com.example.other"])
            #expect(
                try await refusal {
                    try await box.test.store.apps.setNotificationReceiver(nil, of: "com.example.none", in: .sandbox)
                } == .unknownApp)
            #expect(try await refusal { try await box.outbox.sendTest(to: TestStore.bundleID) } == .wrongState)
        }
    }

    @Test(arguments: Backend.available) func aRepeatedPurchaseWritesNothingAgain(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let account = try await box.test.account()
            let request = box.test.request("credits5")
            for _ in 0..<3 { _ = try await box.test.store.purchase(request, by: account) }
            #expect(try await box.test.count("notifications") == 1)
            // The second time it is delivered again without a charge.
            for _ in 0..<2 { try await box.test.buy("hats", by: account) }
            #expect(try await box.test.count("notifications") == 2)
        }
    }

    @Test(arguments: Backend.available) func productsThatDoNotRenewHaveNotifications(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let box = try await TestOutbox(home.test)
            let credits = try await home.test.buy("credits5", by: home.anna, quantity: 2)
            let hats = try await home.test.buy("hats", by: home.anna)
            _ = try await home.store.refund(credits.transactionID, reason: .app)
            _ = try await home.store.reverseRefund(credits.transactionID)
            _ = try await home.store.refund(hats.transactionID, reason: .other)
            let sent = try await box.sendAll().sorted { $0.number < $1.number }
            #expect(
                try box.words(sent) == [
                    "ONE_TIME_CHARGE", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE", "REFUND", "REFUND_REVERSED", "REVOKE",
                    "REFUND",
                ])
            let data = try #require(try box.payload(sent[3].signedPayload)["data"] as? [String: Any])
            #expect(data["status"] == nil && data["signedRenewalInfo"] == nil)
            let refunded = try box.payload(data["signedTransactionInfo"])
            #expect(refunded["revocationReason"] as? Int == 1)
            #expect(refunded["revocationType"] as? String == "REFUND_FULL")
            let shared = try #require(try box.payload(sent[5].signedPayload)["data"] as? [String: Any])
            #expect(
                try box.payload(shared["signedTransactionInfo"])["inAppOwnershipType"] as? String == "FAMILY_SHARED")
        }
    }

    // MARK: Sending

    @Test(arguments: Backend.available) func aFailureIsRetriedAsAppleDoes(_ backend: Backend) async throws {
        try await backend.withOutbox(.production) { box async throws in
            try await box.test.buy("credits5", by: box.test.account())
            var payloads: Set<String> = []
            for hours in [1, 12, 24, 48, 72] as [Int64] {
                let due = try #require(try await box.due().first)
                payloads.insert(due.signedPayload)
                #expect(try await box.record(.timedOut, of: due) == .waiting)
                try await box.test.store.changeClock { try $0.advance(by: hours * Self.hour - 1) }
                #expect(try await box.due().isEmpty)
                try await box.test.store.changeClock { try $0.advance(by: 1) }
            }
            let last = try #require(try await box.due().first)
            payloads.insert(last.signedPayload)
            #expect(try await box.record(.unsuccessfulStatus, of: last) == .failed)
            #expect(try await box.record(.success, of: last) == nil)
            #expect(payloads.count == 1)
            try await box.test.store.changeClock { try $0.advance(by: 365 * 24 * Self.hour) }
            #expect(try await box.due().isEmpty)
            let row = try #require(try await box.outbox.list(NotificationFilter(state: .failed)).rows.first)
            #expect(row.attempts.count == 6 && row.attempts.last?.result == .unsuccessfulStatus)
            #expect(row.attempts.dropFirst().first?.date == row.attempts[0].date + Self.hour)
        }
    }

    @Test(arguments: Backend.available) func theSandboxTriesOnce(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            try await box.test.buy("credits5", by: box.test.account())
            let due = try #require(try await box.due().first)
            #expect(try await box.record(.noResponse, of: due) == .failed)
            #expect(try await box.due().isEmpty)
        }
    }

    @Test(arguments: Backend.available)
    func aSubscriptionsNotificationsAreSentInOrder(_ backend: Backend) async throws {
        try await backend.withOutbox(.production) { box async throws in
            let bought = try await box.test.buy("gym.monthly", by: try await box.test.account())
            for isOn in [false, true] {
                _ = try await box.test.store.setAutoRenew(isOn, of: bought.transactionID)
            }
            try await box.test.buy("credits5", by: try await box.test.account("other@example.com"))
            // The other purchase does not wait.
            let first = try await box.due()
            #expect(try box.words(first) == ["SUBSCRIBED/INITIAL_BUY", "ONE_TIME_CHARGE"])
            #expect(try await box.due() == first)
            #expect(
                try await box.outbox.due(of: TestStore.bundleID, besides: [first[0].lane], limit: 100) == [first[1]])
            #expect(try await box.due(limit: 1) == [first[0]])
            // One attempt is enough for the next one to follow.
            try await box.record(.timedOut, of: first[0])
            let second = try await box.due()
            #expect(try box.words(second)[0] == "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED")
            try await box.test.store.changeClock { try $0.advance(by: Self.hour) }
            // New ones come before the retry, and one at a time.
            #expect(try await box.due() == second)
            let rest = try box.words(try await box.sendAll()).filter { $0 != "ONE_TIME_CHARGE" }
            #expect(
                rest == [
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
                    "SUBSCRIBED/INITIAL_BUY",
                ])
        }
    }

    @Test(arguments: Backend.available) func aNotificationIsSentAgainOnOrder(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            try await box.test.buy("credits5", by: box.test.account())
            let sent = try #require(try await box.sendAll().first)
            let row = try #require(try await box.outbox.list(NotificationFilter()).rows.first)
            let resent = try await box.outbox.resend(row.notificationID.uppercased())
            #expect(resent.state == .waiting && resent.notificationID == row.notificationID)
            #expect(try await box.due().map(\.signedPayload) == [sent.signedPayload])
            for _ in 0..<8 {
                try await box.sendAll(.other)
                _ = try await box.outbox.resend(row.notificationID)
            }
            let found = try await box.outbox.notification(row.notificationID)
            #expect(found.attempts.count == SendAttempt.most && found.attempts.allSatisfy { $0.result == .other })
            for bad in ["", "x", UUID().uuidString, row.notificationID + "0", String(repeating: "\0", count: 36)] {
                #expect(try await refusal { try await box.outbox.resend(bad) } == .notFound)
            }
        }
    }

    @Test(arguments: Backend.available) func notificationsAreListedAndDeleted(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let account = try await box.test.account()
            for _ in 0..<5 { try await box.test.buy("credits5", by: account) }
            try await box.sendAll()
            for _ in 0..<2 { try await box.test.buy("credits5", by: account) }
            func list(_ filter: NotificationFilter) async throws -> [Int64] {
                try await box.outbox.list(filter).rows.map(\.number)
            }
            let all = try await list(NotificationFilter())
            #expect(all.count == 7 && all == all.sorted(by: >))
            #expect(try await list(NotificationFilter(state: .waiting)) == Array(all.prefix(2)))
            #expect(try await list(NotificationFilter(bundleID: "com.example.other")).isEmpty)
            let page = try await box.outbox.list(NotificationFilter(limit: 3))
            #expect(page.rows.map(\.number) == Array(all.prefix(3)) && page.next == all[2])
            #expect(try await list(NotificationFilter(before: page.next)) == Array(all.dropFirst(3)))

            try await box.test.store.changeClock { try $0.advance(by: NotificationOutbox.keptFor) }
            try await box.outbox.prune()
            #expect(try await list(NotificationFilter()) == all)
            try await box.test.store.changeClock { try $0.advance(by: 1) }
            try await box.outbox.prune()
            #expect(try await list(NotificationFilter()) == Array(all.prefix(2)))
            try await box.set(nil)
            try await box.outbox.prune()
            #expect(try await list(NotificationFilter()).isEmpty)
        }
    }

    /// Numbers must grow over a restart, also those of notifications that are in no feed.
    @Test(arguments: Backend.available) func numbersGrowOverARestart(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            var numbers: [Int64] = []
            for _ in 0..<3 {
                let box = try await TestOutbox(try await TestStore.open(database, apps: apps, clock: clock))
                for _ in 0..<50 { numbers.append(try await box.outbox.sendTest(to: TestStore.bundleID).number) }
                // The machine's clock goes back.
                clock.milliseconds -= 60_000
            }
            #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        }
    }

    // MARK: The server API

    @Test(arguments: Backend.available) func theHistoryHasPagesAndFilters(_ backend: Backend) async throws {
        try await backend.withOutbox { box async throws in
            let (anna, ben) = (
                try await box.test.account("anna@example.com"), try await box.test.account("ben@example.com")
            )
            for _ in 0..<42 { try await box.test.buy("credits5", by: anna) }
            let other = try await box.test.buy("gym.monthly", by: ben)
            #expect((try await box.history(box.always)["notificationHistory"] as? [Any])?.isEmpty == true)
            var sent = try await box.sendAll().map(\.signedPayload)
            func payloads(_ page: [String: Any]) throws -> [String] {
                let items = try #require(page["notificationHistory"] as? [[String: Any]])
                return try items.map { item in
                    #expect((item["sendAttempts"] as? [Any])?.isEmpty == false)
                    return try #require(item["signedPayload"] as? String)
                }
            }
            let first = try await box.history(box.always)
            #expect(first["hasMore"] as? Bool == true)
            let token = try #require(first["paginationToken"] as? String)
            let second = try await box.history(box.always, token: token)
            let third = try await box.history(
                box.always, token: try #require(second["paginationToken"] as? String))
            #expect(third["hasMore"] as? Bool == false && third["paginationToken"] == nil)
            let all = try payloads(first) + payloads(second) + payloads(third)
            // The subscription began at the beginning of its second, before the other purchases.
            #expect(all.filter { $0 != sent[42] } == Array(sent[..<42]) && all.contains(sent[42]))
            #expect(try payloads(first).count == 20)

            let customer = AppTransactionID(other.transactionID)
            for id in [other.transactionID.description, customer.description] {
                let bens = try await box.history(#"\#(box.always), "transactionId": "\#(id)""#)
                #expect(try payloads(bens) == [sent[42]])
            }
            let subscribed = try await box.history(
                box.always + #", "notificationType": "SUBSCRIBED", "notificationSubtype": "INITIAL_BUY""#)
            #expect(try payloads(subscribed) == [sent[42]])
            #expect(try payloads(try await box.history(box.always + #", "onlyFailures": true"#)).isEmpty)
            try await box.test.buy("credits5", by: ben)
            sent += try await box.sendAll(.prematureClose).map(\.signedPayload)
            let failed = try await box.history(box.always + #", "onlyFailures": true"#)
            #expect(try payloads(failed) == [sent[43]])
            let items = try #require(failed["notificationHistory"] as? [[String: Any]])
            let attempts = try #require(items[0]["sendAttempts"] as? [[String: Any]])
            #expect(attempts.map { $0["sendAttemptResult"] as? String } == ["PREMATURE_CLOSE"])
            #expect(attempts.map { $0["attemptDate"] as? Int } == [Int(box.test.store.clock.milliseconds)])

            // A token belongs to its request.
            for (members, bad) in [
                (box.always + #", "onlyFailures": true"#, token), (box.always, token + "0"), (box.always, ""),
                (box.always, "1.1_0011223344556677"),
            ] {
                await #expect(throws: APIError.invalidPaginationToken) {
                    _ = try await box.history(members, token: bad)
                }
            }
        }
    }

    @Test func aBadRequestOfTheHistoryHasApplesError() async throws {
        try await Backend.sqlite.withOutbox { box async throws in
            let now = box.test.store.clock.milliseconds
            let cases: [(String, APIError)] = [
                (#""endDate": 1"#, .invalidStartDate), (#""startDate": "x", "endDate": 1"#, .invalidStartDate),
                (#""startDate": -1, "endDate": 1"#, .invalidStartDate), (#""startDate": 1"#, .invalidEndDate),
                (#""startDate": 1, "endDate": 1e300"#, .invalidEndDate),
                (#""startDate": 2, "endDate": 2"#, .startAfterEnd),
                (#""startDate": \#(now - NotificationOutbox.keptFor - 1), "endDate": \#(now)"#, .startTooFarInPast),
                (box.always + #", "notificationType": "SOLD""#, .invalidNotificationType),
                (box.always + #", "notificationType": 1"#, .invalidNotificationType),
                (box.always + #", "notificationSubtype": "UPGRADE""#, .invalidNotificationType),
                (
                    box.always + #", "notificationType": "EXPIRED", "notificationSubtype": "MAYBE""#,
                    .invalidNotificationType
                ),
                (box.always + #", "notificationType": "EXPIRED", "transactionId": "1""#, .multipleFilters),
                (box.always + #", "transactionId": "x""#, .invalidTransactionID),
                (box.always + #", "transactionId": 1"#, .invalidTransactionID),
                (box.always + #", "transactionId": "1""#, .transactionNotFound),
                (box.always + #", "onlyFailures": "yes""#, .badRequest), ("x", .badRequest),
            ]
            for (members, error) in cases {
                await #expect(throws: error, "\(members)") { _ = try await box.history(members) }
            }
            // Swift's library sends fractions of milliseconds.
            _ = try await box.history(#""startDate": \#(now - 1).25, "endDate": \#(now).75"#)
        }
    }

    @Test(arguments: Backend.available) func aTestNotificationHasAStatus(_ backend: Backend) async throws {
        try await backend.withOutbox(isOn: false) { box async throws in
            await #expect(throws: APIError.notificationURLNotFound) {
                _ = try await box.api.requestTestNotification(of: TestStore.bundleID)
            }
            try await box.set("http://127.0.0.1:1/")
            let answer = try box.object(try await box.api.requestTestNotification(of: TestStore.bundleID))
            let token = try #require(answer["testNotificationToken"] as? String)
            func status(_ token: String, _ app: BundleID = TestStore.bundleID) async throws -> [String: Any] {
                try box.object(try await box.api.testNotificationStatus(token, of: app))
            }
            await #expect(throws: APIError.testNotificationNotFound) { _ = try await status(token) }
            let sent = try await box.sendAll(.socketIssue)
            let payload = try box.payload(sent[0].signedPayload)
            #expect(try box.words(sent) == ["TEST"])
            let data = try #require(payload["data"] as? [String: Any])
            #expect(Set(data.keys) == ["bundleId", "environment"])
            for token in [token, token.uppercased()] {
                let found = try await status(token)
                #expect(found["signedPayload"] as? String == sent[0].signedPayload)
                #expect(found["firstSendAttemptResult"] as? String == "SOCKET_ISSUE")
                #expect((found["sendAttempts"] as? [[String: Any]])?.count == 1)
            }
            for (bad, app) in [
                (token, "com.example.other"), ("\(UUID())_1", TestStore.bundleID), (token + "1", TestStore.bundleID),
            ] as [(String, BundleID)] {
                await #expect(throws: APIError.testNotificationNotFound) { _ = try await status(bad, app) }
            }
            for bad in [
                "", "x", "_", token.replacing("_", with: "-"), token + "_1", String(repeating: "1", count: 9_999),
            ] {
                await #expect(throws: APIError.invalidTestToken, "\(bad.prefix(80))") { _ = try await status(bad) }
            }
            try await box.test.store.changeClock { try $0.advance(by: NotificationOutbox.keptFor + 1) }
            await #expect(throws: APIError.testNotificationNotFound) { _ = try await status(token) }
        }
    }

    // MARK: Addresses

    @Test func onlyTheOperatorsAddressesAreTaken() throws {
        for (text, origin, target) in [
            ("https://example.com", "https://example.com", "/"),
            ("HTTPS://Example.COM:443/A?b", "https://example.com", "/A?b"),
            ("https://example.com:8443?x#y", "https://example.com:8443", "/?x"),
            ("http://127.0.0.1:8080/a/../b", "http://127.0.0.1:8080", "/a/../b"),
            ("http://localhost:80/", "http://localhost", "/"), ("http://[::1]:8080/", "http://[::1]:8080", "/"),
            ("https://[2001:DB8::1]/", "https://[2001:db8::1]", "/"),
        ] {
            let address = try #require(NotificationAddress(text), "\(text)")
            #expect(address.origin == origin && address.target == target, "\(text)")
        }
        for text in [
            "", "example.com", "ftp://example.com", "http://example.com", "http://127.0.0.1.example.com",
            "http://127.1", "http://127.0.0.01", "http://localhost.", "http://10.0.0.1", "http://0.0.0.0",
            "https://", "https:///a", "https://user@example.com", "https://a:b@example.com", "https://example.com:0",
            "https://example.com:65536", "https://example.com:", "https://example.com:+1", "https://exa mple.com",
            "https://example.com\\@evil.example", "https://example.com/\r\nHost: evil", "https://exämple.com",
            "https://[::1", "https://[example]", "https://a%2eb", "file:///etc/passwd",
            "https://example.com/" + String(repeating: "a", count: 2_048),
        ] {
            #expect(NotificationAddress(text) == nil, "\(text.prefix(80))")
        }
    }

    @Test func aRedirectIsResolvedAndJudged() throws {
        let receiver = try NotificationReceiver(
            url: "https://example.com/a/b?c",
            redirectOrigins: ["https://hooks.example.com:443/", "http://127.0.0.1:81"])
        #expect(receiver.redirectOrigins == ["https://hooks.example.com", "http://127.0.0.1:81"])
        for (location, text, isAllowed) in [
            ("/x", "https://example.com/x", true), ("x", "https://example.com/a/x", true),
            ("?x", "https://example.com/a/b?x", true), ("#x", "https://example.com/a/b?c", true),
            ("https://EXAMPLE.com/", "https://example.com/", true),
            ("//hooks.example.com/x", "https://hooks.example.com/x", true),
            ("http://127.0.0.1:81/", "http://127.0.0.1:81/", true),
            ("http://127.0.0.1:82/", "http://127.0.0.1:82/", false),
            ("https://example.com:444/", "https://example.com:444/", false),
            ("https://hooks.example.com.evil.example/", "https://hooks.example.com.evil.example/", false),
        ] {
            let address = try #require(receiver.address.redirected(to: location), "\(location)")
            #expect(address.text == text && receiver.allows(address) == isAllowed, "\(location)")
        }
        for location in [
            "", "http://example.com/", "ftp://example.com/", "mailto:a@example.com", "//a@example.com", "/\n",
        ] {
            #expect(receiver.address.redirected(to: location) == nil, "\(location)")
        }
        for origins in [["https://example.com/path"], ["x"], Array(repeating: "https://example.com", count: 17)] {
            #expect(throws: StoreError.self) {
                try NotificationReceiver(url: "https://example.com", redirectOrigins: origins)
            }
        }
    }
}
