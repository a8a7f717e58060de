import BlobStorage
import Crypto
import Database
import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct OperationTests {
    @Test(arguments: Backend.available) func eventsWaitUntilTheyAreDelivered(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), shop.purchase("pro", 2), for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 1), by: "ann")
            let outbox = shop.merchant.outbox
            let now = shop.clock.milliseconds
            #expect(try await outbox.nextDue() == now)
            let taken = try await outbox.takeDueEvents(limit: 2, retries: 2, now: now, leaseEnd: now + 10)
            let rest = try await outbox.takeDueEvents(limit: 9, retries: 9, now: now, leaseEnd: now + 10)
            #expect(taken.count == 2 && rest.count == 1)
            #expect(
                (taken + rest).map(\.type).sorted() == ["balance.changed", "purchase.redeemed", "purchase.redeemed"])
            #expect(try await outbox.takeDueEvents(limit: 9, retries: 9, now: now, leaseEnd: now + 10).isEmpty)
            let answer = WebhookAnswer(sentAt: now, duration: 1, status: nil)
            try await outbox.settle(taken[0], .delivered, answer, now: now)
            try await outbox.settle(taken[1], .retry(at: now + 5, reason: "503"), answer, now: now)
            try await outbox.settle(rest[0], .dead(reason: "gone"), answer, now: now)
            // What was tried before has places of its own.
            #expect(try await outbox.nextDue() == now + 5)
            #expect(try await outbox.takeDueEvents(limit: 9, retries: 0, now: now + 5, leaseEnd: now + 10).isEmpty)
            let again = try await outbox.takeDueEvents(limit: 0, retries: 9, now: now + 5, leaseEnd: now + 10)
            #expect(again.map(\.eventID) == [taken[1].eventID] && again.first?.attempts == 1)
            #expect(try await shop.merchant.deadWebhooks().events.map(\.reason) == ["gone"])
            try await shop.merchant.replayWebhook(rest[0].eventID)
            #expect(try await shop.merchant.deadWebhooks().events.isEmpty)
            #expect(
                try await outbox.takeDueEvents(limit: 9, retries: 9, now: now, leaseEnd: now).map(\.eventID) == [
                    rest[0].eventID
                ])
            #expect(
                try await shop.code { try await shop.merchant.replayWebhook(taken[0].eventID) } == .notFound)
        }
    }

    @Test(arguments: Backend.available) func aTestEventIsDeliveredLikeAnyOther(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let ids = [try await shop.merchant.sendTestEvent(), try await shop.merchant.sendTestEvent()]
            let now = shop.clock.milliseconds
            let events = try await shop.merchant.outbox.takeDueEvents(
                limit: 9, retries: 9, now: now, leaseEnd: now + 10)
            #expect(Set(events.map(\.eventID)) == Set(ids) && ids[0] != ids[1])
            for event in events {
                #expect(
                    String(decoding: event.body, as: UTF8.self)
                        == #"{"createdAt":\#(now),"data":{},"id":"\#(event.eventID)","type":"webhook.test"}"#)
            }
        }
        try await TestMerchant.with(backend) { shop async throws in
            #expect(try await shop.code { _ = try await shop.merchant.sendTestEvent() } == .notFound)
        }
    }

    @Test(arguments: Backend.available) func aProductIsChangedInOneStep(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let merchant = shop.merchant
            let app = TestMerchant.bundleID
            let known = try #require(try await merchant.product(app, "coins"))
            #expect(known.isFromFile && known.product.grants == [.credits("gems", amount: 100, lifetime: nil)])
            #expect(try await merchant.product(app, "none") == nil)
            // Changes of the same product at the same time are all kept.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await merchant.edit(app, "coins") { old in
                            guard var product = old else { throw MerchantError(.notFound) }
                            product.grants.append(.entitlement(EntitlementID("right-\(number)")))
                            return product
                        }
                    }
                }
                try await group.waitForAll()
            }
            let changed = try #require(try await merchant.product(app, "coins"))
            #expect(changed.product.grants.count == 9 && !changed.isFromFile)
            let revision = try await merchant.allProducts().revision
            try await merchant.put(changed.product)
            #expect(try await merchant.allProducts().revision == revision)
            #expect(
                try await shop.code {
                    try await merchant.edit(app, "none") { _ in throw MerchantError(.notFound) }
                } == .notFound)
            #expect(
                try await shop.code {
                    try await merchant.edit(app, "coins") { _ in
                        MerchantProduct(
                            bundleID: app, productID: "coins", kind: .nonConsumable, grants: [.content("a")])
                    }
                } == .invalidRequest)
            #expect(try await merchant.product(app, "coins")?.product == changed.product)
        }
    }

    @Test(arguments: Backend.available) func anAppsListHasNoMoreThanItsClientTakes(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let merchant = shop.merchant
            let known = try await merchant.allProducts().products
            func file(_ count: Int) throws -> ProductsFile {
                let lines = (1...count).map {
                    "  - {id: more\($0), kind: nonConsumable, grants: [{content: more-\($0)}]}\n"
                }
                let text = "app: com.example.books\nproducts:\n" + lines.joined()
                return try ProductsFile(yaml: Array(text.utf8), file: "more.yaml")
            }
            try await merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "own", kind: .consumable,
                    grants: [.credits("gems", amount: 1, lifetime: nil)]))
            // With the one of the API it would be one too many; nothing of it is taken.
            #expect(try await shop.code { _ = try await merchant.importProducts(from: try file(5_000)) } == .tooLarge)
            #expect(try await merchant.allProducts().products.count == known.count + 1)
            // What is off sale does not count.
            #expect(try await merchant.importProducts(from: try file(4_999)))
            var last = try #require(try await merchant.product(TestMerchant.bundleID, "own")).product
            last.productID = "another"
            let tooMany = last
            #expect(try await shop.code { try await merchant.put(tooMany) } == .tooLarge)
            last.isOnSale = false
            try await merchant.put(last)
        }
    }

    /// What ended is taken out, and told of, by the server; who looks beside it must not do it in silence.
    @Test(arguments: Backend.available) func readsChangeNothing(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            _ = try await shop.redeem(shop.purchase("passing", 1), shop.purchase("coins", 2), for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 20), by: "ann")
            #expect(try await shop.merchant.readReport(of: "ann").balances.map(\.amount) == [130])
            shop.clock.milliseconds += 1_000_000
            let now = shop.clock.milliseconds
            let old = try await shop.merchant.outbox.takeDueEvents(limit: 9, retries: 9, now: now, leaseEnd: .max)
            #expect(old.count == 3)
            #expect(try await shop.merchant.readReport(of: "ann").balances.map(\.amount) == [100])
            #expect(try await shop.merchant.readHistory(of: "ann", "gems", before: nil).entries.count == 3)
            #expect(
                try await shop.merchant.outbox.takeDueEvents(limit: 9, retries: 9, now: now, leaseEnd: .max).isEmpty)
            let report = try await shop.merchant.report(of: "ann")
            #expect(try await shop.merchant.readReport(of: "ann") == report)
            #expect(try await shop.merchant.history(of: "ann", "gems", before: nil).entries.first?.kind == .expiry)
            #expect(
                try await shop.merchant.outbox.takeDueEvents(limit: 9, retries: 9, now: now, leaseEnd: .max).count == 1)
        }
    }

    @Test(arguments: Backend.available) func anExpiryIsReportedOnceByAnyRequest(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            func news() async throws -> [String] {
                try await shop.merchant.outbox.takeDueEvents(
                    limit: 99, retries: 99, now: shop.clock.milliseconds, leaseEnd: .max
                ).map { event in
                    let body = String(decoding: event.body, as: UTF8.self)
                    return ["expiry", "spend"].first { body.contains("\"reason\":\"\($0)\"") } ?? event.type
                }.sorted()
            }
            func passing(_ id: Int) async throws -> VerifiedPurchase {
                let purchase = shop.purchase("passing", id)
                _ = try await shop.redeem(purchase, for: "ann")
                _ = try await news()
                shop.clock.milliseconds += 1_000_000
                return purchase
            }
            func spend(_ key: String, _ amount: Int64) async throws {
                _ = try await shop.merchant.spend(
                    SpendRequest(key: key, currency: "gems", amount: amount), by: "ann")
            }
            // A spend that is refused.
            _ = try await passing(1)
            #expect(try await shop.code { try await spend("a", 10) } == .insufficientBalance)
            #expect(try await news() == ["expiry"])
            // One that is not.
            _ = try await shop.redeem(shop.purchase("coins", 2), for: "ann")
            _ = try await passing(3)
            try await spend("b", 10)
            #expect(try await news() == ["expiry", "spend"])
            // A refund, and its reversal.
            let refunded = try await passing(4)
            try await shop.notify("REFUND", refunded)
            #expect(try await news() == ["expiry", "purchase.revoked"])
            let early = shop.purchase("passing", 5)
            _ = try await shop.redeem(early, for: "ann")
            try await shop.notify("REFUND", early)
            _ = try await news()
            shop.clock.milliseconds += 1_000_000
            try await shop.notify("REFUND_REVERSED", early)
            #expect(try await news() == ["expiry", "purchase.reinstated"])
            #expect(try await shop.gems("ann") == 90)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func keysAreKeptByTheirDigests(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let keys = shop.merchant.apiKeys
            let first = APIKeyRecord(name: "backend", digest: [1, 2], scopes: ["ledger", "users"], createdAt: 1)
            try await keys.insert(first)
            #expect(try await keys.apiKey(digest: [1, 2]) == first)
            #expect(try await keys.apiKey(digest: [2, 1]) == nil)
            let second = APIKeyRecord(name: "backend", digest: [3], scopes: ["users"], createdAt: 2)
            #expect(try await shop.code { try await keys.insert(second) } == .invalidRequest)
            #expect(try await keys.revokeAPIKey(name: "backend", at: 3))
            #expect(try await !keys.revokeAPIKey(name: "backend", at: 3))
            try await keys.insert(second)
            #expect(try await keys.apiKeys().map(\.revokedAt) == [3, nil])
        }
    }

    @Test(arguments: Backend.available) func contentBelongsToItsBuyer(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            try await TemporaryDirectory.with { directory async throws in
                func add(_ text: String) async throws -> ContentVersion {
                    let file = directory.url.appendingPathComponent("file")
                    try Data(text.utf8).write(to: file)
                    return try await shop.merchant.addContent(
                        "issue-12", file: file, digest: BlobDigest(SHA256.hash(data: Array(text.utf8))),
                        size: Int64(text.utf8.count), mediaType: "text/plain")
                }
                let issue = shop.purchase("issue", 1)
                func code(_ body: () async throws -> ContentVersion) async throws -> MerchantErrorCode? {
                    try await shop.code { _ = try await body() }
                }
                #expect(try await code { try await shop.merchant.content("issue-12", for: "ann") } == .notEntitled)
                _ = try await shop.redeem(issue, for: "ann")
                #expect(try await code { try await shop.merchant.content("issue-12", for: "ann") } == .unknownContent)
                #expect(try await add("one").version == 1)
                #expect(try await add("one").version == 1)
                #expect(try await add("two, corrected").version == 2)
                #expect(try await shop.merchant.content("issue-12", for: "ann").size == 14)
                #expect(try await code { try await shop.merchant.content("issue-12", for: "bob") } == .notEntitled)
                #expect(try await shop.merchant.contentList().items.map(\.version) == [2])
                // Against the proof alone, before it is redeemed; what is another's stays another's.
                let mine = Evidence.receipt(try shop.receipt([shop.inApp("issue", "2000000000000007")]))
                #expect(try await shop.merchant.content("issue-12", for: "bob", against: mine).version == 2)
                _ = try await shop.merchant.redeem(mine, for: "bob")
                #expect(
                    try await code { try await shop.merchant.content("issue-12", for: "cid", against: mine) }
                        == .alreadyRedeemed)
                let coins = Evidence.receipt(try shop.receipt([shop.inApp("coins", "2000000000000008")]))
                #expect(
                    try await code { try await shop.merchant.content("issue-12", for: "bob", against: coins) }
                        == .notEntitled)
                try await shop.notify("REFUND", issue)
                #expect(try await code { try await shop.merchant.content("issue-12", for: "ann") } == .notEntitled)
            }
        }
    }

    @Test(arguments: Backend.available) func aSubscribersOldReceiptStillBringsTheContent(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            try await TemporaryDirectory.with { directory async throws in
                let file = directory.url.appendingPathComponent("file")
                try Data("text".utf8).write(to: file)
                _ = try await shop.merchant.addContent(
                    "issue-12", file: file, digest: BlobDigest(SHA256.hash(data: Array("text".utf8))), size: 4,
                    mediaType: "text/plain")
                func period(_ id: String) throws -> Evidence {
                    .signedTransaction(
                        try shop.sign(
                            shop.transaction(
                                "magazine", id,
                                [
                                    "originalTransactionId": "2000000000000001", "webOrderLineItemId": id,
                                    "expiresDate": shop.clock.milliseconds + 60_000,
                                    "type": "Auto-Renewable Subscription",
                                ])))
                }
                let first = try period("2000000000000001")
                func code() async throws -> MerchantErrorCode? {
                    try await shop.code { _ = try await shop.merchant.content("issue-12", for: "ann", against: first) }
                }
                _ = try await shop.merchant.redeem(first, for: "ann")
                #expect(try await code() == nil)
                shop.clock.milliseconds += 60_000
                #expect(try await code() == .expired)
                _ = try await shop.merchant.redeem(try period("2000000000000002"), for: "ann")
                #expect(try await code() == nil)
                // Nobody else has more by it.
                #expect(
                    try await shop.code {
                        _ = try await shop.merchant.content("issue-12", for: "bob", against: first)
                    } == .expired)
            }
        }
    }

    @Test(arguments: Backend.available) func aStoreKeepsItsAnchor(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let old = TrustedStore(anchor: "first", roots: [[1]])
            #expect(try await Merchant.recordAnchors([old], in: shop.database).map(\.anchor) == ["first"])
            let new = TrustedStore(anchor: "second", roots: [[2], [1]])
            #expect(try await Merchant.recordAnchors([new], in: shop.database).map(\.anchor) == ["first"])
            let later = TrustedStore(anchor: "third", roots: [[2]])
            #expect(try await Merchant.recordAnchors([later], in: shop.database).map(\.anchor) == ["first"])
        }
    }

    @Test(arguments: [
        ("app: a\nproducts: []\n", true), ("products: []\n", false), ("app: a\n", false), ("[", false), ("", false),
        ("app: a\nproducts:\n  - {id: x, kind: consumable, grants: [{entitlement: e}]}\n", true),
        (
            "# R&D *\napp: a\nproducts:\n"
                + "  - {id: x, kind: consumable, grants: [{entitlement: e}], shelf: \"* Arts & Crafts\"}\n", true
        ),
        ("app: a\nproducts: [&b {id: x, kind: consumable, grants: [{entitlement: e}]}]\n", false),
        ("app: a\nproducts: [{id: x, kind: consumable, grants: [{entitlement: e}], shelf:&b c}]\n", false),
        ("app: a\nproducts: {\"b\":*b}\n", false),
        ("app: a\nproducts:\n  - {id: x, kind: thing, grants: [{entitlement: e}]}\n", false),
        ("app: a\nproducts:\n  - {id: x, kind: consumable, grants: []}\n", false),
        ("app: a\nproducts:\n  - {id: x, kind: consumable, grants: [{credits: 1}]}\n", false),
        ("app: a\nproducts:\n  - {id: x, kind: consumable, grants: [{credits: 0, currency: c}]}\n", false),
        ("app: a\nproducts:\n  - {id: x, kind: consumable, grants: [{entitlement: e, content: c}]}\n", false),
        ("app: a\nproducts:\n  - {id: x, bundleID: b, kind: consumable, grants: [{entitlement: e}]}\n", false),
        ("app: a\nproducts:\n  - {kind: consumable, grants: [{entitlement: e}]}\n", false),
    ]) func aFileOfProductsIsCheckedAsAWhole(_ text: String, _ isGood: Bool) {
        let file = try? ProductsFile(yaml: Array(text.utf8), file: "p.yaml")
        #expect((file != nil) == isGood)
    }

    @Test(arguments: [
        (
            "{id: x, kind: consumable, grants: [{credits: 1, currency: c, lifetme: 30}]}",
            "products[0].grants[0].lifetme"
        ),
        ("{id: x, kind: consumable, grants: [{credits: 1, currency: c}], shelv: a}", "products[0].shelv"),
        ("{id: x, kind: consumable, grants: [{credits: 1}]}", "products[0].grants[0].currency is missing"),
        (
            "{id: x, kind: thing, grants: [{entitlement: e}]}",
            "products[0].kind: expected one of consumable, nonConsumable"
        ),
        ("{id: x, kind: consumable, grants: [{entitlement: e}]}\nprodukts: []", "produkts: unknown key"),
        (
            "{id: x, kind: consumable, grants: [{entitlement: e}]}\n  - {id: x, kind: consumable, grants: [{entitlement: e}]}",
            "product x is listed twice"
        ),
        ("&a {id: x, kind: consumable, grants: [{entitlement: e}]}", "line 3: a word begins with & or *"),
        ("{id: x, kind: consumable, grants: [{entitlement: e}], shelf: *a}", "line 3: a word begins with & or *"),
    ]) func whatIsMisspeltIsToldOfByItsPlace(_ product: String, _ words: String) {
        let error = #expect(throws: MerchantError.self) {
            try ProductsFile(yaml: Array("app: a\nproducts:\n  - \(product)\n".utf8), file: "p.yaml")
        }
        #expect(error?.detail.hasPrefix("p.yaml: \(words)") == true, "\(error?.detail ?? "")")
    }

    @Test func `only an error after which nothing was recorded says so`() {
        for code in [DatabaseError.Code.busy, .full, .serialization, .closed, .unavailable] {
            let error = MerchantError(databaseError: DatabaseError(code, "secret"))
            #expect(error?.code == .unavailable && error?.detail.contains("secret") == false)
            // The outcome of a commit whose connection broke is unknown.
            #expect(error?.detail.contains("Nothing was recorded") == (code != .unavailable), "\(code)")
            #expect(error?.detail.contains("same key") == (code == .unavailable), "\(code)")
            // A read changes nothing.
            #expect(error?.detail.contains("If the request changes something") == (code == .unavailable), "\(code)")
        }
    }

    @Test func theLogHearsWhyEvidenceWasRefused() {
        let error = MerchantError(ReceiptRejection(.badSignature, "the signature does not match"))
        #expect(error.code == .notGenuine && error.reason == "bad-signature: the signature does not match")
        #expect(!error.detail.contains("signature"))
    }
}
