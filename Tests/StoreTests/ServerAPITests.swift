import CornerstoreEncoding
import Crypto
import Database
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

private typealias Items = TestAPI.Items

/// The App Store Server API of a test's store, and a key of its app.
struct TestAPI {
    /// The names and values of a query.
    typealias Items = [(name: String, value: String)]

    /// A page of a history.
    struct HistoryAnswer {
        var ids: [String]
        var revision: String
        var hasMore: Bool
        var object: [String: Any]
    }

    /// The status of one subscription.
    struct StatusAnswer {
        var group: String
        var status: Int
        var transaction: [String: Any]
        var renewal: [String: Any]
    }

    static let now: Double = 1_770_000_000

    let test: TestStore
    let api: ServerAPI
    let keys: APIKeys
    let key: NewAPIKey

    init(_ test: TestStore) async throws {
        self.test = test
        keys = try await APIKeys.open(test.databases)
        key = try await keys.make(for: TestStore.bundleID, at: 1)
        let identity = try await TestAuthority.value.jwsIdentity(for: test.store.environment)
        api = ServerAPI(
            test.store, identity: { identity }, keys: keys,
            realTime: { Date(timeIntervalSince1970: Self.now) })
    }

    /// The time in seconds, that long from now.
    static func at(_ seconds: Double) -> Double { now + seconds }

    /// The value of `Authorization`, as Apple's libraries write it. A claim that is nil is left out.
    func authorization(
        header: [String: String] = [:], claims: [String: Any?] = [:], signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        var head: [String: Any] = ["alg": "ES256", "kid": key.key.keyID, "typ": "JWT"]
        for (name, value) in header { head[name] = value }
        var body: [String: Any] = [
            "iss": key.key.issuerID, "iat": Self.now, "exp": Self.at(300), "aud": "appstoreconnect-v1",
            "bid": TestStore.bundleID.rawValue,
        ]
        for (name, value) in claims { body[name] = value }
        let parts = try [head, body].map { Base64URL.encoded(try JSONSerialization.data(withJSONObject: $0)) }
        let input = parts.joined(separator: ".")
        let signer = try signer ?? P256.Signing.PrivateKey(pemRepresentation: key.privateKey)
        let signature = try signer.signature(for: SHA256.hash(data: Data(input.utf8)))
        return "Bearer \(input).\(Base64URL.encoded(signature.rawRepresentation))"
    }

    /// The app that a token is good for.
    func judge(_ authorization: String?) async throws -> BundleID? {
        try await api.bundleID(authorizing: authorization)
    }

    /// The object of an answer.
    func object(_ json: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    /// The payload of a signed text.
    func payload(_ signed: Any?) throws -> [String: Any] {
        let text = try #require(signed as? String)
        return try object(try SignedPayload.parse(Array(text.utf8)).payload)
    }

    /// The payload of one transaction.
    func transaction(_ id: String, of bundleID: BundleID = TestStore.bundleID) async throws -> [String: Any] {
        try payload(try object(try await api.transaction(id, of: bundleID))["signedTransactionInfo"])
    }

    /// One page of a history.
    func page(_ id: String, _ items: Items = [], version: Int = 2) async throws -> HistoryAnswer {
        let page = try object(try await api.history(id, items, version: version, of: TestStore.bundleID))
        let signed = try #require(page["signedTransactions"] as? [String])
        return HistoryAnswer(
            ids: try signed.map { try #require(try payload($0)["transactionId"] as? String) },
            revision: try #require(page["revision"] as? String), hasMore: try #require(page["hasMore"] as? Bool),
            object: page)
    }

    /// All pages of a history: the identifiers of the transactions.
    func history(_ id: String, _ items: Items = []) async throws -> [String] {
        var found: [String] = []
        var query = items
        while true {
            let page = try await page(id, query)
            #expect(page.ids.count <= 20)
            found += page.ids
            if !page.hasMore { return found }
            query = items + [(name: "revision", value: page.revision)]
        }
    }

    /// The statuses of a customer's subscriptions.
    func statuses(_ id: TransactionID, _ wanted: [String] = []) async throws -> [StatusAnswer] {
        let answer = try object(try await api.statuses(id.description, wanted, of: TestStore.bundleID))
        var all: [StatusAnswer] = []
        for group in try #require(answer["data"] as? [[String: Any]]) {
            let groupID = try #require(group["subscriptionGroupIdentifier"] as? String)
            for item in try #require(group["lastTransactions"] as? [[String: Any]]) {
                all.append(
                    StatusAnswer(
                        group: groupID, status: try #require(item["status"] as? Int),
                        transaction: try payload(item["signedTransactionInfo"]),
                        renewal: try payload(item["signedRenewalInfo"])))
            }
        }
        return all
    }
}

@Suite("The App Store Server API", .timeLimit(.minutes(1))) struct ServerAPITests {
    @Test func goodTokensAreAccepted() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let api = try await TestAPI(test)
            let good: [[String: Any?]] = [
                [:], ["iat": nil], ["iat": TestAPI.at(30)], ["exp": TestAPI.at(3_599)], ["nonce": "n"],
                ["aud": ["appstoreconnect-v1"]],
            ]
            for claims in good {
                #expect(try await api.judge(api.authorization(claims: claims)) == TestStore.bundleID, "\(claims)")
            }
            let small = try api.authorization().replacing("Bearer", with: "bearer")
            #expect(try await api.judge(small) == TestStore.bundleID)
        }
    }

    @Test func otherTokensAreRefused() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let api = try await TestAPI(test)
            let refused: [[String: Any?]] = [
                ["exp": nil], ["exp": TestAPI.at(0)], ["exp": TestAPI.at(3_600)], ["exp": "1770000300"],
                ["iat": TestAPI.at(120)], ["iat": TestAPI.at(-3_500), "exp": TestAPI.at(200)], ["iat": "1770000000"],
                ["aud": nil], ["aud": "appstoreconnect-v2"], ["iss": nil], ["iss": UUID().uuidString], ["bid": nil],
                ["bid": "com.example.other"], ["bid": TestStore.bundleID.rawValue.uppercased()],
            ]
            for claims in refused {
                #expect(try await api.judge(api.authorization(claims: claims)) == nil, "\(claims)")
            }
            for header in [["alg": "none"], ["alg": "HS256"], ["kid": "AAAAAAAAAA"], ["crit": "exp"]] {
                #expect(try await api.judge(api.authorization(header: header)) == nil, "\(header)")
            }
            #expect(try await api.judge(api.authorization(signer: P256.Signing.PrivateKey())) == nil)
            let good = try api.authorization()
            let token = String(good.dropFirst("Bearer ".count))
            let malformed: [String?] = [
                nil, "", "Bearer", "Bearer ", token, "Basic \(token)", String(good.dropLast()), "\(good)A",
                "\(good).AAAA", good.replacing(".", with: ""),
                "Bearer \(String(repeating: "a", count: 1_000_000))",
            ]
            for bad in malformed { #expect(try await api.judge(bad) == nil) }
            #expect(try await api.judge(good) == TestStore.bundleID)
            _ = try await api.keys.revoke(api.key.key.keyID, at: 2)
            #expect(try await api.judge(good) == nil)
        }
    }

    @Test(arguments: Backend.available)
    func aProcessThatMayHaveMissedARevocationAsksTheDatabase(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let isFresh = Mutex(true)
            let here = try await TestAPI(test)
            // Opened when the key existed, as by another process that heard of it.
            let there = try await APIKeys.open(test.databases, isFresh: { isFresh.withLock { $0 } })
            let (keyID, token) = (here.key.key.keyID, try here.authorization())
            func judge() async throws -> APIKey? {
                try await there.confirmed { APIToken.key(authorizing: token, there, at: TestAPI.now) }
            }
            for value in [true, false] {
                isFresh.withLock { $0 = value }
                #expect(try await judge() == here.key.key)
            }
            _ = try await here.keys.revoke(keyID, at: 2)
            #expect(try await judge() == nil)
            // It keeps the key that it has read, and uses it once it has heard of everything.
            isFresh.withLock { $0 = true }
            #expect(try await judge() == here.key.key)
            try await there.reload()
            #expect(try await judge() == nil)
        }
    }

    @Test(arguments: Backend.available)
    func `a process that may have missed a new key asks the database`(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let isFresh = Mutex(true)
            let there = try await APIKeys.open(test.databases, isFresh: { isFresh.withLock { $0 } })
            // Makes a key of which the other process does not hear.
            let here = try await TestAPI(test)
            let (keyID, token) = (here.key.key.keyID, try here.authorization())
            @Sendable func judge() async throws -> APIKey? {
                try await there.confirmed { APIToken.key(authorizing: token, there, at: TestAPI.now) }
            }
            #expect(try await judge() == nil)
            isFresh.withLock { $0 = false }
            let found = try await withThrowingTaskGroup(of: APIKey?.self) { group in
                for _ in 0..<20 { group.addTask { try await judge() } }
                return try await group.reduce(into: [APIKey?]()) { $0.append($1) }
            }
            #expect(found == Array(repeating: here.key.key, count: 20))
            // A later key is not in what was read for the first one.
            let next = try await here.keys.make(for: TestStore.bundleID, at: 2).key
            #expect(try await there.confirmed { there[next.keyID] } == next)
            #expect(try await there.confirmed { there["0000000000"] } == nil)
            _ = try await here.keys.revoke(keyID, at: 3)
            #expect(try await judge() == nil)
            isFresh.withLock { $0 = true }
            #expect(there[next.keyID] == next)
        }
    }

    @Test(arguments: Backend.available) func keysAreKept(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let keys = try await APIKeys.open(test.databases)
            let (one, other) = (
                try await keys.make(for: TestStore.bundleID, at: 1).key,
                try await keys.make(for: "com.example.other", at: 2).key
            )
            #expect(one.issuerID == other.issuerID && one.keyID != other.keyID)
            let revoked = try await keys.revoke(one.keyID, at: 3)
            #expect(revoked.revokedAt == 3)
            #expect(try await keys.revoke(one.keyID, at: 4) == revoked)
            #expect(keys.all == [revoked, other])
            #expect(try await APIKeys.open(test.databases).all == [revoked, other])
            #expect(try await refusal { try await keys.revoke("0000000000", at: 5) } == .notFound)
        }
    }

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aTransactionIsFoundByItsIdentifier(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let api = try await TestAPI(test)
            let bought = try await test.buy("credits5", by: test.account(), quantity: 3)
            let id = bought.transactionID.description
            let payload = try await api.transaction(id)
            #expect(payload["transactionId"] as? String == id)
            #expect(payload["type"] as? String == "Consumable" && payload["quantity"] as? Int == 3)
            #expect(payload["environment"] as? String == environment.rawValue)
            #expect(payload["signedDate"] as? Int == Int(test.store.clock.milliseconds))
            for bad in ["", "0", "-1", "abc", "12345678901234567890", "1 ", "9e9"] {
                await #expect(throws: APIError.invalidTransactionID, "\(bad)") {
                    try await api.api.transaction(bad, of: TestStore.bundleID)
                }
            }
            let unknown: [(id: String, app: BundleID)] = [("999", TestStore.bundleID), (id, "com.example.other")]
            for (id, app) in unknown {
                await #expect(throws: APIError.transactionNotFound) { try await api.api.transaction(id, of: app) }
                for version in [1, 2] {
                    await #expect(throws: APIError.transactionNotFound) {
                        try await api.api.history(id, [], version: version, of: app)
                    }
                }
                await #expect(throws: APIError.transactionNotFound) { try await api.api.statuses(id, [], of: app) }
            }
        }
    }

    @Test(arguments: Backend.available) func aRestoredTransactionIsFound(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let bought = try await test.buy("hats", by: account)
            try await test.store.finish(bought.transactionID, of: account)
            let request = RestoreRequest(
                idempotencyKey: UUID(), bundleID: TestStore.bundleID, deviceID: UUID(), applicationUsername: nil,
                after: nil)
            let restored = try #require(try await test.store.restore(request, for: account).transactions.first)
            let payload = try await api.transaction(restored.transactionID.description)
            #expect(payload["transactionId"] as? String == restored.transactionID.description)
            #expect(payload["originalTransactionId"] as? String == bought.transactionID.description)
            #expect(try await api.history(restored.transactionID.description) == [bought.transactionID.description])
        }
    }

    @Test(arguments: Backend.available) func aHistoryHasPagesFiltersAndRowsThatMove(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let hats = try await test.buy("hats", by: account)
            for number in 0..<25 {
                let credits = try await test.buy("credits5", by: account)
                if number % 2 == 0 { try await test.store.finish(credits.transactionID, of: account) }
            }
            try await test.buy("gym.monthly", by: account)
            try await test.store.changeClock { try $0.advance(months: 2) }
            let ids = try await test.ledger().map(\.transactionID.description)
            #expect(ids.count == 29)
            let id = hats.transactionID.description
            #expect(try await api.history(id) == ids)
            #expect(try await api.history(id, [(name: "sort", value: "DESCENDING")]) == Array(ids.reversed()))
            let filters: [(items: Items, count: Int)] = [
                ([(name: "productType", value: "AUTO_RENEWABLE")], 3),
                ([(name: "productId", value: "hats"), (name: "productId", value: "gym.monthly")], 4),
                ([(name: "inAppOwnershipType", value: "FAMILY_SHARED")], 0),
                ([(name: "startDate", value: "\(TestClock.start + 1_000)")], 2),
                ([(name: "endDate", value: "\(TestClock.start + 1_000)")], 27),
            ]
            for filter in filters {
                #expect(try await api.history(id, filter.items).count == filter.count, "\(filter.items)")
            }
            // A refunded row moves to the end.
            _ = try await test.store.refund(hats.transactionID, reason: .other)
            #expect(try await api.history(id) == Array(ids.dropFirst()) + [ids[0]])
            #expect(try await api.history(id, [(name: "revoked", value: "True")]) == [ids[0]])
            // Version 1 leaves finished consumables out.
            let old = try await api.page(id, [(name: "productType", value: "CONSUMABLE")], version: 1)
            #expect(old.ids.count == 12 && !old.hasMore)
            #expect(old.object["appAppleId"] == nil)
            #expect(old.object["bundleId"] as? String == TestStore.bundleID.rawValue)
        }
    }

    @Test(arguments: Backend.available) func rowsThatChangeTogetherAreAllShown(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            for _ in 0..<30 {
                let hats = try await test.buy("hats", by: account)
                try await test.store.finish(hats.transactionID, of: account)
            }
            let ids = try await test.ledger().map(\.transactionID.description)
            let first = try #require(try await test.ledger().first)
            _ = try await test.store.refund(first.transactionID, reason: .other)
            #expect(try await api.history(ids[0]) == ids)
            #expect(try await api.history(ids[0], [(name: "sort", value: "DESCENDING")]) == Array(ids.reversed()))
        }
    }

    @Test(arguments: Backend.available) func aRevisionIsGoodForLater(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let account = try await test.account()
            let id = try await test.buy("credits5", by: account).transactionID.description
            let filter: Items = [(name: "productType", value: "CONSUMABLE")]
            func next(_ revision: String) async throws -> TestAPI.HistoryAnswer {
                try await api.page(id, filter + [(name: "revision", value: revision)])
            }
            let first = try await api.page(id, filter)
            #expect(first.ids == [id] && !first.hasMore)
            let empty = try await next(first.revision)
            #expect(empty.ids.isEmpty && empty.revision == first.revision)
            // What the query leaves out is not looked at again.
            try await test.buy("hats", by: account)
            let passed = try await next(first.revision)
            #expect(passed.ids.isEmpty && passed.revision != first.revision)
            let later = try await test.buy("credits5", by: account).transactionID
            #expect(try await next(first.revision).ids == [later.description])
            #expect(try await next(passed.revision).ids == [later.description])
            let end = try await next(passed.revision).revision
            _ = try await test.store.refund(later, reason: .other)
            #expect(try await next(end).ids == [later.description])
        }
    }

    /// Two processes take identifiers, and the clock of one is slow. What it commits last comes last.
    @Test(arguments: Backend.available) func aRevisionMissesNothingThatIsCommittedLater(
        _ backend: Backend
    ) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let test = try await TestStore.open(database, apps: apps, clock: clock)
            let slow = try await TestStore.open(database, apps: apps, clock: TestClock())
            clock.milliseconds += 60_000
            let api = try await TestAPI(test)
            let account = try await test.account()
            let bought = try await test.buy("credits5", by: account).transactionID
            let id = bought.description
            func next(_ revision: String) async throws -> TestAPI.HistoryAnswer {
                try await api.page(id, [(name: "revision", value: revision)])
            }
            let first = try await api.page(id)
            #expect(first.ids == [id])
            let late = try await slow.buy("credits5", by: account).transactionID
            #expect(late < bought)
            let second = try await next(first.revision)
            #expect(second.ids == [late.description])
            // A change is as late.
            _ = try await slow.store.refund(bought, reason: .other)
            let third = try await next(second.revision)
            #expect(third.ids == [id])
            // Each of many that are committed at the same time is seen.
            var revision = third.revision
            var seen: [String] = []
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    let (store, request) = (number % 2 == 0 ? test.store : slow.store, test.request("credits5"))
                    group.addTask { _ = try await store.purchase(request, by: account) }
                }
                for try await _ in group {
                    let page = try await next(revision)
                    revision = page.revision
                    seen += page.ids
                }
            }
            #expect(Set(seen).count == 8 && seen.count == 8)
            #expect(try await api.history(id) == [late.description, id] + seen)
        }
    }

    @Test(arguments: Backend.available) func badParametersAreRefused(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let api = try await TestAPI(test)
            let id = try await test.buy("credits5", by: test.account()).transactionID.description
            let filter: Items = [(name: "productType", value: "CONSUMABLE")]
            let revision = try await api.page(id, filter).revision
            // A revision belongs to its query.
            let foreign: [(items: Items, version: Int)] = [
                (filter + [(name: "revision", value: "\(revision)0")], 2),
                (filter + [(name: "revision", value: revision)], 1),
                ([(name: "revision", value: revision)], 2), ([(name: "revision", value: "x")], 2),
            ]
            for (items, version) in foreign {
                await #expect(throws: APIError.invalidRevision) {
                    try await api.api.history(id, items, version: version, of: TestStore.bundleID)
                }
            }
            let bad: [(name: String, value: String, error: APIError)] = [
                ("startDate", "x", .invalidStartDate), ("endDate", "-1", .invalidEndDate), ("sort", "UP", .invalidSort),
                ("productType", "BOOK", .invalidProductType), ("revoked", "maybe", .invalidRevoked),
                ("excludeRevoked", "", .invalidExcludeRevoked), ("inAppOwnershipType", "MINE", .invalidOwnership),
                ("productId", "", .invalidProductID), ("subscriptionGroupIdentifier", "", .invalidGroup),
            ]
            for (name, value, error) in bad {
                await #expect(throws: error, "\(name)") {
                    try await api.api.history(
                        id, [(name: name, value: value)], version: 2, of: TestStore.bundleID)
                }
            }
        }
    }

    @Test(arguments: Backend.available) func statusesAreByGroup(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let api = try await TestAPI(home.test)
            let bought = try await home.test.buy("gym.monthly", by: home.anna)
            try await home.test.buy("club.monthly", by: home.anna)
            #expect(try await api.statuses(bought.transactionID).map(\.status) == [1, 1])
            try await home.test.cancelSubscriptions(of: home.anna)
            try await home.advance(days: 40)
            let own = try await api.statuses(bought.transactionID)
            #expect(own.map(\.status) == [2, 2] && Set(own.map(\.group)).count == 2)
            let customer = AppTransactionID(bought.transactionID).description
            for status in own {
                #expect(status.renewal["expirationIntent"] as? Int == 1)
                #expect(status.renewal["appTransactionId"] as? String == customer)
                #expect(status.transaction["appTransactionId"] as? String == customer)
            }
            #expect(try await api.statuses(bought.transactionID, ["1", "4"]).isEmpty)
            #expect(try await api.statuses(bought.transactionID, ["1", "2"]).count == 2)
            let share = try #require(try await home.ledger(home.ben).first)
            let shared = try await api.statuses(share.transactionID)
            #expect(shared.map(\.status) == [2, 2])
            #expect(shared.allSatisfy { $0.transaction["inAppOwnershipType"] as? String == "FAMILY_SHARED" })
            #expect(
                try await api.statuses(bought.transactionID, Array(repeating: "2", count: 100)).count == 2)
            for wrong in [["6"], Array(repeating: "2", count: 101)] {
                await #expect(throws: APIError.invalidStatus) {
                    try await api.api.statuses(bought.transactionID.description, wrong, of: TestStore.bundleID)
                }
            }
        }
    }
}
