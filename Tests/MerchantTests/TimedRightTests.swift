import Database
import MerchantWire
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Merchant

/// Entitlements with a lifetime, which end by themselves.
@Suite(.timeLimit(.minutes(1))) struct TimedRightTests {
    private static let second: Int64 = 1_000
    private static let products = """
        app: com.example.books
        products:
          - {id: coins, kind: consumable, grants: [{credits: 100, currency: gems}]}
          - {id: summer, kind: nonRenewingSubscription, grants: [{entitlement: club, lifetime: 100}, {credits: 5, currency: gems}]}
          - {id: year, kind: nonRenewingSubscription, grants: [{entitlement: club, lifetime: 400}]}
          - {id: day, kind: consumable, grants: [{entitlement: boost, lifetime: 10}]}
          - {id: plain, kind: nonRenewingSubscription, grants: [{entitlement: plain}]}
          - {id: monthly, kind: autoRenewableSubscription, grants: [{entitlement: club}]}
        """

    private func withShop(
        _ backend: Backend, _ conflict: ConflictPolicy = .refuse, _ body: (TestMerchant) async throws -> Void
    ) async throws {
        let policy = MerchantPolicy(conflict: conflict, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            try await shop.database.write { try $0.execute("DELETE FROM products") }
            try await shop.merchant.importProducts(
                from: try ProductsFile(yaml: Array(Self.products.utf8), file: "p.yaml"))
            try await body(shop)
            #expect(try await shop.findings() == [])
        }
    }

    /// When a user's entitlements of a name end, in seconds from the beginning of the test; a revoked one has none.
    private func ends(_ shop: TestMerchant, _ user: UserID, _ name: EntitlementID = "club") async throws -> [Int64?] {
        try await shop.merchant.entitlements(of: user).entitlements.filter { $0.entitlement == name }
            .sorted { ($0.expiresAt ?? .max) < ($1.expiresAt ?? .max) }
            .map { right in
                right.state == .revoked
                    ? nil : right.expiresAt.map { ($0 - TestClock.start) / Self.second }
            }
    }

    private func isMember(_ shop: TestMerchant, _ user: UserID, at second: Int64) async throws -> Bool {
        shop.clock.milliseconds = TestClock.start + second * Self.second
        return try await shop.merchant.entitlements(of: user).isEntitled(to: "club")
    }

    @Test(arguments: Backend.available) func itEndsALifetimeAfterThePurchase(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            let bought = shop.purchase("summer", 1)
            // Redeemed late: it is the purchase that counts.
            shop.clock.milliseconds += 40 * Self.second
            let answer = try await shop.redeem(bought, shop.purchase("plain", 2), for: "ann")
            #expect(answer.redeemed.first?.grants.first == .entitlement("club", lifetime: 100))
            #expect(try await ends(shop, "ann") == [100])
            #expect(try await isMember(shop, "ann", at: 99))
            #expect(try await !isMember(shop, "ann", at: 100))
            #expect(try await shop.rights("ann") == ["club": .expired, "plain": .active])
            // The same again gives nothing more, and a purchase whose time is over gives what is left: its credits.
            #expect(
                try await shop.redeem(bought, for: "ann")
                    == RedemptionAnswer(redeemed: [answer.redeemed[0]], refused: []))
            let late = shop.purchase("summer", 3, purchasedAt: TestClock.start - 200 * Self.second)
            _ = try await shop.redeem(late, for: "bob")
            #expect(try await shop.rights("bob") == ["club": .expired])
            #expect(try await shop.gems("bob") == 5)
        }
    }

    @Test(arguments: Backend.available) func boughtAgainItGoesOnFromTheEnd(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("summer", 1), for: "ann")
            shop.clock.milliseconds += 60 * Self.second
            // Another product with the same entitlement goes on from there as well; another user's has nothing to do
            // with it.
            _ = try await shop.redeem(shop.purchase("year", 2), for: "ann")
            _ = try await shop.redeem(shop.purchase("year", 3), for: "bob")
            #expect(try await ends(shop, "ann") == [100, 500])
            #expect(try await ends(shop, "bob") == [460])
            #expect(try await isMember(shop, "ann", at: 499))
            #expect(try await !isMember(shop, "ann", at: 500))
            // After a gap it begins anew.
            shop.clock.milliseconds += 100 * Self.second
            _ = try await shop.redeem(shop.purchase("summer", 4), for: "ann")
            #expect(try await ends(shop, "ann") == [100, 500, 700])
            // A subscription that renews, and what does not end, have nothing to do with it either.
            _ = try await shop.redeem(shop.purchase("monthly", 5, expiresIn: 1_000_000), for: "ann")
            #expect(try await ends(shop, "ann") == [100, 500, 700, 1_600])
        }
    }

    @Test(arguments: Backend.available) func unitsAddUp(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("day", 1, quantity: 3), for: "ann")
            #expect(try await ends(shop, "ann", "boost") == [30])
            _ = try await shop.redeem(shop.purchase("day", 2, quantity: 1_000_000), for: "bob")
            #expect(try await ends(shop, "bob", "boost") == [10_000_000])
        }
    }

    /// All orders in which three purchases may be redeemed.
    static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    @Test(arguments: Backend.available, orders)
    func theOrderOfRedemptionsDoesNotMatter(_ backend: Backend, _ order: [Int]) async throws {
        try await withShop(backend) { shop async throws in
            let bought = [0, 50, 120].enumerated().map { index, second in
                shop.purchase("summer", index + 1, purchasedAt: TestClock.start + Int64(second) * Self.second)
            }
            shop.clock.milliseconds += 130 * Self.second
            for index in order { _ = try await shop.redeem(bought[index], for: "ann") }
            #expect(try await ends(shop, "ann") == [100, 200, 300])
        }
    }

    @Test(arguments: Backend.available) func aRefundTakesBackItsShareAlone(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            let bought = (1...3).map { shop.purchase("summer", $0) }
            for purchase in bought { _ = try await shop.redeem(purchase, for: "ann") }
            #expect(try await ends(shop, "ann") == [100, 200, 300])
            // Of the one that runs, what is left is taken out.
            shop.clock.milliseconds += 30 * Self.second
            try await shop.notify("REFUND", shop.purchase("summer", 1, revoked: true))
            #expect(try await ends(shop, "ann").compactMap { $0 } == [130, 230])
            #expect(try await isMember(shop, "ann", at: 229))
            #expect(try await !isMember(shop, "ann", at: 230))
            shop.clock.milliseconds = TestClock.start + 40 * Self.second
            // One that has not begun is gone whole, and the refund of one that has run out takes nothing from the
            // others.
            try await shop.notify("REFUND", shop.purchase("summer", 3, revoked: true))
            #expect(try await ends(shop, "ann").compactMap { $0 } == [130])
            // Reversed, both are as they were.
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", bought[0])
            try await shop.notify("REFUND_REVERSED", bought[2])
            #expect(try await ends(shop, "ann") == [100, 200, 300])
            shop.clock.milliseconds = TestClock.start + 150 * Self.second
            try await shop.notify("REFUND", shop.purchase("summer", 1, revoked: true))
            #expect(try await ends(shop, "ann").compactMap { $0 } == [200, 300])
        }
    }

    @Test(arguments: Backend.available) func itGoesOverWithThePurchase(_ backend: Backend) async throws {
        try await withShop(backend, .transfer) { shop async throws in
            let bought = (1...2).map { shop.purchase("summer", $0) }
            for purchase in bought { _ = try await shop.redeem(purchase, for: "ann") }
            shop.clock.milliseconds += 30 * Self.second
            _ = try await shop.redeem(bought[0], for: "bob")
            #expect(try await ends(shop, "ann").compactMap { $0 } == [130])
            #expect(try await ends(shop, "bob") == [100])
            _ = try await shop.redeem(bought[0], for: "ann")
            #expect(try await ends(shop, "ann") == [100, 200])
            #expect(try await ends(shop, "bob") == [nil])
        }
    }

    /// Purchases of several products at random moments, some of them refunded, of one user.
    private func purchases(_ shop: TestMerchant, firstID: Int, count: Int, seed: UInt64) -> [VerifiedPurchase] {
        var chance = SeededGenerator(seed: seed)
        let products: [ProductID] = ["summer", "year", "day"]
        return (0..<count).map { number in
            let product = products[Int.random(in: 0..<products.count, using: &chance)]
            let second = Int64.random(in: 0..<1_000, using: &chance)
            return shop.purchase(
                product, firstID + number, quantity: Int64.random(in: 1...3, using: &chance),
                purchasedAt: TestClock.start + second * Self.second,
                revoked: Int.random(in: 0..<8, using: &chance) == 0)
        }
    }

    @Test(arguments: Backend.available, [UInt64(1), 2])
    func aReceiptGivesWhatItsPurchasesGiveOneByOne(_ backend: Backend, _ seed: UInt64) async throws {
        try await withShop(backend) { shop async throws in
            shop.clock.milliseconds += 500 * Self.second
            // More than one transaction of the database takes.
            let count = Merchant.largestTransaction * 5 / 2
            let anns = purchases(shop, firstID: 1_000, count: count, seed: seed)
            let bobs = purchases(shop, firstID: 5_000, count: count, seed: seed)
            let answer = try await shop.merchant.redeem(
                VerifiedEvidence(environment: .production, bundleID: TestMerchant.bundleID, purchases: anns), for: "ann"
            )
            #expect(answer.redeemed.count + answer.refused.count == count)
            let dates = Dictionary(anns.map { ($0.transactionID, $0.purchasedAt) }, uniquingKeysWith: { $1 })
            let order = answer.redeemed.compactMap { dates[$0.transactionID] }
            #expect(order == order.sorted())
            var chance = SeededGenerator(seed: seed + 100)
            for purchase in bobs.shuffled(using: &chance) { _ = try? await shop.redeem(purchase, for: "bob") }
            for name in ["club", "boost"] as [EntitlementID] {
                let ends = try await ends(shop, "ann", name)
                #expect(try await self.ends(shop, "bob", name) == ends)
                #expect(ends.count > 20)
            }
            #expect(try await shop.gems("ann") == shop.gems("bob"))
            // The same once more changes nothing.
            _ = try await shop.merchant.redeem(
                VerifiedEvidence(environment: .production, bundleID: TestMerchant.bundleID, purchases: anns), for: "ann"
            )
            #expect(try await ends(shop, "ann") == ends(shop, "bob"))
        }
    }

    /// A receipt of many purchases keeps nobody waiting: others are served between its transactions.
    @Test(arguments: Backend.available)
    func aLongReceiptLetsOthersGoBetween(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            let count = Merchant.largestTransaction * 5
            // The newest first in the order of their ids, so that each would move all that were redeemed before.
            let purchases = (0..<count).map { number in
                shop.purchase("summer", 10_000 + number, purchasedAt: TestClock.start - Int64(number) * Self.second)
            }
            let others = Others(shop.database)
            others.write()
            let answer = try await shop.merchant.redeem(
                VerifiedEvidence(environment: .production, bundleID: TestMerchant.bundleID, purchases: purchases),
                for: "ann")
            #expect(answer.redeemed.count == count)
            let found = others.end()
            #expect(found.contains { (1..<count).contains($0) }, "\(found.sorted())")
            let last = try await ends(shop, "ann").last ?? nil
            // The first begins at the oldest purchase, and all follow upon it.
            #expect(last == Int64(count) * 100 - Int64(count - 1))
        }
    }

    /// Purchases from before move all that were redeemed until then, once for a transaction.
    @Test func `a transaction writes each end of a chain once, however many purchases it redeems`() async throws {
        try await withShop(.sqlite) { shop async throws in
            try await WrittenRows.note("UPDATE OF expires_at", in: "entitlements", by: "source", shop.database)
            let count = Merchant.largestTransaction
            func redeem(from firstID: Int, boughtFrom start: Int64) async throws -> [String] {
                let purchases = (0..<count).map { number in
                    shop.purchase("summer", firstID + number, purchasedAt: start + Int64(number) * Self.second)
                }
                _ = try await shop.merchant.redeem(
                    VerifiedEvidence(environment: .production, bundleID: TestMerchant.bundleID, purchases: purchases),
                    for: "ann")
                return try await WrittenRows.takeAll(shop.database)
            }
            let newer = try await redeem(from: 1_000, boughtFrom: TestClock.start - 200 * Self.second)
            let older = try await redeem(from: 2_000, boughtFrom: TestClock.start - 1_000 * Self.second)
            // The oldest purchase of all has its end already.
            for (written, expected) in [(newer, count - 1), (older, 2 * count - 1)] {
                #expect(written.count == expected && Set(written).count == expected, "\(written.count)")
            }
        }
    }

    /// Write transactions of others, one after the other, each begun when the one before has ended. No task has to wait
    /// for a thread between them, so none can be late.
    private final class Others: Sendable {
        private struct State {
            var isOver = false
            /// The numbers of redeemed purchases that the transactions found.
            var found: Set<Int> = []
        }

        private let database: Database
        private let state = Mutex(State())

        init(_ database: Database) { self.database = database }

        func write() {
            database.write(
                { try $0.queryOne("SELECT COUNT(*) FROM redemptions")?.int(0) ?? 0 },
                completion: { [self] result in
                    guard case .success(let count) = result else { return }
                    let isOver = state.withLock { state in
                        state.found.insert(count)
                        return state.isOver
                    }
                    if !isOver { write() }
                })
        }

        /// Begins no more transactions.
        func end() -> Set<Int> {
            state.withLock { state in
                state.isOver = true
                return state.found
            }
        }
    }

    @Test func nothingEndsAfterTheLastMoment() {
        let last = TimedRight.end(.max - 1, 1)
        #expect(TimedRight.end(last, 3_200_000_000_000) == last && TimedRight.end(0, 5) == 5)
        #expect(last < 1 << 53)
    }

    /// A kind, what it gives, and whether that makes sense.
    static let grants: [(String, String, Bool)] = [
        ("nonRenewingSubscription", "{entitlement: e, lifetime: 60}", true),
        ("consumable", "{entitlement: e, lifetime: 3200000000}", true),
        ("nonConsumable", "{entitlement: e, lifetime: 60}", false),
        ("autoRenewableSubscription", "{entitlement: e, lifetime: 60}", false),
        ("freeSubscription", "{entitlement: e, lifetime: 60}", false),
        ("nonRenewingSubscription", "{entitlement: e, lifetime: 0}", false),
        ("nonRenewingSubscription", "{entitlement: e, lifetime: -1}", false),
        ("nonRenewingSubscription", "{entitlement: e, lifetime: 3200000001}", false),
        ("nonRenewingSubscription", "{entitlement: e, lifetime: long}", false),
        ("nonRenewingSubscription", "{content: c, lifetime: 60}", false),
        ("nonRenewingSubscription", "{entitlement: e, lifetime: 60}, {entitlement: e}", false),
        ("autoRenewableSubscription", "{credits: 1, currency: c, lifetime: 60}, {entitlement: e}", true),
    ]

    @Test(arguments: grants) func aLifetimeIsOfWhatEnds(_ kind: String, _ grants: String, _ isGood: Bool) {
        let text = "app: a\nproducts:\n  - {id: x, kind: \(kind), grants: [\(grants)]}\n"
        let file = try? ProductsFile(yaml: Array(text.utf8), file: "p.yaml")
        #expect((file != nil) == isGood)
    }
}
