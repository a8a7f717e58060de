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
}
