import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// A merchant of two stores whose clocks are moved, beside the machine's.
@Suite(.timeLimit(.minutes(1))) struct BookTimesTests {
    private static let day: Int64 = 86_400_000
    private static let month: Int64 = 30 * day
    private static let both = MerchantPolicy(environments: [.production, .sandbox])

    /// The merchant and its clocks. The machine's stands still.
    private struct Shop {
        let machine: TestMerchant
        let merchant: Merchant
        let production = TestClock()
        let sandbox = TestClock()

        init(_ machine: TestMerchant, _ policy: MerchantPolicy, _ api: ScriptedStoreAPI? = nil) {
            self.machine = machine
            merchant = Merchant(
                database: machine.database, blobs: machine.merchant.blobs, verifier: machine.merchant.verifier,
                policy: policy, now: { [clock = machine.clock] in clock.milliseconds },
                storeClock: { [production, sandbox] environment in
                    (environment == .sandbox ? sandbox : production).milliseconds
                }, makeID: { UUID() }, storeAPI: api)
        }

        func redeem(_ purchase: VerifiedPurchase, for user: UserID = "ann") async throws {
            _ = try await merchant.redeem(
                VerifiedEvidence(
                    environment: purchase.environment, bundleID: TestMerchant.bundleID, purchases: [purchase]),
                for: user)
        }

        /// The states of the rights to `name`, production's first.
        func states(_ name: String, of user: UserID = "ann") async throws -> [Entitlement.State?] {
            let all = try await merchant.entitlements(of: user).entitlements
            return [StoreEnvironment.production, .sandbox].map { environment in
                all.first {
                    $0.environment == environment && ($0.entitlement?.rawValue ?? $0.content?.rawValue) == name
                }?.state
            }
        }

        func gems(_ environment: StoreEnvironment) async throws -> Int64 {
            try await merchant.balances(of: "ann", in: environment).amount(of: "gems")
        }
    }

    private static func with(
        _ backend: Backend, policy: MerchantPolicy = both, _ api: ScriptedStoreAPI? = nil,
        _ body: (Shop) async throws -> Void
    ) async throws {
        try await TestMerchant.with(backend, policy: policy) { machine async throws in
            try await body(Shop(machine, policy, api))
        }
    }

    @Test(
        arguments: [
            ("test/P/com.example.books/o/1", 2), ("test/S/com.example.books/o/1", 3), ("test/P/S/s/1", 2),
            ("test/S/P/s/1", 3), ("apple/S/com.example.books/p/1/7#2", 3),
        ] as [(String, Int64)])
    func aKeyHasTheTimeOfItsStore(_ key: String, _ time: Int64) {
        let times = BookTimes(machine: 1, production: 2, sandbox: 3)
        #expect(times[key: key] == time)
    }

    @Test(arguments: [("gems", 2), ("sandbox/gems", 3), ("sandbox", 2)] as [(CurrencyID, Int64)])
    func anAccountHasTheTimeOfItsEnvironment(_ account: CurrencyID, _ time: Int64) {
        #expect(BookTimes(machine: 1, production: 2, sandbox: 3)[account: account] == time)
    }

    @Test(arguments: Backend.available) func rightsFollowTheClockOfTheirStore(_ backend: Backend) async throws {
        try await Self.with(backend) { shop async throws in
            for (id, environment) in [(1, StoreEnvironment.production), (2, .sandbox)] {
                try await shop.redeem(
                    shop.machine.purchase("monthly", id, expiresIn: Self.month, environment: environment))
            }
            #expect(try await shop.states("club") == [.active, .active])
            shop.sandbox.milliseconds += 40 * Self.day
            #expect(try await shop.states("club") == [.active, .expired])
            shop.production.milliseconds += Self.month
            #expect(try await shop.states("club") == [.expired, .expired])
            // A clock that is set back.
            shop.sandbox.milliseconds -= 11 * Self.day
            #expect(try await shop.states("club") == [.expired, .active])
            #expect(try await shop.merchant.checkBooks().findings == [])
            // A period that is over by the store's clock alone.
            shop.sandbox.milliseconds += 40 * Self.day
            let late = shop.machine.purchase("gold", 3, expiresIn: Self.month, environment: .sandbox)
            #expect(try await shop.machine.code { try await shop.redeem(late) } == .expired)
            // A period that begins in what is the future for the machine.
            let next = shop.machine.purchase(
                "gold", 4, expiresIn: Self.month, purchasedAt: shop.sandbox.milliseconds, environment: .sandbox)
            try await shop.redeem(next)
            #expect(try await shop.states("gold") == [nil, .active])
        }
    }

    @Test(arguments: Backend.available) func contentFollowsTheClockOfItsStore(_ backend: Backend) async throws {
        try await Self.with(backend) { shop async throws in
            func code() async throws -> MerchantErrorCode? {
                try await shop.machine.code { _ = try await shop.merchant.content("issue-12", for: "ann") }
            }
            try await shop.redeem(
                shop.machine.purchase("magazine", 1, expiresIn: Self.month, environment: .sandbox))
            // Nothing was uploaded.
            #expect(try await code() == .unknownContent)
            shop.production.milliseconds += 40 * Self.day
            #expect(try await code() == .unknownContent)
            shop.sandbox.milliseconds += 40 * Self.day
            #expect(try await code() == .notEntitled)
        }
    }

    @Test(arguments: Backend.available) func aRefundOfTheFutureCountsAtOnce(_ backend: Backend) async throws {
        try await Self.with(backend) { shop async throws in
            try await shop.redeem(shop.machine.purchase("pro", 1, environment: .sandbox))
            shop.sandbox.milliseconds += Self.day
            let now = shop.sandbox.milliseconds
            // The test's purchases are dated by the machine's clock.
            shop.machine.clock.milliseconds = now
            let refunded = shop.machine.purchase("pro", 1, revoked: true, environment: .sandbox)
            shop.machine.clock.milliseconds = TestClock.start
            _ = try await shop.merchant.apply(
                VerifiedNotification(
                    notificationID: UUID().uuidString, type: "REFUND", subtype: nil, signedAt: now, purchase: refunded,
                    renewal: nil))
            #expect(try await shop.states("pro") == [nil, .revoked])
            #expect(try await shop.merchant.checkBooks().findings == [])
            let records = try await shop.merchant.notifications().notifications
            #expect(records.map(\.receivedAt) == [TestClock.start])
        }
    }

    @Test(arguments: Backend.available) func aRefundStaysWhenTheClockIsSetBack(_ backend: Backend) async throws {
        try await Self.with(backend) { shop async throws in
            func purchase(
                _ product: ProductID, _ id: Int, _ length: Int64? = nil, revoked: Bool = false
            ) -> VerifiedPurchase {
                shop.machine.purchase(
                    product, id, expiresIn: length, purchasedAt: TestClock.start, revoked: revoked,
                    environment: .sandbox)
            }
            try await shop.redeem(purchase("pro", 1))
            try await shop.redeem(purchase("monthly", 2, Self.month))
            let now = TestClock.start + Self.day
            // The test's refunds are dated by the machine's clock.
            (shop.sandbox.milliseconds, shop.machine.clock.milliseconds) = (now, now)
            let refunded = [purchase("pro", 1, revoked: true), purchase("monthly", 2, Self.month, revoked: true)]
            shop.machine.clock.milliseconds = TestClock.start
            for purchase in refunded {
                _ = try await shop.merchant.apply(
                    VerifiedNotification(
                        notificationID: UUID().uuidString, type: "REFUND", subtype: nil, signedAt: now,
                        purchase: purchase, renewal: nil))
            }
            for time in [now, TestClock.start, TestClock.start - Self.month] {
                shop.sandbox.milliseconds = time
                #expect(try await shop.states("pro") == [nil, .revoked])
                #expect(try await shop.states("club") == [nil, .revoked])
                #expect(try await shop.merchant.checkBooks().findings == [])
            }
        }
    }

    @Test(arguments: Backend.available) func aTransferStaysWhenTheClockIsSetBack(_ backend: Backend) async throws {
        let policy = MerchantPolicy(conflict: .transfer, environments: [.production, .sandbox])
        try await Self.with(backend, policy: policy) { shop async throws in
            let forever = shop.machine.purchase("pro", 1, environment: .sandbox)
            let month = shop.machine.purchase("monthly", 2, expiresIn: Self.month, environment: .sandbox)
            for purchase in [forever, month] { try await shop.redeem(purchase) }
            shop.sandbox.milliseconds += Self.day
            for purchase in [forever, month] { try await shop.redeem(purchase, for: "bob") }
            shop.sandbox.milliseconds -= Self.day
            for name in ["pro", "club"] {
                #expect(try await shop.states(name) == [nil, .revoked])
                #expect(try await shop.states(name, of: "bob") == [nil, .active])
            }
            #expect(try await shop.merchant.checkBooks().findings == [])
            // And back.
            try await shop.redeem(forever)
            #expect(try await shop.states("pro") == [nil, .active])
            #expect(try await shop.states("pro", of: "bob") == [nil, .revoked])
        }
    }

    /// Without an index of its own, a search with the later clock would read all rows of the other environment.
    @Test(arguments: StoreEnvironment.allCases)
    func dueRowsAreFoundByAnIndexOfTheirEnvironment(_ environment: StoreEnvironment) async throws {
        let name = environment == .sandbox ? "sandbox" : "production"
        let subscriptions = try await SQLiteProgram.plan(
            of: SubscriptionRow.dueStatement(in: environment), MerchantSchema.migrations)
        #expect(subscriptions.count == 1)
        #expect(subscriptions.first?.contains("INDEX subscriptions_due_in_\(name) (ask_after<?)") == true)
        let lots = try await SQLiteProgram.plan(of: Lots.dueStatement(in: environment), MerchantSchema.migrations)
        #expect(lots.count == 1)
        #expect(lots.first?.contains("INDEX credit_lots_due_in_\(name) (expires_at<?)") == true)
    }

    @Test(arguments: Backend.available) func creditsEndByTheClockOfTheirBalance(_ backend: Backend) async throws {
        try await Self.with(backend) { shop async throws in
            for (id, environment) in [(1, StoreEnvironment.production), (2, .sandbox)] {
                try await shop.redeem(shop.machine.purchase("passing", id, environment: environment))
            }
            #expect(try await shop.merchant.expireCredits() == 0)
            shop.sandbox.milliseconds += 1_000_001
            let balances = try await shop.merchant.readReport(of: "ann").balances
            #expect(balances.map(\.amount) == [50, 0] && balances.map(\.environment) == [.production, .sandbox])
            #expect(try await shop.merchant.expireCredits() == 1)
            #expect(try await shop.gems(.sandbox) == 0)
            #expect(try await shop.gems(.production) == 50)
            let page = try await shop.merchant.history(of: "ann", "gems", before: nil, in: .sandbox)
            #expect(page.entries.map(\.createdAt) == [TestClock.start + 1_000_001, TestClock.start])
            shop.production.milliseconds += 1_000_001
            #expect(try await shop.gems(.production) == 0)
            #expect(try await shop.merchant.checkBooks().findings == [])
        }
    }

    @Test(arguments: Backend.available) func joinedBalancesFollowProductionsClock(_ backend: Backend) async throws {
        var policy = Self.both
        policy.joinsEnvironments = true
        try await Self.with(backend, policy: policy) { shop async throws in
            try await shop.redeem(shop.machine.purchase("passing", 1, environment: .sandbox))
            try await shop.redeem(
                shop.machine.purchase("magazine", 2, expiresIn: Self.month, environment: .sandbox))
            shop.sandbox.milliseconds += 40 * Self.day
            #expect(try await shop.gems(.sandbox) == 50)
            // A right has no balance, and ends when its store says so.
            #expect(try await shop.states("issue-12") == [nil, .expired])
            shop.production.milliseconds += 1_000_001
            #expect(try await shop.gems(.sandbox) == 0)
        }
    }

    @Test(arguments: Backend.available) func theSweepFollowsTheClockOfTheStore(_ backend: Backend) async throws {
        let api = ScriptedStoreAPI()
        try await Self.with(backend, api) { shop async throws in
            for (id, environment) in [(1, StoreEnvironment.production), (2, .sandbox)] {
                try await shop.redeem(
                    shop.machine.purchase("monthly", id, expiresIn: Self.month, environment: environment))
            }
            #expect(try await shop.merchant.sweep().asked == 0)
            api.fail(.unknownTransaction)
            shop.sandbox.milliseconds += 40 * Self.day
            #expect(try await shop.merchant.sweep().asked == 1)
            #expect(api.sent.map(\.environment) == [.sandbox])
            // Put off by the sandbox's clock.
            #expect(try await shop.merchant.sweep().asked == 0)
            shop.production.milliseconds += 40 * Self.day
            #expect(try await shop.merchant.sweep().asked == 1)
            #expect(api.sent.map(\.environment) == [.sandbox, .production])
            shop.sandbox.milliseconds += Self.day
            #expect(try await shop.merchant.sweep().asked == 1)
            // By command, also under a clock that was set back.
            shop.sandbox.milliseconds -= 365 * Self.day
            #expect(try await shop.merchant.sweepAll() == 2)
            #expect(try await shop.merchant.sweep().asked == 2)
        }
    }
}
