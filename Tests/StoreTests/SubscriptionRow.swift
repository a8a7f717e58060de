import Crypto
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// One row of Apple's table of a subscription's life: what happens, and what each interface tells afterwards.
struct SubscriptionRow: Sendable {
    /// What happens.
    var name: String
    /// Where the row comes from: a page of Apple's documentation, a thread of developer.apple.com/forums, or a measured
    /// body of production or sandbox.
    var source: String
    /// The store. A row is in both when they differ.
    var environment = StoreEnvironment.sandbox
    /// Whether nothing but the account's own purchases changes, so that other rows can use the same store.
    var isStill = false
    /// Whether the account is a member of the buyer's family.
    var isShared = false
    /// All news, in order.
    var news: [String]
    /// The state afterwards.
    var state: Subscription.State
    /// The element of `pending_renewal_info` without its identifier; nil when there is none. The grace period's end is
    /// its length, from the end of the last period.
    var pending: [String: String]?
    /// All periods, the oldest first. The first one's product is bought before ``play``.
    var periods: [ExpectedPeriod]
    /// Whether the last period begins a new run without a longer gap, Apple's `recentSubscriptionStartDate`.
    var startsAnew = false
    /// The price of the next period in milliunits; nil for the plan's or the offer's.
    var nextPrice: Int64?
    /// What the test does, after the purchase of the first period.
    var play: @Sendable (Play) async throws -> Void

    /// The product that is bought first.
    var first: ProductID { ProductID(periods[0].product) }
}

/// A period of a row, from which the contents of every interface follow.
struct ExpectedPeriod: Sendable {
    enum Start: Sendable {
        /// The first purchase.
        case first
        /// The end of the period before.
        case endBefore
        /// The store's time after the row, in whole seconds.
        case now
    }

    enum Mark: Sendable, Hashable {
        case trial, introductory, upgraded
        /// Refunded or revoked now.
        case cancelled(reason: String)
        /// Paid with an offer code, by the offer's reference name.
        case code(String)
        /// Paid with a promotional offer, by its identifier.
        case promotional(String)
        /// Paid with a win-back offer, by its identifier.
        case winBack(String)
        /// Refunded for the time that was left of it.
        case prorated
    }

    var product: String
    var start: Start
    /// The length in ISO 8601, with extensions: `P1M+P10D`.
    var length: String
    /// Whether the store charged it, and not the customer bought it.
    var isRenewal = false
    var marks: Set<Mark>
    /// The price in milliunits that differs from the plan's; nil for the plan's or the offer's.
    var otherPrice: Int64?

    static func first(
        _ product: String = "gym.monthly", _ length: String = "P1M", marked marks: Set<Mark> = []
    ) -> ExpectedPeriod {
        ExpectedPeriod(product: product, start: .first, length: length, marks: marks)
    }

    /// A renewal without a gap.
    static func renewal(
        _ product: String = "gym.monthly", _ length: String = "P1M", marked marks: Set<Mark> = [],
        costs price: Int64? = nil
    ) -> ExpectedPeriod {
        ExpectedPeriod(
            product: product, start: .endBefore, length: length, isRenewal: true, marks: marks, otherPrice: price)
    }

    /// A renewal that was paid after a gap, and begins with the payment.
    static func latePayment(_ product: String = "gym.monthly", _ length: String = "P1M") -> ExpectedPeriod {
        ExpectedPeriod(product: product, start: .now, length: length, isRenewal: true, marks: [])
    }

    /// A purchase now.
    static func now(
        _ product: String = "gym.monthly", _ length: String = "P1M", marked marks: Set<Mark> = []
    ) -> ExpectedPeriod {
        ExpectedPeriod(product: product, start: .now, length: length, marks: marks)
    }
}

extension SubscriptionRow {
    /// What a row can do.
    struct Play: Sendable {
        var test: TestStore
        /// The account that bought.
        var account: Account
        /// The buyer's first transaction.
        var id: TransactionID
        /// The account whose interfaces are asked. It is the buyer unless the row is of a family.
        var member: Account

        static let day: Int64 = 86_400_000

        func advance(_ days: Int64) async throws {
            try await test.store.changeClock { try $0.advance(by: days * Self.day) }
        }

        func grace() async throws {
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
        }

        func choose(_ product: ProductID) async throws {
            _ = try await test.store.purchase(test.request(product), by: account)
        }

        func cancel() async throws { _ = try await test.store.setAutoRenew(false, of: id) }

        func fail() async throws {
            try await advance(2)
            _ = try await test.store.failRenewal(id)
        }

        /// Lets all payments of the account fail from now on. Unlike ``fail()`` this is possible in production.
        func declinePayments() async throws {
            try await test.store.payments.setRule(
                DeclineRule(
                    ruleID: "card", accountID: account.accountID, productID: nil, minimumAmount: nil, remaining: nil))
        }

        func recover() async throws { _ = try await test.store.recover(id) }

        /// Buys a product with a promotional offer, or chooses it for the next renewal.
        func buy(_ product: ProductID, with offer: String) async throws {
            var request = test.request(product)
            request.offer = try SubscriptionRow.signer.offer(
                offer, product: product, at: test.store.clock.milliseconds)
            #expect(try await test.store.purchase(request, by: account).state == .purchased)
        }

        /// Comes back with a win-back offer.
        func comeBack(to product: ProductID, with offer: String) async throws {
            var request = test.request(product)
            request.winBackOfferID = offer
            #expect(try await test.store.purchase(request, by: account).state == .purchased)
        }

        /// Redeems a code for the offer `Half`.
        func redeem(_ code: String) async throws {
            _ = try await test.customCode(code, of: "gym.monthly")
            try await test.redeem(code, by: account)
        }

        /// Extends all subscriptions of `gym.monthly` by ten days, which ends with a summary for the merchant.
        func extendAll() async throws -> Store.MassExtension {
            let result = try await test.store.extendAll(of: "gym.monthly", in: TestStore.bundleID, days: 10)
            let last = try #require(try await test.store.newsFeed().last)
            #expect(last.news.type == .massExtension && last.news.subtype == .summary)
            #expect(last.originalTransactionID == TransactionID(rawValue: 0))
            return result
        }

        /// Changes the price of everything that costs 9.99.
        func setPrice(_ price: String) throws {
            test.store.catalog.replace(
                with: try SubscriptionRow.catalog { $0.replacing("displayPrice: 9.99", with: "displayPrice: \(price)") }
            )
        }
    }

    /// The app's server, which signs promotional offers.
    static let signer = OfferSigner()

    /// The catalog of ``TestStore`` with more plans of the Gym, offers, and a monthly plan that a family can share.
    /// - Parameter edit: changes the file's text.
    static func catalog(_ edit: (String) -> String = { $0 }) throws -> Catalog {
        let offer = "paymentMode: payAsYouGo, subscriptionPeriod: P1M, displayPrice"
        let key = signer.key.derRepresentation.base64EncodedString()
        return try TestStore.catalog { text in
            let withOffers = text.replacing(
                "productID: gym.monthly\n",
                with: """
                    productID: gym.monthly
                                familyShareable: true
                                codeOffers: [{ referenceName: Half, \(offer): 4.99 }]

                    """)
            let withPlans = withOffers.replacing(
                "      - id: \"21000003\"",
                with: """
                              - productID: gym.pool
                                groupNumber: 1
                                recurringSubscriptionPeriod: P1M
                                displayPrice: 11.99
                                adHocOffers: [{ offerID: swim, \(offer): 5.99 }]
                                winbackOffers: [{ offerID: again, \(offer): 4.49 }]
                              - productID: gym.quarterly
                                groupNumber: 1
                                recurringSubscriptionPeriod: P3M
                                displayPrice: 24.99
                              - productID: gym.basic
                                groupNumber: 2
                                recurringSubscriptionPeriod: P1M
                                displayPrice: 3.99
                                adHocOffers: [{ offerID: start, \(offer): 1.99 }]
                              - productID: gym.weekly
                                groupNumber: 3
                                recurringSubscriptionPeriod: P1W
                                displayPrice: 2.99
                              - productID: gym.classes
                                groupNumber: 3
                                recurringSubscriptionPeriod: P1M
                                displayPrice: 6.99
                                introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P3D }]
                          - id: "21000003"
                    """)
            return edit(
                withPlans.replacing(
                    "  - bundleID: com.example.other",
                    with: """
                            xcode:
                              subscriptionOffersKeyPair:
                                id: K1
                                privateKey: \(key)
                          - bundleID: com.example.other
                        """))
        }
    }
}

// MARK: - Values that many rows have

extension SubscriptionRow {
    /// What every element of `pending_renewal_info` has while the subscription is in order.
    static func renewing(
        _ product: String = "gym.monthly", as next: String? = nil, _ more: [String: String] = [:]
    ) -> [String: String] {
        ["product_id": product, "auto_renew_product_id": next ?? product, "auto_renew_status": "1"]
            .merging(more) { $1 }
    }

    static func ended(_ intent: String, _ more: [String: String] = [:]) -> [String: String] {
        notRenewing(["expiration_intent": intent, "is_in_billing_retry_period": "0"]).merging(more) { $1 }
    }

    static func notRenewing(_ more: [String: String] = [:]) -> [String: String] {
        renewing("gym.monthly", as: nil, ["auto_renew_status": "0"]).merging(more) { $1 }
    }

    static func overdue(_ more: [String: String] = [:]) -> [String: String] {
        renewing("gym.monthly", as: nil, ["expiration_intent": "2", "is_in_billing_retry_period": "1"])
            .merging(more) { $1 }
    }

    static let graceEnd = ["grace_period_expires_date": "P16D"]
}

// MARK: - Stores

extension SubscriptionRow {
    /// Rows that one store plays, each with an account of its own.
    struct Group: Sendable, CustomTestStringConvertible {
        var rows: [SubscriptionRow]

        var environment: StoreEnvironment { rows[0].environment }
        var testDescription: String { rows.count == 1 ? rows[0].name : "\(rows.count) rows without waiting" }
    }

    static let all: [SubscriptionRow] =
        [purchases, renewals, changes, offers, prices, refunds, families].flatMap { $0 }

    /// The rows that need no other time, catalog or setting share a store. The others have one each.
    static let groups: [Group] =
        [Group(rows: all.filter(\.isStill))] + all.filter { !$0.isStill }.map { Group(rows: [$0]) }
}
