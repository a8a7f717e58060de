import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// What the store says of a subscription's next period reaches the user.
@Suite(.timeLimit(.minutes(1))) struct RenewalTests {
    @Test(arguments: Backend.available) func aSubscriberIsToldWhetherItRenews(_ backend: Backend) async throws {
        let policy = MerchantPolicy(conflict: .family(members: 2), environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let month = shop.purchase("monthly", 1, expiresIn: 60_000)
            for user in ["ann", "bob"] as [UserID] { _ = try await shop.redeem(month, for: user) }
            _ = try await shop.redeem(shop.purchase("pro", 2), for: "ann")
            func renewal(_ user: UserID, _ name: EntitlementID = "club") async throws -> String {
                let list = try await shop.merchant.entitlements(of: user).entitlements
                let right = try #require(list.first { $0.entitlement == name })
                return "\(right.willRenew.map(String.init) ?? "-") \(right.renewsAs?.rawValue ?? "-")"
            }
            // No notification has come yet.
            #expect(try await renewal("ann") == "- -")
            try await shop.notify(
                "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", month, willRenew: true, renewsAs: "gold")
            #expect(try await renewal("ann") == "true gold")
            shop.clock.milliseconds += 1
            try await shop.notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", month, willRenew: false)
            #expect(try await renewal("ann") == "false gold")
            // It is the subscriber's business, not the guest's, and nothing else's.
            #expect(try await renewal("bob") == "- -")
            #expect(try await renewal("ann", "pro") == "- -")
            #expect(try await shop.merchant.report(of: "ann").entitlements.contains { $0.willRenew == false })
        }
    }

    /// The sandbox can end a period early and renew it at once. An earlier receipt that comes late changes nothing.
    @Test(arguments: Backend.available) func anEndThatComesEarlyIsFollowed(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            let first = shop.purchase("monthly", 1, expiresIn: 60_000)
            _ = try await shop.redeem(first, for: "ann")
            shop.clock.milliseconds += 10_000
            let ended = shop.purchase("monthly", 1, expiresIn: 10_000, purchasedAt: start)
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: true)
            _ = try await shop.redeem(ended, second, for: "ann")
            func end() async throws -> Int64? {
                try await shop.merchant.entitlements(of: "ann").entitlements.first?.expiresAt
            }
            #expect(try await end() == start + 70_000)
            // Nothing of the first period was replaced: it was over.
            #expect(try await shop.gems("ann") == 20)
            shop.clock.milliseconds += 5_000
            let endedToo = shop.purchase("monthly", 2, original: 1, expiresIn: 5_000, purchasedAt: start + 10_000)
            _ = try? await shop.redeem(endedToo, for: "ann")
            #expect(try await end() == start + 15_000)
            #expect(try await shop.rights("ann") == ["club": .expired])
            _ = try? await shop.redeem(first, second, for: "ann")
            #expect(try await end() == start + 15_000)
            #expect(try await shop.findings() == [])
        }
    }
}
