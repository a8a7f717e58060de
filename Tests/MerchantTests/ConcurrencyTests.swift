import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite struct ConcurrencyTests {
    /// Everyone brings the same purchases, each for a user of its own: every purchase goes to exactly one of them.
    @Test(arguments: Backend.available) func manyClientsRedeemTheSameTransactions(_ backend: Backend) async throws {
        let (clients, transactions) = (64, 1_000)
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

    @Test(arguments: Backend.available) func spendsRaceToZero(_ backend: Backend) async throws {
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

    @Test(arguments: Backend.available) func oneReceiptAtOnceForTwoUsersIsOneUsers(_ backend: Backend) async throws {
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
}
