import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct NotificationTests {
    @Test(arguments: Backend.available, RefundPolicy.allCases) func aRefundTakesBackByPolicy(
        _ backend: Backend, _ refund: RefundPolicy
    ) async throws {
        let policy = MerchantPolicy(refund: refund, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let coins = shop.purchase("coins", 1)
            _ = try await shop.redeem(coins, for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 70), by: "ann")
            #expect(try await shop.notify("REFUND", coins, id: "n1") == .applied)
            #expect(try await shop.notify("REFUND", coins, id: "n1") == .duplicate)
            #expect(try await shop.notify("REFUND", coins, id: "n2") == .applied)
            let expected: [RefundPolicy: Int64] = [.toZero: 0, .belowZero: -70, .flag: 30]
            #expect(try await shop.gems("ann") == expected[refund])
            #expect(try await shop.merchant.report(of: "ann").flags.count == (refund == .belowZero ? 0 : 1))
            #expect(try await shop.code { _ = try await shop.redeem(coins, for: "ann") } == .revoked)
            // What was taken comes back when the store takes the refund back.
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", coins)
            #expect(try await shop.gems("ann") == 30)
            #expect(try await shop.redeem(coins, for: "ann").confirms(transactionID: "1"))
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func evidenceMayBeTheFirstToTellOfARefund(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let old = shop.purchase("coins", 1)
            _ = try await shop.redeem(old, shop.purchase("pro", 2), for: "ann")
            shop.clock.milliseconds += 1_000
            // Another user brings it: whose it is does not matter.
            let refunded = shop.purchase("coins", 1, revoked: true)
            #expect(try await shop.code { _ = try await shop.redeem(refunded, for: "bob") } == .revoked)
            #expect(try await shop.gems("ann") == 0)
            #expect(
                try await shop.redeem(refunded, shop.purchase("pro", 2), for: "ann").refused.map(\.code) == [.revoked])
            // A receipt of before gives nothing again, nor does the notification take anything twice.
            #expect(try await shop.code { _ = try await shop.redeem(old, for: "ann") } == .revoked)
            try await shop.notify("REFUND", refunded)
            #expect(try await shop.gems("ann") == 0)
            shop.clock.milliseconds += 1_000
            try await shop.notify("REFUND_REVERSED", old)
            #expect(try await shop.gems("ann") == 100)
            // Evidence from before the reversal is out of date.
            _ = try? await shop.redeem(refunded, for: "ann")
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.rights("ann") == ["pro": .active])
            #expect(try await shop.findings() == [])
        }
    }

    /// The rights of a period that was left for another plan end with the plan. Its credits are taken back like
    /// refunded ones.
    @Test(arguments: Backend.available, [true, false, nil]) func anUpgradeIsNoRefund(
        _ backend: Backend, _ isUpgraded: Bool?
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, period: 71), for: "ann")
            shop.clock.milliseconds += 1_000
            let ended = shop.purchase(
                "monthly", 1, expiresIn: 59_000, period: 71, revoked: true, upgraded: isUpgraded)
            _ = try? await shop.redeem(ended, for: "ann")
            #expect(try await shop.gems("ann") == (isUpgraded == nil ? 10 : 0))
            #expect(try await shop.rights("ann") == ["club": isUpgraded == false ? .revoked : .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available)
    func `a reported purchase that cannot be granted is recorded as refused`(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let token = try await shop.merchant.describe("ann").accountToken
            let purchases = [
                shop.purchase("new", 1, token: token), shop.purchase("new", 2, expiresIn: 60_000, token: token),
                // A consumable does not expire.
                shop.purchase("coins", 3, expiresIn: 60_000, token: token),
                // Whoever its owner is.
                shop.purchase("coins", 5, expiresIn: 60_000),
            ]
            let codes: [MerchantErrorCode] = [.unknownProduct, .unknownProduct, .wrongKind, .wrongKind]
            for (purchase, code) in zip(purchases, codes) {
                let outcome = try await shop.notify("ONE_TIME_CHARGE", purchase, id: purchase.transactionID)
                guard case .refused(let refused) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(refused.code == code && refused.transactionID == purchase.transactionID)
                #expect(
                    try await shop.notify("ONE_TIME_CHARGE", purchase, id: purchase.transactionID) == .duplicate)
            }
            // Of a period that is over there is nothing to grant.
            let over = shop.purchase(
                "monthly", 4, expiresIn: 60_000, purchasedAt: shop.clock.milliseconds - 60_000, token: token)
            #expect(try await shop.notify("DID_RENEW", over, id: "4") == .applied)
            let records = try await shop.merchant.notifications().notifications
            #expect(
                Dictionary(uniqueKeysWithValues: records.map { ($0.notificationID, $0.refusal) })
                    == ["1": .unknownProduct, "2": .unknownProduct, "3": .wrongKind, "4": nil, "5": .wrongKind])
            #expect(records.count(where: { $0.outcome == .refused }) == 4)
            #expect(try await shop.gems("ann") == 0)
        }
    }

    @Test(arguments: Backend.available) func aRefundRevokesANonConsumable(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("pro", 1), shop.purchase("issue", 2), for: "ann")
            try await shop.notify("REVOKE", shop.purchase("pro", 1))
            #expect(try await shop.rights("ann") == ["pro": .revoked, "issue-12": .active])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", shop.purchase("pro", 1))
            #expect(try await shop.rights("ann")["pro"] == .active)
        }
    }

    @Test(arguments: Backend.available) func aRefundMayComeBeforeTheApp(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1)
            try await shop.notify("REFUND", coins)
            #expect(try await shop.code { _ = try await shop.redeem(coins, for: "ann") } == .revoked)
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", coins)
            _ = try await shop.redeem(coins, for: "ann")
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func refundAndReversalComeInAnyOrder(
        _ backend: Backend, _ isRedeemed: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1)
            if isRedeemed { _ = try await shop.redeem(coins, for: "ann") }
            let now = shop.clock.milliseconds
            try await shop.notify("REFUND_REVERSED", coins, signedAt: now + 2)
            try await shop.notify("REFUND", coins, signedAt: now + 1)
            _ = try await shop.redeem(coins, for: "ann")
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func renewalsGoToTheOwner(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let month: Int64 = 2_592_000_000
            let start = shop.clock.milliseconds
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: month), for: "ann")
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: month, purchasedAt: start + month)
            let third = shop.purchase("monthly", 3, original: 1, expiresIn: month, purchasedAt: start + 2 * month)
            shop.clock.milliseconds += 2 * month
            // The later one overtakes the earlier.
            try await shop.notify("DID_RENEW", third, signedAt: start + 2 * month)
            try await shop.notify("DID_RENEW", second, signedAt: start + month)
            #expect(try await shop.rights("ann") == ["club": .active])
            let club = try await shop.merchant.entitlements(of: "ann").entitlements.first
            #expect(club?.expiresAt == start + 3 * month)
            // Of a period that is over nothing is given any more; of the one that runs, its credits.
            #expect(try await shop.gems("ann") == 20)
            // The app brings the same period later.
            _ = try await shop.redeem(third, for: "ann")
            #expect(try await shop.gems("ann") == 20)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func graceKeepsASubscriptionUsable(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let first = shop.purchase("monthly", 1, expiresIn: 60_000)
            _ = try await shop.redeem(first, for: "ann")
            shop.clock.milliseconds += 60_000
            let now = shop.clock.milliseconds
            try await shop.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", first, graceUntil: now + 10_000)
            #expect(try await shop.rights("ann") == ["club": .grace])
            // What is older does not count any longer.
            try await shop.notify("EXPIRED", "VOLUNTARY", first, signedAt: now - 1)
            #expect(try await shop.rights("ann") == ["club": .grace])
            shop.clock.milliseconds += 10_000
            #expect(try await shop.rights("ann") == ["club": .expired])
            let next = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            try await shop.notify("DID_RENEW", "BILLING_RECOVERY", next)
            #expect(try await shop.rights("ann") == ["club": .active])
            try await shop.notify("REFUND", next)
            #expect(try await shop.rights("ann") == ["club": .revoked])
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func anotherPlanTakesOver(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("gold", 1, expiresIn: 60_000), for: "ann")
            #expect(try await shop.rights("ann") == ["gold": .active, "club": .active])
            shop.clock.milliseconds += 1_000
            let change = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            try await shop.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", change)
            shop.clock.milliseconds += 1
            #expect(try await shop.rights("ann") == ["gold": .expired, "club": .active])
            // The transaction that was upgraded away comes again from a device.
            let old = shop.purchase("gold", 1, expiresIn: 60_000, purchasedAt: TestClock.start, upgraded: true)
            _ = try await shop.redeem(old, for: "ann")
            #expect(try await shop.rights("ann") == ["gold": .expired, "club": .active])
        }
    }

    @Test(arguments: Backend.available) func anExtensionLengthens(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, period: 7), for: "ann")
            try await shop.notify(
                "RENEWAL_EXTENDED", shop.purchase("monthly", 1, expiresIn: 90_000, purchasedAt: start, period: 7))
            shop.clock.milliseconds += 80_000
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.gems("ann") == 10)
        }
    }

    @Test(arguments: Backend.available) func aPurchaseThatNamesItsOwnerNeedsNoApp(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let token = try await shop.merchant.describe("ann").accountToken
            try await shop.notify(
                "SUBSCRIBED", "INITIAL_BUY", shop.purchase("monthly", 1, expiresIn: 60_000, token: token))
            #expect(try await shop.rights("ann") == ["club": .active])
            // Without a name it waits for the app.
            try await shop.notify("SUBSCRIBED", "INITIAL_BUY", shop.purchase("monthly", 5, expiresIn: 60_000))
            _ = try await shop.redeem(shop.purchase("monthly", 5, expiresIn: 60_000), for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active])
        }
    }
}
