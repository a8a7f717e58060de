import Database
import Foundation
import StoreWire

/// Scheduled work: renewals, further attempts to charge, and the ends of periods. Everything happens at its own due
/// date by the store's clock, also when the clock has jumped over many of them.
extension Store {
    /// The most subscriptions that one database transaction settles.
    static let mostSettledAtOnce = 500

    /// How long a process may take for one turn until another one continues, in seconds.
    static let turnSeconds: Int64 = 15

    /// Does everything that is due for all subscriptions, in the order of the due dates, carries out extensions of all
    /// subscriptions of a product, and decides requests for refunds whose deadlines are over.
    ///
    /// The kinds of work take turns, so that an extension of many subscriptions does not keep renewals waiting. The
    /// events of one subscription happen in the order of their dates. While another process does the work, this waits.
    /// - Throws: ``StoreError`` `unavailable` when the payment processor cannot be reached, when another process does
    ///   the work for more than a minute, or when this one does not hear the others; ``DatabaseError``. The work done
    ///   until then stays, and another call continues it.
    public func settleSubscriptions() async throws { try await settleSubscriptions(waits: true) }

    /// Does what ``settleSubscriptions()`` does, unless another process is doing it.
    /// - Throws: the errors of ``settleSubscriptions()``.
    public func settleSubscriptionsOnSchedule() async throws { try await settleSubscriptions(waits: false) }

    /// Lets the processes that share the store settle subscriptions one at a time.
    public func shareSchedule(_ claims: Claims) { schedule.claims = claims }

    private func settleSubscriptions(waits: Bool) async throws {
        guard let claims = schedule.claims else {
            guard schedule.mayBeDue(at: clock.milliseconds) else { return }
            return try await schedule.line.run {
                while try await settleOneTurn() {}
                try await updateSchedule()
            }
        }
        try await schedule.line.run {
            // Sales of another process are only in the database.
            try await updateSchedule()
            guard schedule.mayBeDue(at: clock.milliseconds) else { return }
            try await settle(under: claims, waits: waits)
        }
    }

    /// Settles turn by turn as long as this process has the claim.
    private func settle(under claims: Claims, waits: Bool) async throws {
        let name = "\(environment.name).subscriptions"
        do {
            repeat {
                if waits {
                    try await claims.wait(for: name, seconds: Self.turnSeconds)
                } else if try await !claims.take(name, seconds: Self.turnSeconds) {
                    return
                }
            } while try await settleOneTurn()
            try await updateSchedule()
        } catch {
            await claims.release(name)
            throw error
        }
        await claims.release(name)
    }

    private func updateSchedule() async throws {
        try await schedule.update {
            try await database.read { [environment] connection in
                [
                    try Subscriptions.nextDueDate(connection), try MassExtensions.nextDate(connection),
                    try RefundRequests.nextDate(in: environment, connection),
                ].compactMap(\.self).min()
            }
        }
    }

    /// Decides the requests for refunds that are due, carries out a part of an extension of all subscriptions of a
    /// product, and does what is due next for some subscriptions.
    /// - Parameter limit: the most subscriptions of each part.
    /// - Returns: whether more may be due.
    func settleOneTurn(limit: Int = Store.mostSettledAtOnce) async throws -> Bool {
        let now = clock.milliseconds
        try await decideDueRefunds(until: now)
        let wasExtending = try await carryOutExtensions(at: now, limit: limit)
        guard try await settleNext(of: nil, until: now, limit: limit) else { return wasExtending }
        changed(.transactions)
        return true
    }

    /// Does everything that is due for one account, before a request sees its subscriptions. While the payment
    /// processor cannot be reached, renewals stay due, and the request sees the subscriptions without them.
    /// - Returns: false when nothing was due for anybody, so that what was read before is still true.
    @discardableResult
    func settleSubscriptions(of accountID: AccountID) async throws -> Bool {
        let now = clock.milliseconds
        guard schedule.mayBeDue(at: now) else { return false }
        do {
            try await decideDueRefunds(of: accountID, until: now)
            try await settle(accountID)
        } catch let error as StoreError where error.code == .unavailable {}
        return true
    }

    /// Does what is due for an account, or for all, and makes the extensions that come before it.
    /// - Parameter end: the last due date; later ones stay due.
    func settle(_ accountID: AccountID?, until end: Int64 = .max) async throws {
        var hasChanged = false
        defer { if hasChanged { changed(.transactions) } }
        while try await settleNext(of: accountID, until: end, limit: Self.mostSettledAtOnce) { hasChanged = true }
    }

    /// Does what is due next for an account, or for some subscriptions, in one database transaction. Extensions of all
    /// subscriptions of a product come first, if they were accepted before it is due; for an account they are made also
    /// when nothing is due.
    /// - Parameters:
    ///   - end: the last due date, and the last date of an extension.
    ///   - limit: the most subscriptions, unless they are an account's.
    /// - Returns: false when there was nothing to do.
    private func settleNext(of accountID: AccountID?, until end: Int64, limit: Int) async throws -> Bool {
        let now = min(clock.milliseconds, end)
        let (due, extensions) = try await database.read { connection in
            let asked =
                try accountID.map { try Subscriptions.concerning($0, connection) }
                ?? Subscriptions.due(at: now, limit: limit, connection)
            return (
                asked.filter { $0.dueAt.map { $0 <= now } ?? false },
                try MassExtensions.pending(for: asked, at: now, connection)
            )
        }
        guard extensions.isEmpty else {
            try await extendEarly(extensions)
            return true
        }
        // A step can make something due before the next row's date. That comes first.
        var horizon = Int64.max
        var steps: [SubscriptionStep] = []
        for subscription in due {
            guard let date = subscription.dueAt, date <= horizon else { break }
            let step = try await step(subscription, at: date)
            horizon = min(horizon, step.after.dueAt ?? .max)
            steps.append(step)
        }
        guard !steps.isEmpty else { return false }
        try await record(steps)
        return true
    }

    /// Decides what happens to a subscription at its due date, and charges a renewal. Nothing is recorded yet.
    private func step(_ before: Subscription, at date: Int64) async throws -> SubscriptionStep {
        var step = SubscriptionStep(before, at: date)
        switch before.duty(policy) {
        case nil: step.after.dueAt = nil
        case .expire: step.news = step.after.expire(.cancelled, at: date)
        case .giveUp: step.news = step.after.expire(.billingError, at: date)
        case .endGracePeriod: step.news = step.after.gracePeriodEnded(at: date, policy: policy)
        case .renew: try await renew(&step, at: date)
        }
        return step
    }

    private func renew(_ step: inout SubscriptionStep, at date: Int64) async throws {
        let before = step.before
        switch try await renewalTerms(of: before, at: date) {
        case .failure(let obstacle):
            // The obstacle can still go away until the period ends.
            if date < before.expiresDate {
                step.after.dueAt = before.expiresDate
            } else {
                step.news = step.after.expire(obstacle.intent, at: date)
            }
        case .success(let terms):
            let key = Self.renewalKey(before)
            step.key = key
            let request = PurchaseRequest(
                idempotencyKey: key, bundleID: before.bundleID, productID: terms.product.productID, quantity: 1,
                applicationUsername: terms.last.applicationUsername, simulatesAskToBuy: false, agreedPrice: nil)
            switch try await authorize(terms.amount, request, before.accountID) {
            case .declined(let message):
                let grace = apps[before.bundleID]?.gracePeriod?.end(
                    after: before.expiresDate, of: terms.subscription.period, at: before.rate,
                    wasPaid: terms.last.price.milliunits > 0, in: environment)
                step.news = step.after.chargeFailed(at: date, grace: grace, policy: policy)
                step.refuse(terms, request, message, at: date)
            case .approved(let reference):
                step.renew(terms, request, reference: reference, at: date, ids: ids, policy: policy)
            }
        }
    }

    /// The product that a renewal buys, and the price.
    struct RenewalTerms: Sendable {
        var storefront: Storefront
        var product: CatalogProduct
        var subscription: CatalogSubscription
        var amount: Money
        /// The last period.
        var last: Transaction
        /// The length of the next period.
        var period: SubscriptionPeriod
        /// How long it lasts by the tester's renewal rate.
        var rate: RenewalRate
        /// The introductory offer of the next period; nil for none.
        var offer: Transaction.Offer?
        /// The promotional, code or win-back offer of the next period; nil for none.
        var namedOffer: NamedOffer?
        /// How the offer of the next period is paid; nil without an offer.
        var offerTerms: OfferTerms?
        /// The offer that still waits, for the renewals after the next one; nil for none.
        var waitingOffer: WaitingOffer?
        /// Whether the subscription ends with the next period, because its offer does not renew.
        var endsWithOffer = false
        /// The further periods of the offer after the next one.
        var remainingOffer: Subscription.RemainingOffer?
        /// The price of a period without offers that the customer agreed to, from this renewal on.
        var price: Money?
        /// A higher price that the customer is told of with this renewal; nil for none.
        var announcement: PriceIncrease?
        /// Whether a price increase of the catalog that the customer has not answered is void.
        var isIncreaseVoid = false

        /// Decides what the next renewal of a subscription buys.
        /// - Parameters:
        ///   - last: the last period.
        ///   - increase: the last increase of the next product for this account; nil for none.
        ///   - date: when the renewal is charged.
        static func make(
            of subscription: Subscription, after last: Transaction, _ increase: PriceIncrease?,
            in storefront: Storefront, rate: RenewalRate, _ catalog: Catalog, at date: Int64
        ) -> Result<RenewalTerms, RenewalObstacle> {
            let productID = subscription.renewalProductID
            guard let product = catalog.app(subscription.bundleID)?.product(productID),
                let offered = product.subscription, offered.groupID == subscription.groupID,
                let price = product.price(in: storefront)
            else { return .failure(.notForSale) }
            var terms = RenewalTerms(
                storefront: storefront, product: product, subscription: offered, amount: price, last: last,
                period: offered.period, rate: rate, price: subscription.price)
            // Another plan than the last one has its own price after the offer.
            if subscription.renewalProductID != subscription.productID { terms.price = price }
            let next = subscription.waitingOffer
            let accepted = next?.terms(of: offered, in: storefront)
            // An offer that stacks begins when the introductory offer is over.
            let waits =
                accepted?.stacks == true && last.offer != nil && subscription.remainingOffer != nil
                && last.productID == productID && last.price.currency == price.currency
            if let next, let accepted, !waits {
                let offer = accepted.offer
                terms.amount = offer.price
                terms.period = offer.firstPeriod
                terms.namedOffer = next.name
                terms.offerTerms = OfferTerms(offer)
                terms.remainingOffer = offer.afterFirstPeriod
                terms.endsWithOffer = accepted.endsSubscription
            } else if let offer = subscription.remainingOffer, last.productID == productID,
                last.price.currency == price.currency
            {
                terms.amount = last.price
                terms.period = offer.period
                terms.offer = last.offer
                terms.namedOffer = last.namedOffer
                terms.offerTerms = last.offerTerms
                terms.waitingOffer = waits ? next : nil
                terms.remainingOffer = offer.afterOnePeriod
            } else if !terms.setPrice(price, of: subscription, increase, at: date) {
                return .failure(.priceIncrease)
            }
            return .success(terms)
        }

        /// Whether an offer sets the price.
        var hasOffer: Bool { offer != nil || namedOffer != nil }

        /// Sets the price of a renewal without an offer: the catalog's, or the one that was ordered for this account. A
        /// higher price is announced with one renewal and charged with the next one.
        /// - Parameter increase: the last increase of the product for this account.
        /// - Returns: false when the customer has to agree and has not.
        mutating func setPrice(
            _ catalog: Money, of subscription: Subscription, _ increase: PriceIncrease?, at date: Int64
        ) -> Bool {
            let increase = increase.flatMap { $0.newPrice.currency == catalog.currency ? $0 : nil }
            let isSamePlan = subscription.renewalProductID == subscription.productID
            let agreed =
                subscription.price.flatMap { $0.currency == catalog.currency && isSamePlan ? $0 : nil }
                ?? catalog
            // The price that was ordered for this account.
            let ordered = increase.flatMap { $0.followsCatalog ? nil : $0.newPrice }
            var target = catalog
            if self.subscription.preservesPrice, agreed.milliunits < catalog.milliunits {
                // Subscribers keep their price, whatever was announced before.
                guard let ordered, ordered.milliunits > agreed.milliunits else {
                    (amount, price) = (agreed, agreed)
                    isIncreaseVoid = increase?.followsCatalog ?? false
                    return true
                }
                target = ordered
            } else if let ordered, ordered.milliunits > catalog.milliunits {
                target = ordered
            }
            // An answer to another price of the catalog is not wanted any more.
            let isStale = increase.map { $0.followsCatalog && $0.answer != .accepted && $0.newPrice != target } ?? false
            if let increase, !isStale, increase.newPrice.milliunits > agreed.milliunits,
                target.milliunits > agreed.milliunits
            {
                guard increase.answer == .accepted else { return false }
                amount = increase.newPrice.milliunits < target.milliunits ? increase.newPrice : target
            } else {
                amount = target.milliunits < agreed.milliunits ? target : agreed
            }
            price = amount
            guard amount.milliunits < target.milliunits else {
                // After a lower price, an answer to a higher one counts no longer.
                let wasHigher = increase.map { $0.followsCatalog && $0.newPrice.milliunits > amount.milliunits }
                isIncreaseVoid = isStale || wasHigher ?? false
                return true
            }
            let isSecond = increase.map { date - $0.askedAt < Self.year } ?? false
            let needsConsent = isSecond || product.increaseNeedsConsent(from: amount, to: target, each: period)
            announcement = PriceIncrease(
                accountID: subscription.accountID, bundleID: subscription.bundleID, productID: product.productID,
                oldPrice: amount, newPrice: target, askedAt: date, answer: needsConsent ? nil : .accepted,
                answeredAt: needsConsent ? nil : date, followsCatalog: true)
            return true
        }

        /// 365 days in milliseconds.
        private static let year: Int64 = 365 * 86_400_000
    }

    /// Decides what the next renewal of a subscription buys, and for how much. The renewal charges this, and the
    /// customer sees it beforehand (``nextCharge(of:)``).
    /// - Parameter date: when the renewal is charged.
    /// - Returns: the terms, or why the subscription cannot renew.
    /// - Throws: ``DatabaseError``.
    func renewalTerms(
        of subscription: Subscription, at date: Int64
    ) async throws -> Result<RenewalTerms, RenewalObstacle> {
        let (account, last, increase) = try await database.read { connection in
            (
                try Accounts.account(subscription.accountID, connection),
                try Transactions.find(subscription.transactionID, connection),
                try PriceIncreases.next(of: subscription, connection)
            )
        }
        guard let account, let last else { return .failure(.other) }
        return RenewalTerms.make(
            of: subscription, after: last, increase, in: try storefront(of: account), rate: rate(of: account),
            catalog.value, at: date)
    }

    /// The key of the payment of a subscription's next period. It is the same until the subscription changes, so that a
    /// crash between the payment and its record charges nobody twice.
    private static func renewalKey(_ subscription: Subscription) -> UUID {
        PaymentKey.derived(from: [subscription.originalTransactionID.rawValue, Int64(subscription.revision)])
    }

    /// Voids the payment of a renewal that was due when the subscription changed, and whose key will not be used again.
    /// The processor may hold it although the store has not had its answer.
    /// - Parameter before: the subscription before the change that was recorded; nil for none.
    func voidDueRenewal(of before: Subscription?) async {
        guard let before, before.duty(policy) == .renew, let due = before.dueAt, due <= clock.milliseconds else {
            return
        }
        await processor.void(Self.renewalKey(before))
    }

    /// Records the steps of subscriptions that nobody has changed meanwhile. The others stay due. Payments that no
    /// period uses are voided.
    private func record(_ steps: [SubscriptionStep]) async throws {
        let recorder = recorder
        let unused = try await database.write { connection in
            var unused: [UUID] = []
            let shared = try FamilyShares.shared(among: steps.map(\.before.originalTransactionID), connection)
            let members = try Families.members(
                among: steps.filter(\.isShareable).map(\.before.accountID), connection)
            for step in steps {
                guard try Subscriptions.find(step.before.originalTransactionID, connection) == step.before,
                    try step.purchase?.insert(connection) ?? true
                else {
                    // Another process may have recorded the same renewal under the key, as paid or as declined.
                    if let key = step.key, try Purchase.find(key, connection)?.usesPayment != true {
                        unused.append(key)
                    }
                    continue
                }
                if step.purchase?.state == .failed, let key = step.key {
                    try Attempts.insert(recorder.next(), of: step.before.accountID, key: key, connection)
                    // An amount that was authorized before a crash stays when another one is declined.
                    unused.append(key)
                }
                if let increase = step.increase { try PriceIncreases.order(increase, connection) }
                if step.isIncreaseVoid {
                    try PriceIncreases.delete(
                        of: step.before.accountID, step.before.bundleID, step.before.renewalProductID, connection)
                }
                try step.period?.insert(in: recorder.environment, connection)
                if let period = step.period, !step.isShareable, period.productID != step.before.productID {
                    try FamilyShares.end(of: period.originalTransactionID, at: step.date, recorder, connection)
                }
                try Subscriptions.save(
                    step.after, step.news, period: step.period,
                    isShared: shared.contains(step.before.originalTransactionID), recorder, connection)
                if let period = step.period, step.isShareable, members.contains(step.before.accountID) {
                    try FamilyShares.share(period, at: step.date, recorder, connection)
                }
            }
            return unused
        }
        for key in unused { await processor.void(key) }
        for step in steps { schedule.add(step.after.dueAt) }
        accountNews.record(steps.filter { $0.period != nil || $0.increase != nil }.map(\.before.accountID))
    }
}

/// The change of a subscription at one due date.
private struct SubscriptionStep: Sendable {
    let before: Subscription
    var after: Subscription
    /// The due date.
    let date: Int64
    var news: [SubscriptionNews] = []
    /// The key under which the renewal was charged.
    var key: UUID?
    var period: Transaction?
    var purchase: Purchase?
    /// A price increase that the customer is told of with the renewal.
    var increase: PriceIncrease?
    /// Whether a price increase that the customer has not answered is void.
    var isIncreaseVoid = false
    /// Whether a family can share the period.
    var isShareable = false

    init(_ subscription: Subscription, at date: Int64) {
        before = subscription
        after = subscription
        self.date = date
    }

    /// Keeps the payment that was declined, for the list of attempts.
    mutating func refuse(
        _ terms: Store.RenewalTerms, _ request: PurchaseRequest, _ message: String, at date: Int64
    ) {
        purchase = Purchase(
            idempotencyKey: request.idempotencyKey, accountID: before.accountID, bundleID: before.bundleID,
            productID: request.productID, quantity: 1, applicationUsername: request.applicationUsername,
            state: .failed, failure: WireError(code: .paymentDeclined, message: message), transactionID: nil,
            amount: terms.amount, paymentReference: nil, createdAt: date,
            namedOffer: terms.namedOffer, storefront: terms.storefront.countryCode)
    }

    mutating func renew(
        _ terms: Store.RenewalTerms, _ request: PurchaseRequest, reference: String, at date: Int64, ids: TransactionIDs,
        policy: RenewalPolicy
    ) {
        let start = before.nextStart(paidAt: date)
        let end = terms.rate.end(of: terms.period, from: start)
        let period = Transaction(
            accountID: before.accountID, transactionID: ids.next(),
            originalTransactionID: before.originalTransactionID, bundleID: before.bundleID,
            productID: terms.product.productID, itemID: terms.product.itemID, kind: terms.product.kind, quantity: 1,
            price: terms.amount, storefront: terms.storefront.countryCode, purchaseDate: start,
            originalPurchaseDate: before.originalPurchaseDate, expiresDate: end,
            webOrderLineItemID: before.nextLineItemID, subscriptionGroupID: before.groupID,
            offer: terms.offer,
            applicationUsername: terms.last.applicationUsername, idempotencyKey: request.idempotencyKey,
            finishedAt: nil, revokedAt: nil, revocationReason: nil,
            namedOffer: terms.namedOffer, isRenewal: true, offerTerms: terms.offerTerms)
        self.period = period
        purchase = Store.purchase(period, request, named: terms.namedOffer, reference: reference)
        purchase?.createdAt = date
        news = after.renewed(
            by: period, at: date, expires: end, rate: terms.rate, nextLineItemID: ids.next().rawValue,
            remainingOffer: terms.remainingOffer, policy: policy)
        after.price = terms.price
        if terms.hasOffer, period.productID == before.productID {
            // An announced price increase holds after the offer.
            after.priceIncrease = before.priceIncrease
        }
        isShareable = terms.product.isShareable
        after.waitingOffer = terms.waitingOffer
        if terms.endsWithOffer { after.endWithPeriod() }
        isIncreaseVoid = terms.isIncreaseVoid
        increase = terms.announcement
        if let increase { news += after.announceIncrease(needsConsent: increase.answer == nil, at: date) }
    }
}

extension Store.Sale {
    /// Sells what a renewal would buy.
    mutating func apply(_ renewal: Store.RenewalTerms) {
        amount = renewal.amount
        period = renewal.period
        introduction = renewal.offer
        namedOffer = renewal.namedOffer
        offerTerms = renewal.offerTerms
        remainingOffer = renewal.remainingOffer
        endsWithOffer = renewal.endsWithOffer
        subscription?.waitingOffer = renewal.waitingOffer
        if let price = renewal.price { subscription?.price = price }
    }
}

extension RenewalObstacle: Error {
    /// Why a subscription expires that cannot renew.
    fileprivate var intent: Subscription.Intent {
        switch self {
        case .notForSale: .productUnavailable
        case .priceIncrease: .priceIncrease
        case .renewalLimit: .cancelled
        case .other: .other
        }
    }
}

extension Subscription.RemainingOffer {
    fileprivate var afterOnePeriod: Self? { periods > 1 ? Self(periods: periods - 1, period: period) : nil }
}

extension CatalogProduct {
    /// Whether customers have to agree to a higher price, by Apple's rule: more than half more, and more than 5 USD for
    /// a period or 50 USD for a year. Other currencies are compared by the product's price in the United States.
    func increaseNeedsConsent(from old: Money, to new: Money, each period: SubscriptionPeriod) -> Bool {
        let more = new.milliunits - old.milliunits
        guard more > old.milliunits / 2 else { return false }
        let dollars: Int64 = period.unit == .year ? 50_000 : 5_000
        guard new.currency != "USD", new.milliunits > 0, let price = price(in: .unitedStates) else {
            return more > dollars
        }
        return Double(more) * Double(price.milliunits) / Double(new.milliunits) > Double(dollars)
    }
}
