import Database
import StoreWire

/// A subscriber's choice for the next renewal: another plan of the group, the current one again, or an offer.
struct PlanChoice: Sendable {
    /// The subscription when the customer chose.
    var known: Subscription
    var productID: ProductID
    /// An offer of the product; nil for its price.
    var offer: WaitingOffer?

    /// Records the choice.
    /// - Throws: ``OwnedMeanwhile`` when the subscription has changed since; ``DatabaseError``.
    func record(
        at date: Int64, _ recorder: Recorder, policy: RenewalPolicy, _ connection: Connection
    ) throws {
        guard var subscription = try Subscriptions.find(known.originalTransactionID, connection), subscription == known
        else { throw OwnedMeanwhile() }
        let news = subscription.choose(productID, offer: offer, at: date, policy: policy)
        try Subscriptions.save(subscription, news, recorder, connection)
    }
}

extension Store {
    /// Records a choice as the answer to a purchase: it is `purchased` with the transaction of the current period, as
    /// StoreKit answers the purchase of a lower plan.
    /// - Returns: nil when the subscription has changed since the decision.
    func record(
        _ choice: PlanChoice, _ request: PurchaseRequest, by account: Account
    ) async throws -> PurchaseAnswer? {
        let now = clock.milliseconds
        let purchase = Purchase(
            idempotencyKey: request.idempotencyKey, accountID: account.accountID, bundleID: request.bundleID,
            productID: request.productID, quantity: 1, applicationUsername: request.applicationUsername,
            state: .purchased, failure: nil, transactionID: choice.known.transactionID,
            amount: Money(milliunits: 0, currency: try storefront(of: account).currency),
            paymentReference: Self.freeReference, createdAt: now, namedOffer: choice.offer?.name,
            storefront: account.storefront)
        do {
            let (answer, isNew) = try await database.write {
                [recorder, policy] connection -> (PurchaseAnswer, Bool) in
                guard try purchase.insert(connection) else {
                    return (try Self.firstAnswer(request, account, connection), false)
                }
                try request.useNonce(connection)
                try choice.record(at: now, recorder, policy: policy, connection)
                let held = try Transactions.find(choice.known.transactionID, connection)
                return (PurchaseAnswer(purchase, transaction: held), true)
            }
            if isNew { await voidDueRenewal(of: choice.known) }
            // Auto-renew may be on again.
            schedule.add(choice.known.expiresDate - policy.lead)
            return answer
        } catch is OwnedMeanwhile {
            return nil
        }
    }
}

/// When the purchase of a subscription takes effect.
enum PlanStart: Sendable {
    /// A period begins now, or pays an overdue renewal.
    case now
    /// The next renewal buys it.
    case later
    /// The account has the subscription already, and it renews.
    case held
}

extension Subscription {
    /// When the purchase of a plan of the group takes effect.
    /// - Parameters:
    ///   - offer: the offer that it is bought with; nil for none.
    ///   - current: the plan of the last period; nil when the catalog no longer has it.
    func start(
        ofBuying productID: ProductID, _ plan: CatalogSubscription, offer: NamedOffer? = nil,
        replacing current: CatalogSubscription?, at date: Int64
    ) -> PlanStart {
        guard isActive(at: date) else { return .now }
        let isOverdue = state != .active
        guard self.productID == productID else {
            return current.map(plan.waits(after:)) ?? false ? .later : .now
        }
        guard !isOverdue else { return .now }
        let isNext = willRenew && renewalProductID == productID
        return isNext && (offer == nil || nextOffer == offer) ? .held : .later
    }
}

extension CatalogSubscription {
    /// Whether a change from another subscription of the group waits for the next renewal: to a lower level of service,
    /// or to periods of another length on the same level. Level 1 is the highest.
    func waits(after current: CatalogSubscription) -> Bool {
        level > current.level || level == current.level && !period.isAsLong(as: current.period)
    }
}

extension SubscriptionPeriod {
    /// Whether two periods have the same length: a year is twelve months, and a week seven days.
    fileprivate func isAsLong(as other: SubscriptionPeriod) -> Bool { length == other.length }

    private var length: (days: Int, months: Int) {
        switch unit {
        case .day: (count, 0)
        case .week: (count * 7, 0)
        case .month: (0, count)
        case .year: (0, count * 12)
        }
    }
}
