import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Who owns a subscription: buyers, former owners, families, and owners that are not known yet.
@Suite(.timeLimit(.minutes(1))) struct SubscriptionOwnerTests {
    private static let day = SubscriptionTests.day

    /// Two periods of ann's that both run.
    private func twoPeriods(_ shop: TestMerchant) async throws -> (VerifiedPurchase, VerifiedPurchase) {
        let first = shop.purchase("monthly", 1, expiresIn: 60_000)
        _ = try await shop.redeem(first, for: "ann")
        shop.clock.milliseconds += 55_000
        let second = shop.purchase("monthly", 2, original: 1, expiresIn: 90_000)
        _ = try await shop.redeem(second, for: "ann")
        return (first, second)
    }

    @Test(arguments: Backend.available) func aRefundReachesTheSubscriptionsCurrentOwner(_ backend: Backend) async throws
    {
        let policy = MerchantPolicy(conflict: .transfer, environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            func told(_ type: String) async throws -> [String] {
                try await shop.merchant.outbox.takeDueEvents(
                    limit: 99, retries: 99, now: shop.clock.milliseconds, leaseEnd: .max
                ).filter { $0.type == type }.map { event in
                    let body = String(decoding: event.body, as: UTF8.self)
                    return body.contains("\"userId\":\"bob\"") ? "bob" : "ann"
                }.sorted()
            }
            let (first, second) = try await twoPeriods(shop)
            // Taken over by the first period, of which the second is another.
            _ = try await shop.redeem(first, for: "bob")
            #expect(try await shop.rights("ann") == ["club": .revoked])
            #expect(try await shop.rights("bob") == ["club": .active])
            try await shop.notify("REFUND", second)
            #expect(try await shop.rights("bob") == ["club": .revoked])
            // Who had the credits, and who the rights.
            #expect(try await told("purchase.revoked") == ["ann", "bob"])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", second)
            #expect(try await told("purchase.reinstated") == ["ann", "bob"])
            #expect(try await shop.rights("ann") == ["club": .revoked])
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await shop.end("club", "bob") == second.expiresAt)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aPeriodOfOnesOwnBringsTheSubscriptionBack(_ backend: Backend) async throws
    {
        let policy = MerchantPolicy(conflict: .transfer, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let (first, second) = try await twoPeriods(shop)
            _ = try await shop.redeem(first, for: "bob")
            _ = try await shop.redeem(second, for: "ann")
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.rights("bob") == ["club": .revoked])
        }
    }

    @Test(arguments: Backend.available) func aGuestMayComeBeforeTheFirst(_ backend: Backend) async throws {
        let family = MerchantPolicy(conflict: .family(members: 3), environments: [.production])
        try await TestMerchant.with(backend, policy: family) { shop async throws in
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000), for: "ann")
            shop.clock.milliseconds += 60_000
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            let answer = try await shop.redeem(second, for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active])
            try await shop.notify("REFUND", second)
            #expect(try await shop.rights("bob") == ["club": .revoked])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", second)
            #expect(try await shop.rights("bob") == ["club": .active])
            // When it is over, who had it is answered as before.
            shop.clock.milliseconds += 60_000
            #expect(try await shop.redeem(second, for: "bob") == answer)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func storeNotificationsReachTheWholeFamily(_ backend: Backend) async throws {
        let family = MerchantPolicy(conflict: .family(members: 3), environments: [.production])
        try await TestMerchant.with(backend, policy: family) { shop async throws in
            let plans = SubscriptionTests.Plans(shop)
            for user in ["ann", "bob"] as [UserID] { _ = try await shop.redeem(plans.year, for: user) }
            shop.clock.milliseconds += 10 * Self.day
            // A guest's app may be the first to bring the new plan.
            _ = try await shop.redeem(plans.month, for: "bob")
            #expect(try await shop.rights("ann")["gold"] == .expired)
            _ = try await shop.redeem(plans.month, for: "ann")
            for user in ["ann", "bob"] as [UserID] {
                #expect(try await shop.rights(user) == ["gold": .expired, "club": .active])
            }
            let longer = shop.purchase(
                "monthly", 2, original: 1, expiresIn: 40 * Self.day, purchasedAt: plans.month.purchasedAt)
            try await shop.notify("RENEWAL_EXTENDED", longer)
            shop.clock.milliseconds += 35 * Self.day
            for user in ["ann", "bob"] as [UserID] { #expect(try await shop.rights(user)["club"] == .active) }
            shop.clock.milliseconds += 6 * Self.day
            let until = shop.clock.milliseconds + Self.day
            try await shop.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", longer, graceUntil: until)
            for user in ["ann", "bob"] as [UserID] {
                #expect(try await shop.rights(user) == ["gold": .expired, "club": .grace])
            }
        }
    }

    /// Ann's month is over, and bob buys the subscription anew at the same store account, which leaves it its original
    /// id.
    @Test(arguments: Backend.available, [true, false]) func aSubscriptionBelongsToTheUserWhoBuysItAgain(
        _ backend: Backend, _ isNotified: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            func month(_ id: String, _ user: UserID, _ reason: String) async throws -> [String: Any] {
                shop.transaction(
                    "monthly", id,
                    [
                        "originalTransactionId": "2000000000000001", "webOrderLineItemId": id,
                        "expiresDate": shop.clock.milliseconds + 60_000, "type": "Auto-Renewable Subscription",
                        "appAccountToken": try await shop.merchant.describe(user).accountToken,
                        "transactionReason": reason,
                    ])
            }
            func take(_ type: String, _ fields: [String: Any], for user: UserID) async throws {
                if isNotified {
                    let payload = try shop.notification(type, fields, id: UUID().uuidString)
                    #expect(try await shop.merchant.receive(signedPayload: payload) == .applied)
                }
                let answer = try await shop.merchant.redeem(.signedTransaction(try shop.sign(fields)), for: user)
                #expect(answer.redeemed.map(\.wentToNamedOwner) == [false])
            }
            let first = try await month("2000000000000001", "ann", "PURCHASE")
            try await take("SUBSCRIBED", first, for: "ann")
            shop.clock.milliseconds += 60_000
            // While ann may use it unpaid.
            let renewal: [String: Any] = [
                "originalTransactionId": "2000000000000001", "environment": "Sandbox",
                "signedDate": shop.clock.milliseconds, "gracePeriodExpiresDate": shop.clock.milliseconds + 600_000,
            ]
            var unpaid = try shop.notification(
                "DID_FAIL_TO_RENEW", first, id: "n-1", renewal: renewal, subtype: "GRACE_PERIOD")
            #expect(try await shop.merchant.receive(signedPayload: unpaid) == .applied)
            #expect(try await shop.rights("ann") == ["club": .grace])

            shop.clock.milliseconds += 1_000
            let anew = try await month("2000000000000002", "bob", "PURCHASE")
            try await take("SUBSCRIBED", anew, for: "bob")
            #expect(try await shop.rights("ann") == ["club": .expired])
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await [shop.gems("ann", in: .sandbox), shop.gems("bob", in: .sandbox)] == [10, 10])

            // News of it concerns only bob from now on.
            shop.clock.milliseconds += 1_000
            let longer = anew.merging(["expiresDate": shop.clock.milliseconds + 90_000]) { $1 }
            unpaid = try shop.notification("RENEWAL_EXTENDED", longer, id: "n-2")
            #expect(try await shop.merchant.receive(signedPayload: unpaid) == .applied)
            #expect(try await shop.rights("ann") == ["club": .expired])
            #expect(try await shop.end("club", "bob") == shop.clock.milliseconds + 90_000)
            shop.clock.milliseconds += 90_000
            try await take("DID_RENEW", month("2000000000000003", "bob", "RENEWAL"), for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aRenewalWithTheOldAccountTokenKeepsTheOwner(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            // Ann is not known when bob brings it.
            let token = AccountToken.token(of: "ann")
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, token: token), for: "bob")
            _ = try await shop.merchant.describe("ann")
            for (id, reason) in [(2, true), (3, nil)] as [(Int, Bool?)] {
                shop.clock.milliseconds += 70_000
                let next = shop.purchase(
                    "monthly", id, original: 1, expiresIn: 60_000, renewal: reason, token: token)
                if id == 2 { try await shop.notify("DID_RENEW", next) }
                // Bob's app brings it, too, or first.
                _ = try await shop.redeem(next, for: "bob")
                #expect(try await shop.rights("bob") == ["club": .active])
                #expect(try await shop.rights("ann") == [:])
            }
            // Bought while bob's runs, it is bob's as well.
            let early = shop.purchase("gold", 4, original: 1, expiresIn: 60_000, renewal: false, token: token)
            try await shop.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", early)
            #expect(try await shop.rights("bob")["gold"] == .active)
            #expect(try await shop.rights("ann") == [:])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aPurchaseWaitsForItsUnknownOwner(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000), for: "ann")
            shop.clock.milliseconds += 60_000
            // Bob's app passes it by itself, and has never asked for it.
            let anew = shop.purchase(
                "monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: AccountToken.token(of: "bob"))
            try await shop.notify("SUBSCRIBED", anew)
            #expect(try await shop.rights("ann") == ["club": .expired])
            _ = try await shop.redeem(anew, for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await [shop.gems("ann"), shop.gems("bob")] == [10, 10])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func aSubscriptionBelongsToItsNewBuyerEvenIfReportedLate(
        _ backend: Backend, _ isNotified: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let token = try await shop.merchant.describe("bob").accountToken
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000), for: "ann")
            shop.clock.milliseconds += 60_000
            let anew = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: token)
            shop.clock.milliseconds += 60_000
            if isNotified {
                try await shop.notify("SUBSCRIBED", anew)
            } else {
                #expect(try await shop.code { _ = try await shop.redeem(anew, for: "bob") } == .expired)
            }
            let next = shop.purchase("monthly", 3, original: 1, expiresIn: 60_000, renewal: true, token: token)
            try await shop.notify("DID_RENEW", next)
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await shop.rights("ann") == ["club": .expired])
            #expect(try await [shop.gems("ann"), shop.gems("bob")] == [10, 10])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func anOldRefundIsReportedToTheFormerOwner(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            func told(_ type: String) async throws -> [Bool] {
                try await shop.merchant.outbox.takeDueEvents(
                    limit: 99, retries: 99, now: shop.clock.milliseconds, leaseEnd: .max
                ).filter { $0.type == type }.map { String(decoding: $0.body, as: UTF8.self).contains("\"bob\"") }
            }
            let first = shop.purchase("monthly", 1, expiresIn: 60_000)
            _ = try await shop.redeem(first, for: "ann")
            shop.clock.milliseconds += 60_000
            let token = try await shop.merchant.describe("bob").accountToken
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: token)
            _ = try await shop.redeem(second, for: "bob")
            try await shop.notify("REFUND", first)
            #expect(try await told("purchase.revoked") == [false])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", first)
            #expect(try await told("purchase.reinstated") == [false])
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func theRenewalOfAWaitingPurchaseWaits(
        _ backend: Backend, _ annIsNamed: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let ann = annIsNamed ? try await shop.merchant.describe("ann").accountToken : nil
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, token: ann), for: "ann")
            shop.clock.milliseconds += 60_000
            let bob = AccountToken.token(of: "bob")
            let anew = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: bob)
            try await shop.notify("SUBSCRIBED", anew)
            shop.clock.milliseconds += 55_000
            let next = shop.purchase("monthly", 3, original: 1, expiresIn: 65_000, renewal: true, token: bob)
            try await shop.notify("DID_RENEW", next)
            #expect(try await shop.rights("ann") == ["club": .expired])
            _ = try await shop.redeem(anew, for: "bob")
            _ = try await shop.redeem(next, for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await [shop.gems("ann"), shop.gems("bob")] == [10, 20])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func anEarlierOwnerDoesNotGetAWaitingPurchase(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let ann = try await shop.merchant.describe("ann").accountToken
            let year = shop.purchase("gold", 1, expiresIn: 365 * Self.day, token: ann)
            let answer = try await shop.redeem(year, for: "ann")
            shop.clock.milliseconds += Self.day
            // The year was refunded, which is told late.
            let bob = AccountToken.token(of: "bob")
            let anew = shop.purchase("gold", 2, original: 1, expiresIn: Self.day, renewal: false, token: bob)
            try await shop.notify("SUBSCRIBED", anew)
            #expect(try await shop.redeem(year, for: "ann") == answer)
            shop.clock.milliseconds += Self.day
            let next = shop.purchase("gold", 3, original: 1, expiresIn: Self.day, renewal: true, token: bob)
            try await shop.notify("DID_RENEW", next)
            _ = try await shop.redeem(next, for: "bob")
            #expect(try await shop.end("gold", "bob") == next.expiresAt)
            #expect(try await shop.end("gold", "ann") == year.expiresAt)
        }
    }

    @Test(arguments: Backend.available) func anUnknownAccountTokenIsComparedWithTheEarlierOne(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            // The app's own, of which the merchant never hears.
            let token = "c0ffee00-0000-4000-8000-000000000001"
            _ = try await shop.redeem(shop.purchase("monthly", 1, expiresIn: 60_000, token: token), for: "ann")
            shop.clock.milliseconds += 60_000
            let anew = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, renewal: false, token: token)
            try await shop.notify("SUBSCRIBED", anew)
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.gems("ann") == 20)
            // Another one is somebody else's, who is at the counter when it comes.
            shop.clock.milliseconds += 60_000
            let other = shop.purchase(
                "monthly", 3, original: 1, expiresIn: 60_000, renewal: false,
                token: "c0ffee00-0000-4000-8000-000000000002")
            _ = try await shop.redeem(other, for: "bob")
            #expect(try await shop.rights("bob") == ["club": .active])
            #expect(try await shop.rights("ann") == ["club": .expired])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func theOwnerOfAnEarlierPeriodGetsNothingOfThisPeriod(_ backend: Backend)
        async throws
    {
        let family = MerchantPolicy(conflict: .family(members: 3), environments: [.production])
        try await TestMerchant.with(backend, policy: family) { shop async throws in
            let first = shop.purchase("monthly", 1, expiresIn: 60_000)
            for user in ["ann", "bob"] as [UserID] { _ = try await shop.redeem(first, for: user) }
            shop.clock.milliseconds += 60_000
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            try await shop.notify("DID_RENEW", second)
            // A guest's app brings each period.
            #expect(try await shop.rights("bob") == ["club": .expired])
            let longer = shop.purchase("monthly", 2, original: 1, expiresIn: 90_000)
            try await shop.notify("RENEWAL_EXTENDED", longer)
            #expect(try await shop.rights("bob") == ["club": .expired])
            #expect(try await shop.end("club", "ann") == longer.expiresAt)
            shop.clock.milliseconds += 90_000
            try await shop.notify(
                "DID_FAIL_TO_RENEW", "GRACE_PERIOD", longer, graceUntil: shop.clock.milliseconds + 10_000)
            #expect(try await shop.rights("bob") == ["club": .expired])
            #expect(try await shop.rights("ann") == ["club": .grace])
        }
    }
}
