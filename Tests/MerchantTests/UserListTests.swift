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

    @Test(arguments: Backend.available) func purchasesAreListedByTheirKeys(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { test async throws in
            let merchant = test.merchant
            // A revocation that comes first is recorded, and nobody has redeemed its purchase.
            for id in [3, 9] { try await test.notify("REFUND", test.purchase("coins", id)) }
            for id in [5, 1, 4, 2, 6] {
                test.clock.milliseconds += 1_000
                _ = try await test.redeem(test.purchase("coins", id), for: id.isMultiple(of: 2) ? "bob" : "ann")
            }
            _ = try await test.redeem(test.purchase("pro", 7), test.purchase("issue", 8), for: "ann")
            for limit in [1, 2, 7, 50] {
                var seen: [String] = []
                var before: String?
                repeat {
                    let page = try await merchant.redemptions(before: before, limit: limit)
                    #expect(page.redemptions.count <= limit)
                    seen += page.redemptions.map(\.transactionID)
                    before = page.next
                } while before != nil && seen.count < 20
                #expect(seen == ["6", "5", "4", "2", "1", "8", "7"], "pages of \(limit)")
            }
            await #expect(throws: MerchantError.self) { try await merchant.redemptions(before: "1-a\u{0}") }
        }
    }

    @Test(arguments: Backend.available) func aTransactionIsFoundInTheBooks(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { test async throws in
            let merchant = test.merchant
            let coins = test.purchase("coins", 1, quantity: 2)
            let month = test.purchase("monthly", 21, original: 20, expiresIn: 86_400_000)
            _ = try await test.redeem(coins, test.purchase("pro", 2), month, for: "ann")
            _ = try await test.redeem(test.purchase("coins", 11), for: "bob")
            let granted = try await merchant.transaction("1")
            #expect(granted.redemptions.map(\.userID) == ["ann"] && granted.redemptions.first?.quantity == 2)
            #expect(granted.entries.map(\.entry.kind) == [.grant] && granted.entries.first?.entry.amount == 200)
            #expect(granted.entries.first?.userID == "ann" && granted.entries.first?.currency == "gems")
            test.clock.milliseconds += 1_000
            try await test.notify("REFUND", coins)
            let refunded = try await merchant.transaction("1", in: "com.example.books")
            #expect(refunded.redemptions.map(\.state) == [.revoked])
            #expect(refunded.entries.map(\.entry.amount) == [200, -200])
            #expect(refunded.entries.map(\.entry.kind) == [.grant, .refund])
            // A right without credits has no entries. A restored purchase is found by its original.
            for (id, original) in [("2", nil), ("77", "2" as String?)] {
                let report = try await merchant.transaction(id, original: original)
                #expect(report.redemptions.map(\.transactionID) == ["2"] && report.entries.isEmpty)
            }
            let period = try await merchant.transaction("21", original: "20")
            #expect(period.redemptions.map(\.productID) == ["monthly"] && period.entries.map(\.entry.amount) == [10])
            let nothing = TransactionReport(redemptions: [], entries: [])
            #expect(try await merchant.transaction("22", original: "20") == nothing)
            #expect(try await merchant.transaction("3") == nothing)
            #expect(try await merchant.transaction("1", in: "com.example.other") == nothing)
            for wrong in ["", "1\u{0}", "1/2", "1%", String(repeating: "1", count: 101)] {
                await #expect(throws: MerchantError.self) { try await merchant.transaction(wrong) }
                await #expect(throws: MerchantError.self) { try await merchant.transaction("1", original: wrong) }
            }
        }
    }

    @Test(arguments: Backend.available) func aUsersPurchasesAreListedByTheirRedemption(
        _ backend: Backend
    ) async throws {
        try await TestMerchant.with(backend) { test async throws in
            let merchant = test.merchant
            for id in 1...5 {
                test.clock.milliseconds += 1_000
                let user: UserID = id == 3 ? "ann" : "bob"
                _ = try await test.redeem(test.purchase("coins", id, quantity: Int64(id)), for: user)
            }
            // Two at the same moment.
            _ = try await test.redeem(test.purchase("pro", 6), test.purchase("issue", 7), for: "bob")
            var seen: [RedemptionRecord] = []
            var before: String?
            repeat {
                let page = try await merchant.redemptions(of: "bob", before: before, limit: 2)
                seen += page.redemptions
                before = page.next
            } while before != nil && seen.count < 10
            #expect(seen.count == 6 && Set(seen.map(\.transactionID)) == ["1", "2", "4", "5", "6", "7"])
            #expect(seen.map(\.redeemedAt) == seen.map(\.redeemedAt).sorted(by: >))
            let first = try #require(seen.first { $0.transactionID == "4" })
            #expect(first.userID == "bob" && first.productID == "coins" && first.quantity == 4)
            #expect(first.grants == [.credits("gems", amount: 400, lifetime: nil)] && first.state == .granted)
            #expect(first.takenBack == [] && first.environment == .production && first.purchase.hasSuffix("/t/4"))
            #expect(try await merchant.redemptions(of: "nobody").redemptions.isEmpty)
            for wrong in ["", "x", "1", "-1-x", "1-a\u{0}"] {
                await #expect(throws: MerchantError.self) {
                    try await merchant.redemptions(of: "bob", before: wrong)
                }
            }
        }
    }

    @Test(arguments: Backend.available) func thePurchasesEventsAreListed(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { test async throws in
            let merchant = test.merchant
            let coins = test.purchase("coins", 1)
            for purchase in [coins, test.purchase("coins", 11), test.purchase("coins", 111)] {
                _ = try await test.redeem(purchase, for: "ann")
            }
            test.clock.milliseconds += 1_000
            try await test.notify("REFUND", coins)
            let key = try #require(try await merchant.transaction("1").redemptions.first).purchase
            let events = try await merchant.webhookEvents(about: key).events
            #expect(Set(events.map(\.type)) == ["purchase.redeemed", "purchase.revoked"] && events.count == 2)
            #expect(try await merchant.webhookEvents(.waiting, about: key).events == events)
            #expect(try await merchant.webhookEvents(.dead, about: key).events.isEmpty)
            // Its key begins with the first one's, and is another.
            #expect(try await merchant.webhookEvents(about: key + "1").events.count == 1)
            #expect(try await merchant.webhookEvents(about: key.uppercased()).events.isEmpty)
            await #expect(throws: MerchantError.self) { try await merchant.webhookEvents(about: "a\u{0}") }
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
