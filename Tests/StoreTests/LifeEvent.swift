import Crypto
import Foundation
import StoreWire
import Synchronization
import TestSupport

@testable import Store

/// What can happen in the life of a subscription.
enum LifeEvent: CaseIterable, Sendable {
    // The clock.
    case hours, days, month, year, back
    // The customer.
    case cancel, enable, buyWeekly, buyMonthly, buyYearly, code, promotion, winBack, agree, refuse, finish
    // The family.
    case join, leave, share, keep
    // The operator.
    case refundLast, refundEarlier, refundPart, declineRefund, reverse, extend, extendAll, grace, noGrace
    case cardFails, cardWorks, rate, usualRate
    // The catalog.
    case price, usualPrice, ask, remove, restock

    /// An event by chance. Time passes often, and most obstacles go away again.
    static func any(_ random: inout SeededGenerator) -> LifeEvent {
        let likely: [LifeEvent] = [
            .hours, .days, .days, .month, .month, .month, .buyWeekly, .buyMonthly, .cardWorks, .usualRate, .restock,
        ]
        return (allCases + likely).randomElement(using: &random) ?? .days
    }

    /// Whether the customer buys, and so sees the price.
    var isPurchase: Bool {
        switch self {
        case .buyWeekly, .buyMonthly, .buyYearly, .code, .promotion, .winBack: true
        default: false
        }
    }
}

/// Whether the payments of a life are declined now.
final class LifeCard: Sendable {
    private let declines = Mutex(false)

    var fails: Bool {
        get { declines.withLock { $0 } }
        set { declines.withLock { $0 = newValue } }
    }
}

/// The catalogs of the lives: one group of three levels whose monthly plan has all kinds of offers.
enum LifeCatalog {
    static let signer = OfferSigner()
    /// The prices of a month: the usual one, a lower one, one that the customer is told of, and one that needs consent.
    static let prices = ["5.99", "4.99", "6.99", "12.99"]
    static let codes = ["Half", "Gift", "Stack"]
    /// The offers that a customer asks for by name: the price in milliunits, and the most periods of one acceptance.
    static let offers: [NamedOffer: (price: Int64, periods: Int)] = [
        NamedOffer(.promotional, "half"): (2990, 3), NamedOffer(.promotional, "block"): (8990, 1),
        NamedOffer(.promotional, "kind"): (0, 1), NamedOffer(.code, "Half"): (2990, 2),
        NamedOffer(.code, "Gift"): (0, 1), NamedOffer(.code, "Stack"): (0, 1),
        NamedOffer(.winBack, "return"): (1990, 2), NamedOffer(.winBack, "loyal"): (0, 1),
    ]
    /// The introductory offers, in the same way.
    static let introductions: [ProductID: (price: Int64, periods: Int)] = [
        "club.yearly": (9990, 1), "club.weekly": (990, 3), "club.monthly": (0, 1),
    ]

    /// The prices of a period without an offer, in milliunits.
    private static func usualPrices(of productID: ProductID) -> [Int64] {
        switch productID {
        case "club.weekly": [1990]
        case "club.yearly": [49_990]
        default: [5990, 4990, 6990, 12_990]
        }
    }

    /// Whether a period can cost what it does.
    /// - Parameters:
    ///   - price: the plan's price now, in milliunits; nil when it is not for sale.
    ///   - wasAsked: whether a higher price was ordered: the catalog's and up to eight dollars more.
    static func mayCost(_ row: Transaction, at price: Int64?, wasAsked: Bool) -> Bool {
        let paid = row.price.milliunits
        guard row.price.currency == "USD" else { return false }
        if let offer = row.namedOffer { return row.productID == "club.monthly" && paid == offers[offer]?.price }
        if row.offer != nil { return paid == introductions[row.productID]?.price }
        // A customer who buys pays the price of the day.
        guard row.isRenewal else { return paid == price }
        let most: Int64 = wasAsked ? 8 : 0
        return usualPrices(of: row.productID).contains { usual in
            (paid - usual).isMultiple(of: 1000) && (0...most).contains((paid - usual) / 1000)
        }
    }

    /// The length of a product's periods.
    static func period(of productID: ProductID) -> SubscriptionPeriod {
        switch productID {
        case "club.weekly": SubscriptionPeriod(unit: .week, count: 1)
        case "club.yearly": SubscriptionPeriod(unit: .year, count: 1)
        default: SubscriptionPeriod(unit: .month, count: 1)
        }
    }

    /// The catalog with a price of a month, an index of ``prices``.
    /// - Parameter isForSale: whether it has the monthly plan.
    static func catalog(price: Int = 0, isForSale: Bool = true) throws -> Catalog {
        try (isForSale ? all : allWithoutMonths).get()[price]
    }

    private static let all = read(isForSale: true)
    private static let allWithoutMonths = read(isForSale: false)

    private static func read(isForSale: Bool) -> Result<[Catalog], any Error> {
        Result {
            try prices.map { price in
                let yaml = text(isForSale ? monthly(price) : "")
                return try Catalog(apps: try CornerstoreCatalogFile.read(Array(yaml.utf8), file: "lives.yaml").apps)
            }
        }
    }

    private static func text(_ monthly: String) -> String {
        """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.monkeys
            name: Monkeys
            products: [{ productID: hats, type: NonConsumable, displayPrice: 2.99 }]
            subscriptionGroups:
              - id: "21000001"
                name: Club
                subscriptions:
                  - productID: club.yearly
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1Y
                    displayPrice: 49.99
                    familyShareable: true
                    introductoryOffers: [{ paymentMode: payUpFront, displayPrice: 9.99, subscriptionPeriod: P3M }]
                  - productID: club.weekly
                    groupNumber: 3
                    recurringSubscriptionPeriod: P1W
                    displayPrice: 1.99
                    introductoryOffers: [{ paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1W, numberOfPeriods: 3 }]
        \(monthly)
            xcode:
              subscriptionOffersKeyPair:
                id: K1
                privateKey: \(signer.key.derRepresentation.base64EncodedString())
        """
    }

    private static func monthly(_ price: String) -> String {
        """
                  - productID: club.monthly
                    groupNumber: 2
                    recurringSubscriptionPeriod: P1M
                    displayPrice: \(price)
                    familyShareable: true
                    introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P1W }]
                    adHocOffers:
                      - { offerID: half, paymentMode: payAsYouGo, displayPrice: 2.99, subscriptionPeriod: P1M, numberOfPeriods: 3 }
                      - { offerID: block, paymentMode: payUpFront, displayPrice: 8.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                      - { offerID: kind, paymentMode: free, subscriptionPeriod: P1W }
                    codeOffers:
                      - { referenceName: Half, paymentMode: payAsYouGo, displayPrice: 2.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                      - { referenceName: Gift, paymentMode: free, subscriptionPeriod: P1W, autoRenewEnabled: false }
                      - { referenceName: Stack, paymentMode: free, subscriptionPeriod: P1M, isStackable: true }
                    winbackOffers:
                      - { offerID: return, paymentMode: payAsYouGo, displayPrice: 1.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                      - offerID: loyal
                        paymentMode: free
                        subscriptionPeriod: P1M
                        customers: { paidMonths: 3, lapsedMonths: 1, mostLapsedMonths: 12, waitMonths: 6, isPreferred: true }
        """
    }
}

/// The customer of a life, and a member of the family who shares the purchases.
struct LifeScene {
    private static let hour: Int64 = 3_600_000

    let test: TestStore
    let card: LifeCard
    let processor: ScriptedProcessor
    private(set) var account: Account
    let kin: Account
    /// Whether there was a family.
    private(set) var hasFamily = false
    /// How often the store accepted an offer.
    private(set) var accepted: [NamedOffer: Int] = [:]
    private var price = 0
    private var isForSale = true

    init(_ test: TestStore, _ card: LifeCard, _ processor: ScriptedProcessor, account: Account, kin: Account) {
        (self.test, self.card, self.processor, self.account, self.kin) = (test, card, processor, account, kin)
    }

    private var store: Store { test.store }

    /// The customer's own periods, the oldest first.
    func periods() async throws -> [Transaction] {
        let accountID = account.accountID
        return try await test.database.read { try Transactions.lasting(of: accountID, in: TestStore.bundleID, $0) }
    }

    /// Lets an event happen.
    /// - Returns: what the store should not have answered; nil when its answer is right.
    mutating func perform(_ event: LifeEvent, _ random: inout SeededGenerator) async throws -> String? {
        switch event {
        case .hours, .days, .month, .year, .back:
            try await moveClock(event, &random)
            return nil
        case .cancel, .enable, .agree, .refuse: return try await decide(event)
        case .buyWeekly: return try await buy(test.request("club.weekly"))
        case .buyMonthly: return try await buy(test.request("club.monthly"))
        case .buyYearly: return try await buy(test.request("club.yearly"))
        case .code: return try await redeem(LifeCatalog.codes.randomElement(using: &random) ?? "Half")
        case .promotion, .winBack:
            let (offer, request) = try offer(event, &random)
            return try await buy(request, with: offer)
        case .finish:
            try await finish(Int.random(in: 1...8, using: &random))
            return nil
        case .join, .leave, .share, .keep:
            try await changeFamily(event)
            return nil
        case .refundLast, .refundEarlier, .refundPart, .declineRefund, .reverse:
            return try await refund(event, &random)
        case .extend, .extendAll: return try await extend(event)
        case .ask: return try await ask(Int64.random(in: 1...8, using: &random))
        case .grace: try await store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
        case .noGrace: try await store.apps.setGracePeriod(nil, of: TestStore.bundleID)
        case .cardFails: card.fails = true
        case .cardWorks: card.fails = false
        case .rate, .usualRate: try await setRate(event, &random)
        case .price, .usualPrice, .remove, .restock: try changeCatalog(event, &random)
        }
        return nil
    }

    private func moveClock(_ event: LifeEvent, _ random: inout SeededGenerator) async throws {
        guard event == .back || store.clock.milliseconds < 2_700_000_000_000 else { return }
        if event == .month { return try await store.changeClock { try $0.advance(months: 1) } }
        let hours: Int64 =
            switch event {
            case .hours: Int64.random(in: 1...40, using: &random)
            case .days: Int64.random(in: 24...300, using: &random)
            case .back: Int64.random(in: -1_000 ... -1, using: &random)
            // Production renews without a limit, so that a year of weeks would take long.
            default: try await subscription()?.productID == "club.weekly" ? 90 * 24 : 365 * 24
            }
        try await store.changeClock { try $0.advance(by: hours * Self.hour) }
    }

    private func subscription() async throws -> Subscription? { try await store.subscriptions(of: account).first }

    // MARK: The customer

    private func decide(_ event: LifeEvent) async throws -> String? {
        if event == .agree || event == .refuse {
            for increase in try await store.priceIncreases(of: account) where increase.answer == nil {
                _ = try await store.answerPriceIncrease(
                    of: increase.productID, in: increase.bundleID, for: account, accepts: event == .agree)
            }
            return nil
        }
        guard let subscription = try await subscription() else { return nil }
        let isOn = event == .enable
        return try await refused(isOn ? [.wrongState] : []) {
            try await store.setAutoRenew(isOn, of: subscription.originalTransactionID)
        }
    }

    /// Does what the store may refuse with one of these codes.
    /// - Returns: another code with which it refused; nil for none.
    private func refused(
        _ expected: [WireError.Code], _ body: () async throws -> some Any
    ) async throws -> String? {
        guard let code = try await refusal(body), !expected.contains(code) else { return nil }
        return "refused with \(code)"
    }

    private mutating func buy(_ request: PurchaseRequest, with offer: NamedOffer? = nil) async throws -> String? {
        let answer = try await store.purchase(request, by: account)
        guard answer.state != .purchased else {
            if let offer { accepted[offer, default: 0] += 1 }
            return nil
        }
        guard answer.state == .failed, let code = answer.failure?.code else { return "\(answer)" }
        let isSold = store.catalog.value.product(request.productID, of: request.bundleID) != nil
        let expected: [WireError.Code: Bool] = [
            .paymentDeclined: card.fails, .productNotAvailable: !isSold, .alreadySubscribed: true,
            .ineligibleForOffer: offer != nil,
        ]
        return expected[code] ?? false ? nil : "refused with \(code)"
    }

    private func offer(
        _ event: LifeEvent, _ random: inout SeededGenerator
    ) throws -> (offer: NamedOffer, request: PurchaseRequest) {
        var request = test.request("club.monthly")
        if event == .winBack {
            let id = ["return", "loyal"].randomElement(using: &random) ?? "return"
            request.winBackOfferID = id
            return (NamedOffer(.winBack, id), request)
        }
        let id = ["half", "block", "kind"].randomElement(using: &random) ?? "half"
        request.offer = try LifeCatalog.signer.offer(id, at: store.clock.milliseconds)
        return (NamedOffer(.promotional, id), request)
    }

    private mutating func redeem(_ code: String) async throws -> String? {
        var expected: [WireError.Code] = [.codeUsed, .ineligibleForOffer, .alreadySubscribed]
        if card.fails { expected.append(.paymentDeclined) }
        if !isForSale { expected += [.unknownCode, .productNotAvailable] }
        let (test, account) = (test, account)
        guard let answer = try await refusal({ try await test.redeem(code.uppercased(), by: account) }) else {
            // The answer to a repeated request is the first one.
            accepted[NamedOffer(.code, code)] = 1
            return nil
        }
        return expected.contains(answer) ? nil : "refused with \(answer)"
    }

    private func finish(_ count: Int) async throws {
        let found = try await store.unfinishedTransactions(of: account, in: TestStore.bundleID, after: nil)
        for transaction in found.transactions.prefix(count) {
            try await store.finish(transaction.transactionID, of: account)
        }
    }

    // MARK: The family

    private mutating func changeFamily(_ event: LifeEvent) async throws {
        let isFamily = try await store.familyIfAny(of: account) != nil
        let isMember = try await store.familyIfAny(of: kin) != nil
        switch event {
        case .join:
            if !isFamily { _ = try await store.createFamily(of: account) }
            if !isMember { _ = try await store.addToFamily(of: account, kin) }
            hasFamily = true
        case .leave: if isMember { _ = try await store.removeFromFamily(kin) }
        default: if isFamily { _ = try await store.setSharing(event == .share, of: account) }
        }
    }

    // MARK: The operator

    private func refund(_ event: LifeEvent, _ random: inout SeededGenerator) async throws -> String? {
        // What is due changes what the last period is.
        try await store.settleSubscriptions(of: account.accountID)
        let all = try await periods()
        let paid = all.filter { $0.revokedAt == nil }
        switch event {
        case .refundLast, .refundPart:
            guard let last = paid.last else { return nil }
            let share: RefundShare = event == .refundPart ? .prorated : .whole
            _ = try await store.refund(last.transactionID, reason: share == .whole ? .other : .app, share: share)
        case .refundEarlier:
            guard let earlier = paid.dropLast().randomElement(using: &random) else { return nil }
            _ = try await store.refund(earlier.transactionID, reason: .other)
        case .declineRefund:
            guard let one = paid.randomElement(using: &random) else { return nil }
            try await store.declineRefund(one.transactionID)
        default:
            guard let last = all.last(where: { $0.revokedAt != nil }) else { return nil }
            return try await refused(card.fails ? [.wrongState] : []) {
                try await store.reverseRefund(last.transactionID)
            }
        }
        return nil
    }

    private func extend(_ event: LifeEvent) async throws -> String? {
        guard let subscription = try await subscription(), let last = try await periods().last else { return nil }
        if event == .extend {
            return try await refused([.wrongState]) {
                try await store.extend(subscription.originalTransactionID, days: 9)
            }
        }
        let now = store.clock.milliseconds
        let isMeant =
            subscription.state == .active && subscription.originalPurchaseDate <= now
            && (last.isRenewal || last.purchaseDate <= now)
        let done = try await store.extendAll(of: subscription.productID, in: TestStore.bundleID, days: 5)
        return done.succeeded + done.failed == (isMeant ? 1 : 0) ? nil : "\(done), meant: \(isMeant)"
    }

    private mutating func setRate(_ event: LifeEvent, _ random: inout SeededGenerator) async throws {
        let rates: [RenewalRate] = [.fiveMinutes, .fifteenMinutes, .oneHour, .never]
        let rate = event == .rate ? rates.randomElement(using: &random) ?? .never : .real
        account = try await store.accounts.change(account.accountID, AccountChange(renewalRate: rate))
    }

    // MARK: The catalog

    private mutating func changeCatalog(_ event: LifeEvent, _ random: inout SeededGenerator) throws {
        switch event {
        case .price: price = LifeCatalog.prices.indices.randomElement(using: &random) ?? 0
        case .usualPrice: price = 0
        case .remove: isForSale = false
        default: isForSale = true
        }
        store.catalog.replace(with: try LifeCatalog.catalog(price: price, isForSale: isForSale))
    }

    /// Asks the customer for a higher price of the plan.
    /// - Parameter more: the difference in dollars.
    private func ask(_ more: Int64) async throws -> String? {
        guard let subscription = try await subscription(),
            let price = store.catalog.value.product(subscription.productID, of: TestStore.bundleID)?
                .price(in: .unitedStates)
        else { return nil }
        return try await refused([.wrongState]) {
            try await store.increasePrice(
                of: subscription.productID, in: TestStore.bundleID, to: price.milliunits + more * 1000, for: account)
        }
    }
}
