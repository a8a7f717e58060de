import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite("Lists of users and purchases", .timeLimit(.minutes(1))) struct UserListTests {
    private func give(_ test: TestMerchant, _ users: [String]) async throws {
        for user in users {
            _ = try await test.merchant.adjust(
                AdjustmentRequest(key: "k", currency: "gems", amount: 1), of: UserID(user))
        }
    }

    @Test(arguments: Backend.available) func usersAreListedByName(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { test async throws in
            let merchant = test.merchant
            try await give(test, ["ann", "anna", "bob", "äpfel", "zoe"])
            // She has no credits, only a right.
            _ = try await test.redeem(test.purchase("pro", 1), for: "annabel")
            var names: [String] = []
            var after: UserID?
            repeat {
                let page = try await merchant.users(after: after, limit: 2)
                #expect(page.users.count <= 2)
                names += page.users.map(\.userID.rawValue)
                after = page.next
            } while after != nil && names.count < 10
            #expect(Set(names) == ["ann", "anna", "annabel", "bob", "äpfel", "zoe"] && names.count == 6)
            let found = try await merchant.users(startingWith: "anna")
            #expect(found.users.map(\.userID) == ["anna", "annabel"] && found.next == nil)
            #expect(found.users.map(\.lastRedeemedAt) == [nil, test.clock.milliseconds])
            #expect(
                try await merchant.users(startingWith: "ann", after: "ann", limit: 1).users.map(\.userID) == ["anna"])
            #expect(try await merchant.users(startingWith: "ä").users.map(\.userID) == ["äpfel"])
            #expect(try await merchant.users(startingWith: "x").users.isEmpty)
            for wrong in ["a\u{0}", "a\u{308}pfel", String(repeating: "a", count: 256)] {
                await #expect(throws: MerchantError.self) { try await merchant.users(startingWith: wrong) }
            }
        }
    }

    @Test(arguments: Backend.available) func purchasesAreListedByTheirRedemption(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { test async throws in
            let merchant = test.merchant
            for id in 1...5 {
                test.clock.milliseconds += 1_000
                let user: UserID = id.isMultiple(of: 2) ? "bob" : "ann"
                _ = try await test.redeem(test.purchase("coins", id, quantity: Int64(id)), for: user)
            }
            // Two at the same moment.
            _ = try await test.redeem(test.purchase("pro", 6), test.purchase("issue", 7), for: "ann")
            var seen: [RedemptionRecord] = []
            var before: String?
            repeat {
                let page = try await merchant.redemptions(before: before, limit: 2)
                seen += page.redemptions
                before = page.next
            } while before != nil && seen.count < 10
            #expect(seen.count == 7 && Set(seen.map(\.transactionID)).count == 7)
            #expect(seen.map(\.redeemedAt) == seen.map(\.redeemedAt).sorted(by: >))
            let bobs = try await merchant.redemptions(of: "bob").redemptions
            #expect(bobs.map(\.transactionID) == ["4", "2"])
            let first = try #require(bobs.first)
            #expect(first.userID == "bob" && first.productID == "coins" && first.quantity == 4)
            #expect(first.grants == [.credits("gems", amount: 400, lifetime: nil)] && first.state == .granted)
            #expect(first.takenBack == [] && first.environment == .production && first.purchase.hasSuffix("/t/4"))
            #expect(try await merchant.redemptions(of: "nobody").redemptions.isEmpty)
            for wrong in ["", "x", "1", "-1-x", "1-a\u{0}"] {
                await #expect(throws: MerchantError.self) { try await merchant.redemptions(before: wrong) }
            }
        }
    }

    @Test(arguments: Backend.available) func aRefundShowsWhatWasTakenBack(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { test async throws in
            let coins = test.purchase("coins", 1)
            _ = try await test.redeem(coins, for: "ann")
            test.clock.milliseconds += 1_000
            try await test.notify("REFUND", coins)
            let record = try #require(try await test.merchant.redemptions(of: "ann").redemptions.first)
            #expect(record.state == .revoked)
            #expect(record.takenBack == [Balance(currency: "gems", amount: 100)])
        }
    }
}
