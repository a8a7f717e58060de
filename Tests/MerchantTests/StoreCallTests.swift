import Database
import Foundation
import MerchantWire
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Merchant

/// The requests that the merchant has promised to send: consumption information and account tokens.
@Suite(.timeLimit(.minutes(1))) struct StoreCallTests {
    private func with(
        _ backend: Backend, _ change: (inout MerchantPolicy) -> Void = { _ in },
        _ body: (TestMerchant, ScriptedStoreAPI) async throws -> Void
    ) async throws {
        let api = ScriptedStoreAPI()
        api.answer { _ in [] }
        var policy = MerchantPolicy(environments: [.production, .sandbox])
        policy.consumption = ConsumptionPolicy(preference: .decline, hasSamples: true)
        change(&policy)
        try await TestMerchant.with(backend, policy: policy, storeAPI: api) { try await body($0, api) }
    }

    /// The body of the last request.
    private func body(_ api: ScriptedStoreAPI) throws -> [String: Any] {
        let sent = try #require(api.sent.last)
        switch sent.request {
        case .consumption(_, let body), .accountToken(_, let body):
            return try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        case .transaction, .statuses: return [:]
        }
    }

    private func spend(_ shop: TestMerchant, _ amount: Int64, _ key: String) async throws {
        _ = try await shop.merchant.spend(
            SpendRequest(key: key, currency: "gems", amount: amount, environment: .production), by: "ann")
    }

    @Test(arguments: Backend.available) func consumptionFollowsTheBooks(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let first = shop.purchase("coins", 1)
            let second = shop.purchase("coins", 2)
            _ = try await shop.redeem(first, for: "ann")
            _ = try await shop.redeem(second, for: "ann")
            try await spend(shop, 130, "k")
            _ = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            for (purchase, percentage) in [(first, 100_000), (second, 30_000)] {
                #expect(try await shop.notify("CONSUMPTION_REQUEST", purchase) == .applied)
                #expect(try await shop.merchant.sendStoreCalls() == 1)
                let body = try body(api)
                #expect(body["customerConsented"] as? Bool == true)
                #expect(body["sampleContentProvided"] as? Bool == true)
                #expect(body["deliveryStatus"] as? String == "DELIVERED")
                #expect(body["consumptionPercentage"] as? Int == percentage)
                #expect(body["refundPreference"] as? String == "DECLINE")
            }
            #expect(api.sent.map(\.environment) == [.production, .production])
            #expect(try await shop.merchant.sendStoreCalls() == 0)

            // Credits with a lifetime are counted by themselves, and are spent before the others.
            let passing = shop.purchase("passing", 3)
            _ = try await shop.redeem(passing, for: "ann")
            try await spend(shop, 20, "l")
            try await shop.notify("CONSUMPTION_REQUEST", passing)
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            #expect(try body(api)["consumptionPercentage"] as? Int == 40_000)

            // A right has no number, and what nobody has redeemed was not delivered.
            let pro = shop.purchase("pro", 4)
            _ = try await shop.redeem(pro, for: "ann")
            try await shop.notify("CONSUMPTION_REQUEST", pro)
            _ = try await shop.merchant.describe("ann")
            let named = shop.purchase("coins", 5, token: AccountToken.token(of: "ann"))
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            #expect(try body(api)["consumptionPercentage"] == nil)
            try await shop.notify("CONSUMPTION_REQUEST", named)
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            #expect(try body(api)["deliveryStatus"] as? String == "UNDELIVERED_OTHER")
        }
    }

    @Test(arguments: Backend.available)
    func `credits that were not spent, and credits with a lifetime, are not counted as spent`(_ backend: Backend)
        async throws
    {
        try await with(backend) { shop, api in
            _ = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            func consumed(_ purchase: VerifiedPurchase) async throws -> Int? {
                try await shop.notify("CONSUMPTION_REQUEST", purchase)
                #expect(try await shop.merchant.sendStoreCalls() == 1)
                return try body(api)["consumptionPercentage"] as? Int
            }
            let (first, second) = (shop.purchase("coins", 1), shop.purchase("coins", 2))
            _ = try await shop.redeem(first, for: "ann")
            _ = try await shop.redeem(second, for: "ann")
            // The first purchase's credits are taken back, so the second's are spent next.
            try await shop.notify("REFUND", first)
            try await spend(shop, 40, "a")
            #expect(try await consumed(second) == 40_000)
            // Later credits with a lifetime are spent before them, and later ones without a lifetime after them.
            let passing = shop.purchase("passing", 3)
            _ = try await shop.redeem(passing, shop.purchase("coins", 4), for: "ann")
            try await spend(shop, 50, "b")
            #expect(try await consumed(second) == 40_000)
            #expect(try await consumed(passing) == 100_000)
            // A partial refund of the second takes credits that nobody spent.
            try await shop.notify("REFUND", shop.purchase("coins", 2, revoked: true, share: 30_000))
            #expect(try await consumed(second) == 40_000)
            try await spend(shop, 30, "c")
            #expect(try await consumed(second) == 70_000)
        }
    }

    @Test(arguments: Backend.available) func nothingIsSentWithoutConsent(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let purchase = shop.purchase("coins", 1)
            _ = try await shop.redeem(purchase, for: "ann")
            #expect(try await shop.notify("CONSUMPTION_REQUEST", purchase) == .ignored)
            #expect(try await shop.merchant.consumptionConsent(of: "ann").changedAt == nil)
            let given = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            #expect(given.changedAt == shop.clock.milliseconds)
            shop.clock.milliseconds += 1_000
            #expect(try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true) == given)
            #expect(try await shop.notify("CONSUMPTION_REQUEST", purchase, id: "n") == .applied)
            #expect(try await shop.notify("CONSUMPTION_REQUEST", purchase, id: "n") == .duplicate)
            // Withdrawn before the answer was sent.
            let withdrawn = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: false)
            #expect(withdrawn.changedAt == shop.clock.milliseconds && !withdrawn.isGiven)
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            #expect(try await shop.notify("CONSUMPTION_REQUEST", purchase) == .ignored)
            #expect(api.sent.isEmpty)
        }
        try await with(backend) {
            $0.consumption = nil
        } _: { shop, api in
            let purchase = shop.purchase("coins", 1)
            _ = try await shop.redeem(purchase, for: "ann")
            _ = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            #expect(try await shop.notify("CONSUMPTION_REQUEST", purchase) == .ignored)
            #expect(try await shop.merchant.sendStoreCalls() == 0)
        }
    }

    /// A process may end at any moment: what it had taken is sent by the next one after the lease.
    @Test(arguments: Backend.available) func aPromiseSurvivesACrashAndIsRetried(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let purchase = shop.purchase("coins", 1)
            _ = try await shop.redeem(purchase, for: "ann")
            _ = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            let now = shop.clock.milliseconds
            let taken = try await shop.database.write {
                try StoreCalls.takeDue(
                    to: .production, at: now, leaseEnd: now + Merchant.storeCallLease, limit: 16, $0)
            }
            #expect(taken.count == 1)
            #expect(try await shop.merchant.sendStoreCalls() == 0)
            shop.clock.milliseconds += Merchant.storeCallLease
            api.fail(.unavailable)
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            #expect(try await shop.merchant.sendStoreCalls() == 0)
            shop.clock.milliseconds += 60_000
            api.answer { _ in [] }
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            let results = try await shop.database.read { connection in
                try connection.query("SELECT result FROM api_calls").map { try $0.optionalString(0) }
            }
            #expect(results == ["accepted"])

            // Given up after 12 hours, and at once when the store refuses.
            api.fail(.unavailable)
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            var attempts = 0
            for _ in 0..<100 {
                attempts += try await shop.merchant.sendStoreCalls()
                shop.clock.milliseconds += 3_600_000
            }
            #expect((10...20).contains(attempts))
            // In the sandbox after 5 minutes.
            let sandboxed = shop.purchase("coins", 2, environment: .sandbox)
            _ = try await shop.redeem(sandboxed, for: "ann")
            try await shop.notify("CONSUMPTION_REQUEST", sandboxed)
            attempts = 0
            for _ in 0..<20 {
                attempts += try await shop.merchant.sendStoreCalls()
                shop.clock.milliseconds += 60_000
            }
            #expect((2...5).contains(attempts))
            api.fail(.refused)
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            shop.clock.milliseconds += 3_600_000
            #expect(try await shop.merchant.sendStoreCalls() == 0)
            shop.clock.milliseconds += Merchant.storeCallsKeptFor + 3_600_000
            #expect(try await shop.merchant.pruneStoreCalls() == 4)
        }
    }

    @Test(arguments: Backend.available)
    func `a request that is given up is reported, also without keys`(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            let purchase = shop.purchase("coins", 1)
            _ = try await shop.redeem(purchase, for: "ann")
            _ = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            let dropped = Mutex<[String]>([])
            func send(_ merchant: Merchant) async throws -> Int {
                try await merchant.sendStoreCalls(to: .production) { call in
                    dropped.withLock { $0.append("\(call.kind) \(call.transactionID) \(call.reason)") }
                }
            }
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            #expect(try await send(shop.merchant) == 1)
            #expect(dropped.withLock { $0 } == [])
            api.fail(.unknownTransaction)
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            #expect(try await send(shop.merchant) == 1)
            #expect(dropped.withLock { $0 } == ["consumption 1 unknownTransaction: scripted"])

            // Another process settles a request meanwhile, and reports it.
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            let (merchant, clock) = (shop.merchant, shop.clock)
            let late = Merchant(
                database: shop.database, blobs: merchant.blobs, verifier: merchant.verifier, policy: merchant.policy,
                now: { clock.milliseconds }, makeID: { UUID() }, storeAPI: SlowStoreAPI(database: shop.database))
            #expect(try await send(late) == 1)
            #expect(dropped.withLock { $0 }.count == 1)

            // The next start is without keys.
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            let other = Merchant(
                database: shop.database, blobs: merchant.blobs, verifier: merchant.verifier, policy: merchant.policy,
                now: { clock.milliseconds }, makeID: { UUID() })
            clock.milliseconds += Merchant.consumptionPatience(in: .production) - 1
            #expect(try await send(other) == 0)
            clock.milliseconds += 1
            #expect(try await send(other) == 1)
            #expect(try await send(other) == 0)
            #expect(
                dropped.withLock { $0.last } == "consumption 1 too late: the merchant has no key of the store's API")
            clock.milliseconds += Merchant.storeCallsKeptFor + 1
            #expect(try await other.pruneStoreCalls() == 4)
        }
    }

    @Test(arguments: Backend.available) func aDeadHostDoesNotHoldUpTheOther(_ backend: Backend) async throws {
        try await with(backend) { shop, api in
            _ = try await shop.merchant.setConsumptionConsent(of: "ann", isGiven: true)
            // Those for the dead host are due first.
            for number in 1...17 {
                let purchase = shop.purchase("coins", number, environment: .sandbox)
                _ = try await shop.redeem(purchase, for: "ann")
                try await shop.notify("CONSUMPTION_REQUEST", purchase)
            }
            shop.clock.milliseconds += 1
            let purchase = shop.purchase("coins", 18)
            _ = try await shop.redeem(purchase, for: "ann")
            try await shop.notify("CONSUMPTION_REQUEST", purchase)
            api.answer { sent in
                guard sent.environment == .production else { throw StoreAPIError(.unavailable, "scripted") }
                return []
            }
            #expect(try await shop.merchant.sendStoreCalls(to: .production) == 1)
            // The dead host is asked once in a round.
            for (round, taken) in [16, 1, 0].enumerated() {
                #expect(try await shop.merchant.sendStoreCalls(to: .sandbox) == taken)
                #expect(api.sent.count(where: { $0.environment == .sandbox }) == min(round + 1, 2))
            }
            // Nothing that was put off is lost.
            shop.clock.milliseconds += Merchant.hostPause
            api.answer { _ in [] }
            #expect(try await shop.merchant.sendStoreCalls() == 16)
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            let results = try await shop.database.read { connection in
                try connection.query("SELECT result FROM api_calls").map { try $0.optionalString(0) }
            }
            #expect(results == Array(repeating: "accepted", count: 18))
        }
    }

    @Test(arguments: Backend.available) func aGuestsPurchaseGetsTheToken(_ backend: Backend) async throws {
        try await with(backend) {
            $0.setsAccountTokens = true
        } _: { shop, api in
            _ = try await shop.redeem(shop.purchase("pro", 2, original: 1), for: "ann")
            _ = try await shop.redeem(shop.purchase("pro", 2, original: 1), for: "ann")
            #expect(try await shop.merchant.sendStoreCalls() == 1)
            guard case .accountToken("1", _)? = api.sent.last?.request else {
                Issue.record("\(api.sent)")
                return
            }
            #expect(try body(api)["appAccountToken"] as? String == AccountToken.token(of: "ann"))
            // From now on the store names the user, who has never asked for the token.
            let renewal = shop.purchase("coins", 5, token: AccountToken.token(of: "ann"))
            try await shop.notify("ONE_TIME_CHARGE", renewal)
            #expect(try await shop.gems("ann") == 100)

            // A purchase with a token, a receipt that does not say, and a copy get none.
            _ = try await shop.redeem(shop.purchase("coins", 6, token: UUID().uuidString), for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 7, upgraded: nil), for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 8, shared: true), for: "ann")
            #expect(try await shop.merchant.sendStoreCalls() == 0)
        }
    }
}

/// A store's API that refuses a request after all requests have been settled.
private struct SlowStoreAPI: StoreAPI {
    let hasKeys = true
    let database: Database

    func send(
        _ request: StoreAPIRequest, for app: BundleID, in environment: StoreEnvironment
    ) async throws -> [UInt8] {
        try await database.write { connection in
            try connection.execute("UPDATE api_calls SET state = 'settled', settled_at = 1 WHERE state = 'waiting'")
        }
        throw StoreAPIError(.refused, "scripted")
    }
}
