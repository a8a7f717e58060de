import StoreWire
import TestSupport
import Testing

@testable import Store

// MARK: - Purchases, and what ends without a payment

extension SubscriptionRow {
    static let purchases: [SubscriptionRow] = [
        SubscriptionRow(
            name: "first purchase in the group",
            source: "Apple: notificationType, SUBSCRIBED; measured: pending_renewal_info has exactly four keys",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY"], state: .active, pending: renewing(), periods: [.first()]
        ) { _ in },
        SubscriptionRow(
            name: "first purchase with a free week",
            source: "Apple: offerType 1; measured 2018–2022: is_trial_period true, is_in_intro_offer_period false",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY"], state: .active, pending: renewing("club.monthly"),
            periods: [.first("club.monthly", "P1W", marked: [.trial])]
        ) { _ in },
        SubscriptionRow(
            name: "first purchase at an introductory price",
            source: "measured 2018–2022: is_trial_period false, is_in_intro_offer_period true",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY"], state: .active, pending: renewing("club.weekly"),
            periods: [.first("club.weekly", "P6D", marked: [.introductory])]
        ) { _ in },
        SubscriptionRow(
            name: "auto-renew off", source: "Apple: notificationType, DID_CHANGE_RENEWAL_STATUS", isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"],
            state: .active, pending: notRenewing(), periods: [.first()]
        ) { try await $0.cancel() },
        SubscriptionRow(
            name: "auto-renew on again", source: "Apple: notificationType, DID_CHANGE_RENEWAL_STATUS", isStill: true,
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
            ],
            state: .active, pending: renewing(), periods: [.first()]
        ) {
            try await $0.cancel()
            _ = try await $0.test.store.setAutoRenew(true, of: $0.id)
        },
        SubscriptionRow(
            name: "expired, voluntary", source: "measured: intent 1, retry 0, status 0; Apple: expirationIntent 1",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY"],
            state: .expired, pending: ended("1"), periods: [.first()]
        ) {
            try await $0.cancel()
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "resubscription", source: "Apple: SUBSCRIBED, RESUBSCRIBE; the intent and the retry are gone",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                "SUBSCRIBED/RESUBSCRIBE",
            ],
            state: .active, pending: renewing(), periods: [.first(), .now()], startsAnew: true
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.test.buy("gym.monthly", by: $0.account)
        },
        SubscriptionRow(
            name: "resubscription in production",
            source: "Apple: recentSubscriptionStartDate, gaps of at most 60 days; ten minutes in the sandbox",
            environment: .production,
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                "SUBSCRIBED/RESUBSCRIBE",
            ],
            state: .active, pending: renewing(), periods: [.first(), .now()]
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.test.buy("gym.monthly", by: $0.account)
        },
        SubscriptionRow(
            name: "resubscription to another product",
            source: "Apple: SUBSCRIBED, RESUBSCRIBE to any product of the group; measured: the allocated line item",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                "SUBSCRIBED/RESUBSCRIBE",
            ],
            state: .active, pending: renewing("gym.quarterly"),
            periods: [.first(), .now("gym.quarterly", "P3M")], startsAnew: true
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.test.buy("gym.quarterly", by: $0.account)
        },
        SubscriptionRow(
            name: "introductory offer after a lapse",
            source: "Apple: introductory offers; also for lapsed subscribers who never used one in the group",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                "SUBSCRIBED/RESUBSCRIBE",
            ],
            state: .active, pending: renewing("gym.classes"),
            periods: [.first(), .now("gym.classes", "P3D", marked: [.trial])], startsAnew: true
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.test.buy("gym.classes", by: $0.account)
        },
        SubscriptionRow(
            name: "removed from sale", source: "Apple: EXPIRED, PRODUCT_NOT_FOR_SALE; expirationIntent 4",
            news: ["SUBSCRIBED/INITIAL_BUY", "EXPIRED/PRODUCT_NOT_FOR_SALE"],
            state: .expired, pending: ended("4"), periods: [.first()]
        ) {
            $0.test.store.catalog.replace(
                with: try SubscriptionRow.catalog {
                    $0.replacing("productID: gym.monthly", with: "productID: gym.other")
                })
            try await $0.advance(31)
        },
    ]
}

// MARK: - Renewals

extension SubscriptionRow {
    static let renewals: [SubscriptionRow] = [
        SubscriptionRow(
            name: "renewal", source: "Apple: notificationType, DID_RENEW; measured: purchaseDate is the end before",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"], state: .active, pending: renewing(),
            periods: [.first(), .renewal()]
        ) { try await $0.advance(31) },
        SubscriptionRow(
            name: "renewal a day early in production",
            source: "Apple: charges within 24 hours before the expiry; measured: signed before its own purchaseDate",
            environment: .production,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"], state: .active, pending: renewing(),
            periods: [.first(), .renewal()]
        ) { try await $0.advance(27) },
        SubscriptionRow(
            name: "failed in production", source: "thread 745515: the failure is announced at the expiry",
            environment: .production,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW"], state: .billingRetry, pending: overdue(),
            periods: [.first()]
        ) {
            try await $0.declinePayments()
            // The charge a day before the expiry fails, and nobody hears of it.
            try await $0.advance(27)
            #expect(try await $0.test.store.subscription($0.id).state == .active)
            #expect(try await $0.test.store.news(of: $0.id).count == 1)
            try await $0.advance(1)
        },
        SubscriptionRow(
            name: "failed, with a grace period",
            source: "Apple: DID_FAIL_TO_RENEW, GRACE_PERIOD; grace_period_expires_date; status 4",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD"],
            state: .gracePeriod, pending: overdue(graceEnd), periods: [.first("gym.monthly", "P2D")]
        ) {
            try await $0.grace()
            try await $0.fail()
        },
        SubscriptionRow(
            name: "failed, without a grace period", source: "report of production, 2025: retry true, intent 2",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW"], state: .billingRetry, pending: overdue(),
            periods: [.first("gym.monthly", "P2D")]
        ) { try await $0.fail() },
        SubscriptionRow(
            name: "grace over", source: "Apple: notificationType, GRACE_PERIOD_EXPIRED; status 3",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED"],
            state: .billingRetry, pending: overdue(graceEnd), periods: [.first("gym.monthly", "P2D")]
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(17)
        },
        SubscriptionRow(
            name: "recovered within the grace period",
            source: "Apple: Reducing involuntary subscriber churn, the cycle is kept; measured: four keys",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_RENEW/BILLING_RECOVERY"],
            state: .active, pending: renewing(), periods: [.first("gym.monthly", "P2D"), .renewal()]
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(3)
            try await $0.recover()
        },
        SubscriptionRow(
            name: "recovered after it", source: "measured: the period begins with the payment",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED",
                "DID_RENEW/BILLING_RECOVERY",
            ],
            state: .active, pending: renewing(),
            periods: [.first("gym.monthly", "P2D"), .latePayment()], startsAnew: true
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(20)
            try await $0.recover()
        },
        SubscriptionRow(
            name: "retry over", source: "measured, thread 728090: status 0, intent 2, retry 0, the grace's end stays",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED",
                "EXPIRED/BILLING_RETRY",
            ],
            state: .expired, pending: ended("2", graceEnd), periods: [.first("gym.monthly", "P2D")]
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(70)
        },
        SubscriptionRow(
            name: "cancelled in the grace period",
            source: "thread 739756: EXPIRED, BILLING_RETRY; Apple: the element leaves pending_renewal_info",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/BILLING_RETRY",
            ],
            state: .expired, pending: nil, periods: [.first("gym.monthly", "P2D")]
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.cancel()
        },
        SubscriptionRow(
            name: "extended", source: "Apple: notificationType, RENEWAL_EXTENDED; expires_date moves", isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED"], state: .active, pending: renewing(),
            periods: [.first("gym.monthly", "P1M+P10D")]
        ) { _ = try await $0.test.store.extend($0.id, days: 10) },
        SubscriptionRow(
            name: "all extended", source: "Apple: Extend Subscription Renewal Dates for All Active Subscribers",
            news: ["SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED"], state: .active, pending: renewing(),
            periods: [.first("gym.monthly", "P1M+P10D")]
        ) {
            let extended = try await $0.extendAll()
            #expect(extended == Store.MassExtension(succeeded: 1, failed: 0))
        },
        SubscriptionRow(
            name: "all extended but this one",
            source: "Apple: RENEWAL_EXTENSION, FAILURE; a subscription is extended twice in 365 days at most",
            news: ["SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE"],
            state: .active, pending: renewing(), periods: [.first("gym.monthly", "P1M+P1D+P1D")]
        ) {
            for _ in 0..<2 { _ = try await $0.test.store.extend($0.id, days: 1) }
            let extended = try await $0.extendAll()
            #expect(extended == Store.MassExtension(succeeded: 0, failed: 1))
        },
    ]
}
