import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

extension TestMerchant {
    /// When a user's right ends.
    func end(_ right: EntitlementID, _ user: UserID) async throws -> Int64? {
        try await merchant.entitlements(of: user).entitlements.first { $0.entitlement == right }?.expiresAt
    }
}

/// Periods, plans, users and what the store says of them, in orders in which they were not made.
@Suite(.timeLimit(.minutes(1))) struct SubscriptionTests {
    static let day: Int64 = 86_400_000

    /// A year of gold, and a month that takes its place on the tenth day.
    struct Plans {
        let year: VerifiedPurchase
        let month: VerifiedPurchase

        init(_ shop: TestMerchant) {
            let start = shop.clock.milliseconds
            year = shop.purchase("gold", 1, expiresIn: 365 * day, purchasedAt: start)
            month = shop.purchase("monthly", 2, original: 1, expiresIn: 30 * day, purchasedAt: start + 10 * day)
        }
    }

    @Test(arguments: Backend.available) func aPlanThatWasLeftGivesNothingWhenItComesLate(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            let plans = Plans(shop)
            shop.clock.milliseconds += 10 * Self.day
            _ = try await shop.redeem(plans.month, for: "ann")
            try await shop.notify("SUBSCRIBED", plans.year)
            #expect(try await shop.code { _ = try await shop.redeem(plans.year, for: "ann") } == .expired)
            try await shop.notify("RENEWAL_EXTENDED", plans.year)
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.end("club", "ann") == plans.month.expiresAt)
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func whatWasRedeemedInTimeIsAnsweredAgain(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let plans = Plans(shop)
            let answer = try await shop.redeem(plans.year, for: "ann")
            shop.clock.milliseconds += 10 * Self.day
            _ = try await shop.redeem(plans.month, for: "ann")
            #expect(try await shop.redeem(plans.year, for: "ann") == answer)
            try await shop.notify("RENEWAL_EXTENDED", plans.year)
            #expect(try await shop.rights("ann") == ["club": .active, "gold": .expired])
        }
    }

    @Test(arguments: Backend.available) func aPlanForTheNextPeriodTakesNothingFromThisOne(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            let first = shop.purchase("monthly", 1, expiresIn: 30 * Self.day)
            // Paid a few hours before the first is over.
            let next = shop.purchase(
                "gold", 2, original: 1, expiresIn: 30 * Self.day, purchasedAt: start + 30 * Self.day - 20_000_000)
            shop.clock.milliseconds = next.purchasedAt
            try await shop.notify("DID_RENEW", next)
            _ = try await shop.redeem(next, for: "ann")
            _ = try await shop.redeem(first, for: "ann")
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.rights("ann") == ["club": .active, "gold": .active])
        }
    }

    @Test(arguments: Backend.available) func aReversalGivesItsOwnPeriodBack(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let first = shop.purchase("monthly", 1, expiresIn: 60_000)
            _ = try await shop.redeem(first, for: "ann")
            try await shop.notify("REFUND", first)
            shop.clock.milliseconds += 30_000
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            _ = try await shop.redeem(second, for: "ann")
            #expect(try await shop.rights("ann") == ["club": .active])
            try await shop.notify("REFUND", second)
            try await shop.notify("REFUND_REVERSED", first)
            #expect(try await shop.rights("ann") == ["club": .revoked])
            try await shop.notify("REFUND_REVERSED", second)
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aSubscriptionComesBackAsItStands(_ backend: Backend) async throws {
        let policy = MerchantPolicy(conflict: .transfer, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let plans = Plans(shop)
            _ = try await shop.redeem(plans.year, for: "ann")
            _ = try await shop.redeem(plans.year, for: "bob")
            shop.clock.milliseconds += 10 * Self.day
            _ = try await shop.redeem(plans.month, for: "bob")
            #expect(try await shop.rights("bob") == ["gold": .expired, "club": .active])
            for user in ["ann", "bob", "ann"] as [UserID] {
                _ = try await shop.redeem(plans.month, for: user)
                // The plan that was left does not come back with it.
                #expect(try await shop.rights(user) == ["gold": .expired, "club": .active])
                #expect(try await shop.end("club", user) == plans.month.expiresAt)
            }
            #expect(try await shop.rights("bob")["club"] == .revoked)
            #expect(try await shop.gems("bob") == 10)
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func whatIsChosenForTheNextPeriodEndsNoGrace(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let month = shop.purchase("monthly", 1, expiresIn: 60_000)
            _ = try await shop.redeem(month, for: "ann")
            shop.clock.milliseconds += 60_000
            let until = shop.clock.milliseconds + 10_000
            try await shop.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", month, graceUntil: until)
            for (type, subtype) in [
                ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"), ("DID_CHANGE_RENEWAL_PREF", nil),
                ("OFFER_REDEEMED", "DOWNGRADE"),
            ] {
                shop.clock.milliseconds += 1
                try await shop.notify(type, subtype, month)
                #expect(try await shop.rights("ann") == ["club": .grace], "\(type)")
            }
            shop.clock.milliseconds += 1
            try await shop.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", month)
            #expect(try await shop.rights("ann") == ["club": .expired])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func anExtensionCountsWhoeverTellsOfIt(
        _ backend: Backend, _ isNotified: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            let old = shop.purchase("monthly", 1, expiresIn: 60_000)
            let longer = shop.purchase("monthly", 1, expiresIn: 90_000)
            if isNotified {
                // Before anybody has redeemed it; the app has the receipt of before.
                try await shop.notify("RENEWAL_EXTENDED", longer)
                shop.clock.milliseconds += 70_000
                _ = try await shop.redeem(old, for: "ann")
            } else {
                _ = try await shop.redeem(old, for: "ann")
                shop.clock.milliseconds += 70_000
                #expect(try await shop.rights("ann") == ["club": .expired])
                _ = try await shop.redeem(longer, for: "ann")
            }
            #expect(try await shop.end("club", "ann") == start + 90_000)
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func aRefundedPeriodIsOver(
        _ backend: Backend, _ isNotified: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let token = try await shop.merchant.describe("bob").accountToken
            let year = shop.purchase("gold", 1, expiresIn: 365 * Self.day)
            _ = try await shop.redeem(year, for: "ann")
            shop.clock.milliseconds += 10 * Self.day
            try await shop.notify("REFUND", year)
            shop.clock.milliseconds += Self.day
            let anew = shop.purchase(
                "gold", 2, original: 1, expiresIn: 365 * Self.day, renewal: false, token: token)
            if isNotified { try await shop.notify("SUBSCRIBED", anew) }
            _ = try await shop.redeem(anew, for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active, "gold": .active])
            #expect(try await shop.rights("ann") == ["club": .revoked, "gold": .revoked])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aReversedRefundContinuesTheSubscription(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let token = try await shop.merchant.describe("bob").accountToken
            let year = shop.purchase("gold", 1, expiresIn: 365 * Self.day)
            _ = try await shop.redeem(year, for: "ann")
            try await shop.notify("REFUND", year)
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", year)
            shop.clock.milliseconds += Self.day
            let upgrade = shop.purchase(
                "monthly", 2, original: 1, expiresIn: 30 * Self.day, renewal: false, token: token)
            #expect(try await shop.code { _ = try await shop.redeem(upgrade, for: "bob") } == .alreadyRedeemed)
        }
    }

    @Test(arguments: Backend.available) func aRefundMayBeReportedAfterTheNextPurchase(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let ann = try await shop.merchant.describe("ann").accountToken
            let bob = try await shop.merchant.describe("bob").accountToken
            let year = shop.purchase("gold", 1, expiresIn: 365 * Self.day, token: ann)
            _ = try await shop.redeem(year, for: "ann")
            shop.clock.milliseconds += 11 * Self.day
            let anew = shop.purchase("gold", 2, original: 1, expiresIn: 365 * Self.day, renewal: false, token: bob)
            try await shop.notify("SUBSCRIBED", anew)
            #expect(try await shop.rights("bob") == ["club": .active, "gold": .active])
            try await shop.notify("REFUND", year)
            #expect(try await shop.rights("bob") == ["club": .active, "gold": .active])
            #expect(try await shop.rights("ann") == ["club": .revoked, "gold": .revoked])
            shop.clock.milliseconds += 1
            // What was given back is ann's, and the subscription is bob's all the same.
            try await shop.notify("REFUND_REVERSED", year)
            #expect(try await shop.rights("ann") == ["club": .active, "gold": .active])
            #expect(try await shop.end("gold", "bob") == anew.expiresAt)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aRenewalMayBeReportedBeforeThePurchase(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let ann = try await shop.merchant.describe("ann").accountToken
            let bob = try await shop.merchant.describe("bob").accountToken
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, token: ann), for: "ann")
            shop.clock.milliseconds += 60_000
            let anew = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: bob)
            shop.clock.milliseconds += 55_000
            let next = shop.purchase("monthly", 3, original: 1, expiresIn: 65_000, renewal: true, token: bob)
            try await shop.notify("DID_RENEW", next)
            try await shop.notify("SUBSCRIBED", anew)
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await shop.rights("ann") == ["club": .expired])
            #expect(try await [shop.gems("ann"), shop.gems("bob")] == [10, 20])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func whatIsBoughtAfterARefundEndsWhenItEnds(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let long = shop.purchase("gold", 1, expiresIn: 180 * Self.day)
            _ = try await shop.redeem(long, for: "ann")
            try await shop.notify("REFUND", long)
            shop.clock.milliseconds += Self.day
            let short = shop.purchase("gold", 2, original: 1, expiresIn: 30 * Self.day)
            _ = try await shop.redeem(short, for: "ann")
            #expect(try await shop.rights("ann") == ["club": .active, "gold": .active])
            #expect(try await shop.end("gold", "ann") == short.expiresAt)
        }
    }

    @Test(arguments: Backend.available) func aRefundLeavesWhatWasOverBefore(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let ann = try await shop.merchant.describe("ann").accountToken
            let bob = try await shop.merchant.describe("bob").accountToken
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, token: bob), for: "bob")
            shop.clock.milliseconds += 60_000
            let anns = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: ann)
            _ = try await shop.redeem(anns, for: "ann")
            shop.clock.milliseconds += 60_000
            let bobs = shop.purchase("monthly", 3, original: 1, expiresIn: 60_000, renewal: false, token: bob)
            shop.clock.milliseconds += 60_000
            try await shop.notify("SUBSCRIBED", bobs)
            try await shop.notify("REFUND", anns)
            #expect(try await shop.rights("ann") == ["club": .revoked])
            #expect(try await shop.rights("bob") == ["club": .expired])
        }
    }
}
