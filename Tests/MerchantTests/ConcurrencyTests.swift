import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct ConcurrencyTests {
    /// Everyone brings the same purchases, each for a user of its own: every purchase goes to exactly one of them.
    @Test(arguments: Backend.available) func manyClientsRedeemTheSameTransactions(_ backend: Backend) async throws {
        let (clients, transactions) = (64, 60)
        try await TestMerchant.with(backend, connections: 8) { shop async throws in
            let purchases = (1...transactions).map { shop.purchase("coins", $0) }
            let granted = try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<clients {
                    group.addTask {
                        var granted = 0
                        // Each begins elsewhere, so that all meet all.
                        for step in stride(from: client * 7, to: client * 7 + transactions, by: 1) {
                            let purchase = purchases[step % transactions]
                            let refusal = try await shop.code {
                                _ = try await shop.redeem(purchase, for: UserID("user-\(client)"))
                            }
                            if refusal == nil { granted += 1 } else { #expect(refusal == .alreadyRedeemed) }
                        }
                        return granted
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(granted == transactions)
            let report = try await shop.merchant.checkBooks()
            #expect(report.findings == [])
            #expect(report.outstanding == [Balance(currency: "gems", amount: Int64(transactions) * 100)])
        }
    }

    @Test(arguments: Backend.available) func concurrentSpendsStopAtZero(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, connections: 8) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1, quantity: 3), for: "ann")
            let spent = try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<32 {
                    group.addTask {
                        var spent = 0
                        for step in 0..<20 {
                            let request = SpendRequest(key: "\(client)-\(step)", currency: "gems", amount: 1)
                            // Each twice at the same time, as an impatient client does.
                            async let twin = shop.code { _ = try await shop.merchant.spend(request, by: "ann") }
                            let refusal = try await shop.code { _ = try await shop.merchant.spend(request, by: "ann") }
                            let twinRefusal = try await twin
                            for code in [refusal, twinRefusal] where code != nil {
                                #expect(code == .insufficientBalance)
                            }
                            if refusal == nil || twinRefusal == nil { spent += 1 }
                        }
                        return spent
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(spent == 300)
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func concurrentRedemptionsGiveAReceiptToOneUser(_ backend: Backend) async throws
    {
        try await TestMerchant.with(backend, connections: 8) { shop async throws in
            for round in 0..<20 {
                let pro = shop.purchase("pro", 1_000 + round)
                let month = shop.purchase("monthly", 5_000 + round, expiresIn: 60_000)
                async let ann = shop.code { _ = try await shop.redeem(pro, month, for: "ann") }
                async let bob = shop.code { _ = try await shop.redeem(pro, month, for: "bob") }
                let refusals = try await [ann, bob].compactMap { $0 }
                #expect(refusals == [.alreadyRedeemed])
            }
            #expect(try await shop.findings() == [])
        }
    }

    /// Everyone brings some of the same purchases in an order of its own, of which several name one of four users,
    /// while the store gives news of them: nobody is turned away, and each is granted once. As many meet at once as
    /// there are connections, so that nobody waits for one: a slow machine would refuse who waited too long.
    @Test(arguments: Backend.available)
    func receiptsInAnotherOrderAreAllAnswered(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, connections: 8) { shop async throws in
            let users: [UserID] = ["ann", "bob", "cid", "dan"]
            var tokens: [String] = []
            for user in users { tokens.append(try await shop.merchant.describe(user).accountToken) }
            let coins = (0..<48).map { shop.purchase("coins", 100 + $0, token: $0 % 2 == 0 ? tokens[$0 / 2 % 4] : nil) }
            let months = (0..<8).map { shop.purchase("monthly", 200 + $0, expiresIn: 600_000) }
            let pros = (0..<8).map { shop.purchase("pro", 300 + $0) }
            let all = coins + months + pros
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<6 {
                    group.addTask {
                        for client in stride(from: worker, to: 32, by: 6) {
                            var chance = SeededGenerator(seed: UInt64(client + 1))
                            let some = Array(all.shuffled(using: &chance).prefix(40))
                            let refusal = try await shop.code {
                                _ = try await shop.merchant.redeem(
                                    VerifiedEvidence(
                                        environment: .production, bundleID: TestMerchant.bundleID, purchases: some),
                                    for: UserID("user-\(client)"))
                            }
                            #expect(refusal == nil || refusal == .alreadyRedeemed)
                        }
                    }
                }
                for (news, changed) in [("ONE_TIME_CHARGE", coins.prefix(8)), ("DID_RENEW", months[...])] {
                    group.addTask { for purchase in changed { try await shop.notify(news, purchase) } }
                }
                try await group.waitForAll()
            }
            let report = try await shop.merchant.checkBooks()
            #expect(report.findings == [])
            #expect(report.outstanding == [Balance(currency: "gems", amount: 48 * 100 + 8 * 10)])
        }
    }

    /// Refunds of purchases whose users have several accounts, in every order at once.
    @Test(arguments: Backend.available)
    func refundsAndRedemptionsMeet(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, connections: 8) { shop async throws in
            let coins = (0..<16).map { shop.purchase("coins", 100 + $0) }
            for (number, purchase) in coins.prefix(8).enumerated() {
                _ = try await shop.redeem(purchase, for: UserID("user-\(number % 4)"))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        for client in [worker, worker + 8] {
                            var chance = SeededGenerator(seed: UInt64(client + 1))
                            // The first eight come refunded, as a receipt of later says.
                            let some = coins.enumerated().map { number, purchase in
                                number < 8
                                    ? shop.purchase("coins", 100 + number, revoked: true, share: 100_000) : purchase
                            }.shuffled(using: &chance)
                            _ = try await shop.code {
                                _ = try await shop.merchant.redeem(
                                    VerifiedEvidence(
                                        environment: .production, bundleID: TestMerchant.bundleID, purchases: some),
                                    for: UserID("user-\(client % 4)"))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let report = try await shop.merchant.checkBooks()
            #expect(report.findings == [])
            #expect(report.outstanding == [Balance(currency: "gems", amount: 8 * 100)])
        }
    }

    /// Who waits for an account must hold no right: another purchase's redemption has the account and settles all
    /// rights of a chain then.
    @Test(arguments: Backend.available) func rightsAreTakenAfterAccounts(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "day", kind: .consumable,
                    grants: [.entitlement("boost", lifetime: 10), .credits("gems", amount: 5, lifetime: nil)]))
            let day = shop.purchase("day", 1)
            _ = try await shop.redeem(day, shop.purchase("monthly", 2, expiresIn: 60_000), for: "ann")
            shop.clock.milliseconds += 1
            for (type, state) in [("REFUND", Entitlement.State.revoked), ("REFUND_REVERSED", .active)] {
                let policy = shop.merchant.policy
                let now = shop.clock.milliseconds
                let before = try await shop.rights("ann")["boost"]
                let gems = try await shop.gems("ann")
                try await shop.database.write { connection in
                    let settlement = Settlement()
                    let revocation = Revocation(
                        purchase: day, kind: .consumable, key: RedemptionKey(day, kind: .consumable), signedAt: now,
                        policy: policy, times: BookTimes(now), events: EventWriter(policy, id: UUID(), now: now),
                        settlement: settlement, connection: connection)
                    if state == .revoked { try revocation.revoke() } else { try revocation.reinstate() }
                    // The account is about to be changed, and no right was.
                    settlement.post("ann", "gems") {
                        let rights = try Rights.all(of: "ann", at: BookTimes(now), connection)
                        #expect(rights.first { $0.entitlement == "boost" }?.state == before, "\(type)")
                        #expect(try Ledger.standing(of: "ann", "gems", connection)?.posting.balance != gems)
                    }
                    try settlement.finish(connection)
                }
                #expect(try await shop.rights("ann")["boost"] == state)
                shop.clock.milliseconds += 1
            }
            #expect(try await shop.findings() == [])
        }
    }
}
