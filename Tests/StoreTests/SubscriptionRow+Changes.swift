import StoreWire
import TestSupport
import Testing

@testable import Store

// MARK: - Changes of plan

extension SubscriptionRow {
    static let changes: [SubscriptionRow] = [
        SubscriptionRow(
            name: "upgrade", source: "Apple: DID_CHANGE_RENEWAL_PREF, UPGRADE; sandbox: is_upgraded on the old row",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE"], state: .active,
            pending: renewing("club.monthly"),
            periods: [.first("club.weekly", "P6D", marked: [.introductory, .upgraded]), .now("club.monthly")]
        ) {
            try await $0.advance(1)
            try await $0.test.buy("club.monthly", by: $0.account)
        },
        SubscriptionRow(
            name: "crossgrade of the same length", source: "thread 723300: same level and duration, now", isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE"], state: .active,
            pending: renewing("gym.pool"), periods: [.first(marked: [.upgraded]), .now("gym.pool")]
        ) { try await $0.test.buy("gym.pool", by: $0.account) },
        SubscriptionRow(
            name: "crossgrade of another length", source: "thread 723300: same level, other duration, at the renewal",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE"], state: .active,
            pending: renewing("gym.monthly", as: "gym.quarterly"), periods: [.first()]
        ) { try await $0.choose("gym.quarterly") },
        SubscriptionRow(
            name: "downgrade", source: "Apple: DID_CHANGE_RENEWAL_PREF, DOWNGRADE; no transaction until the renewal",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE"], state: .active,
            pending: renewing("club.monthly", as: "club.weekly"),
            periods: [.first("club.monthly", "P1W", marked: [.trial])]
        ) { try await $0.choose("club.weekly") },
        SubscriptionRow(
            name: "downgrade taken back", source: "Apple: DID_CHANGE_RENEWAL_PREF without a subtype", isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_CHANGE_RENEWAL_PREF"],
            state: .active,
            pending: renewing("club.monthly"), periods: [.first("club.monthly", "P1W", marked: [.trial])]
        ) {
            try await $0.choose("club.weekly")
            try await $0.choose("club.monthly")
        },
        SubscriptionRow(
            name: "downgrade takes effect", source: "Apple: DID_RENEW; a renewal of the new product",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_RENEW"],
            state: .active, pending: renewing("club.weekly"),
            periods: [.first("club.monthly", "P1W", marked: [.trial]), .renewal("club.weekly", "P1W")]
        ) {
            try await $0.choose("club.weekly")
            try await $0.advance(8)
        },
        SubscriptionRow(
            name: "downgrade after the charge in production",
            source: "thread 802109: a downgrade the day before the end of the trial still renews the old plan",
            environment: .production,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE"], state: .active,
            pending: renewing("club.monthly", as: "club.weekly"),
            periods: [.first("club.monthly", "P1W", marked: [.trial]), .renewal("club.monthly")]
        ) {
            try await $0.advance(6)
            try await $0.choose("club.weekly")
        },
    ]
}

// MARK: - Offers

extension SubscriptionRow {
    static let offers: [SubscriptionRow] = [
        SubscriptionRow(
            name: "code on an active subscription", source: "Apple: OFFER_REDEEMED; offer_code_ref_name", isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "OFFER_REDEEMED"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["offer_code_ref_name": "Half"]), periods: [.first()]
        ) { try await $0.redeem("HALF1") },
        SubscriptionRow(
            name: "the code's offer begins", source: "Apple: offer_code_ref_name on the row that pays it",
            news: ["SUBSCRIBED/INITIAL_BUY", "OFFER_REDEEMED", "DID_RENEW"], state: .active, pending: renewing(),
            periods: [.first(), .renewal(marked: [.code("Half")])]
        ) {
            try await $0.redeem("HALF2")
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "offer with an upgrade", source: "Apple: OFFER_REDEEMED, UPGRADE; promotional_offer_id",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY", "OFFER_REDEEMED/UPGRADE"], state: .active,
            pending: renewing("gym.pool"),
            periods: [.first(marked: [.upgraded]), .now("gym.pool", marked: [.promotional("swim")])]
        ) { try await $0.buy("gym.pool", with: "swim") },
        SubscriptionRow(
            name: "offer with a downgrade", source: "Apple: OFFER_REDEEMED, DOWNGRADE; promotional_offer_id",
            isStill: true, news: ["SUBSCRIBED/INITIAL_BUY", "OFFER_REDEEMED/DOWNGRADE"], state: .active,
            pending: renewing("gym.monthly", as: "gym.basic", ["promotional_offer_id": "start"]), periods: [.first()]
        ) { try await $0.buy("gym.basic", with: "start") },
        SubscriptionRow(
            name: "the downgrade's offer begins", source: "Apple: promotional_offer_id on the row that pays it",
            news: ["SUBSCRIBED/INITIAL_BUY", "OFFER_REDEEMED/DOWNGRADE", "DID_RENEW"],
            state: .active, pending: renewing("gym.basic"),
            periods: [.first(), .renewal("gym.basic", marked: [.promotional("start")])]
        ) {
            try await $0.buy("gym.basic", with: "start")
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "offer after a lapse", source: "Apple: SUBSCRIBED, RESUBSCRIBE, with an offer, too",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                "SUBSCRIBED/RESUBSCRIBE",
            ],
            state: .active, pending: renewing("gym.pool"),
            periods: [.first(), .now("gym.pool", marked: [.promotional("swim")])], startsAnew: true
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.buy("gym.pool", with: "swim")
        },
        SubscriptionRow(
            name: "win-back offer", source: "Apple: SUBSCRIBED, RESUBSCRIBE; offerType 4, and nothing in receipts",
            news: [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                "SUBSCRIBED/RESUBSCRIBE",
            ],
            state: .active, pending: renewing("gym.pool"),
            periods: [.first(), .now("gym.pool", marked: [.winBack("again")])], startsAnew: true
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.comeBack(to: "gym.pool", with: "again")
        },
    ]
}

// MARK: - Prices

extension SubscriptionRow {
    static let prices: [SubscriptionRow] = [
        SubscriptionRow(
            name: "price rise, consent asked", source: "Apple: PRICE_INCREASE, PENDING; priceIncreaseStatus 0",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "PRICE_INCREASE/PENDING"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["price_consent_status": "0", "price_increase_status": "0"]),
            periods: [.first(), .renewal()]
        ) {
            try $0.setPrice("29.99")
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "price rise, agreed", source: "Apple: PRICE_INCREASE, ACCEPTED; priceIncreaseStatus 1",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED"],
            state: .active,
            pending: renewing("gym.monthly", as: nil, ["price_consent_status": "1", "price_increase_status": "1"]),
            periods: [.first(), .renewal()], nextPrice: 29_990
        ) {
            try $0.setPrice("29.99")
            try await $0.advance(31)
            try await $0.test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: "gym.monthly",
                    newPrice: Money(milliunits: 29_990, currency: "USD"), accepts: true), of: $0.account)
        },
        SubscriptionRow(
            name: "price rise, told only", source: "Apple: PRICE_INCREASE, ACCEPTED; price_increase_status alone",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "PRICE_INCREASE/ACCEPTED"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["price_increase_status": "1"]),
            periods: [.first(), .renewal()], nextPrice: 10_990
        ) {
            try $0.setPrice("10.99")
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "price rise, no answer", source: "Apple: EXPIRED, PRICE_INCREASE; expirationIntent 3",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "PRICE_INCREASE/PENDING", "EXPIRED/PRICE_INCREASE"],
            state: .expired, pending: ended("3", ["price_consent_status": "0", "price_increase_status": "0"]),
            periods: [.first(), .renewal()]
        ) {
            try $0.setPrice("29.99")
            try await $0.advance(62)
        },
        SubscriptionRow(
            name: "price rise, the price preserved", source: "Apple: preserveCurrentPrice of a subscription's price",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_RENEW"], state: .active, pending: renewing(),
            periods: [.first(), .renewal(), .renewal()]
        ) {
            try $0.setPrice("29.99\n            preserveCurrentPrice: true")
            try await $0.advance(62)
            // A new subscriber pays the new price.
            let other = try await $0.test.account("later@example.com")
            try await $0.test.buy("gym.monthly", by: other)
            #expect(try await $0.test.ledger().last?.price.milliunits == 29_990)
            _ = try await $0.test.store.clearHistory(of: other)
        },
        SubscriptionRow(
            name: "price decrease", source: "Apple: support.apple.com/109501; for all at the next renewal, no consent",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"], state: .active, pending: renewing(),
            periods: [.first(), .renewal(costs: 7990)], nextPrice: 7990
        ) {
            try $0.setPrice("7.99")
            try await $0.advance(31)
        },
    ]
}

// MARK: - Refunds

extension SubscriptionRow {
    static let refunds: [SubscriptionRow] = [
        SubscriptionRow(
            name: "refund of the last period", source: "measured: cancellation_date, status 0, no intent",
            isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"],
            state: .revoked, pending: notRenewing(), periods: [.first(marked: [.cancelled(reason: "1")])]
        ) { _ = try await $0.test.store.refund($0.id, reason: .app) },
        SubscriptionRow(
            name: "prorated refund", source: "Apple: revocationType REFUND_PRORATED; revocationPercentage",
            news: ["SUBSCRIBED/INITIAL_BUY", "REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"],
            state: .revoked, pending: notRenewing(),
            periods: [.first(marked: [.cancelled(reason: "0"), .prorated])]
        ) {
            try await $0.advance(14)
            _ = try await $0.test.store.refund($0.id, reason: .other, share: .prorated)
        },
        SubscriptionRow(
            name: "refund of an earlier period", source: "Apple: Handling refund notifications; that row only",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "REFUND"], state: .active, pending: renewing(),
            periods: [.first(marked: [.cancelled(reason: "0")]), .renewal()]
        ) {
            try await $0.advance(31)
            _ = try await $0.test.store.refund($0.id, reason: .other)
        },
        SubscriptionRow(
            name: "consumption asked", source: "Apple: CONSUMPTION_REQUEST; of auto-renewables since API 1.11",
            isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "CONSUMPTION_REQUEST"],
            state: .active, pending: notRenewing(), periods: [.first()]
        ) {
            try await $0.test.store.setRefundRule(.ask)
            _ = try await $0.test.store.requestRefund(of: $0.id, reason: .unsatisfied)
            let news = try await $0.test.store.news(of: $0.id, limit: 1)
            #expect(news.first?.consumptionReason == .unsatisfied)
        },
        SubscriptionRow(
            name: "refund declined", source: "Apple: notificationType, REFUND_DECLINED", isStill: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "REFUND_DECLINED"],
            state: .active, pending: renewing(), periods: [.first()]
        ) { try await $0.test.store.declineRefund($0.id) },
        SubscriptionRow(
            name: "refund reversed", source: "Apple: REFUND_REVERSED; the cancellation vanishes, the end is kept",
            isStill: true,
            news: [
                "SUBSCRIBED/INITIAL_BUY", "REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "REFUND_REVERSED",
            ],
            state: .active, pending: notRenewing(), periods: [.first()]
        ) {
            _ = try await $0.test.store.refund($0.id, reason: .other)
            _ = try await $0.test.store.reverseRefund($0.id)
        },
    ]
}

// MARK: - Members of a family

extension SubscriptionRow {
    static let families: [SubscriptionRow] = [
        SubscriptionRow(
            name: "shared by the family", source: "Apple: Supporting Family Sharing in your app; SUBSCRIBED",
            isStill: true, isShared: true, news: ["SUBSCRIBED/INITIAL_BUY"], state: .active, pending: renewing(),
            periods: [.first()]
        ) { _ in },
        SubscriptionRow(
            name: "the purchaser resubscribes", source: "Apple: Supporting Family Sharing in your app; RESUBSCRIBE",
            isShared: true,
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
            name: "the member leaves the family", source: "Apple: notificationType, REVOKE; cancellation_date",
            isStill: true, isShared: true, news: ["SUBSCRIBED/INITIAL_BUY", "REVOKE"], state: .revoked,
            pending: notRenewing(), periods: [.first(marked: [.cancelled(reason: "0")])]
        ) { _ = try await $0.test.store.removeFromFamily($0.member) },
        SubscriptionRow(
            name: "the purchaser is refunded", source: "Apple: REVOKE, also after a refund of the purchaser",
            isStill: true, isShared: true,
            news: ["SUBSCRIBED/INITIAL_BUY", "REVOKE", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"],
            state: .revoked, pending: notRenewing(), periods: [.first(marked: [.cancelled(reason: "1")])]
        ) { _ = try await $0.test.store.refund($0.id, reason: .app) },
    ]
}
