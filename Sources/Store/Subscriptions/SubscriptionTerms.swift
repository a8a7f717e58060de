import Database
import StoreWire

/// How a sale continues the subscription of an account in a group, or begins it.
struct SubscriptionTerms: Sendable {
    /// The identifier and the date of the first purchase in the group; nil when this is the first.
    var earlier: (id: TransactionID, date: Int64)? {
        known.map { ($0.originalTransactionID, $0.originalPurchaseDate) }
    }
    /// The `web_order_line_item_id` of the period.
    var lineItemID: Int64
    /// The offer that waits for a later renewal; nil for none.
    var waitingOffer: WaitingOffer?
    /// The periods that an upgrade replaces. Their unused part is refunded.
    var replaced: [Transaction] = []
    /// The price of a period without offers.
    var price: Money?
    /// Whether the period pays a renewal that is overdue.
    let paysRenewal: Bool
    /// Whether the sale was approved or resolved after its request. The period is of the request's storefront, which
    /// the account may have left.
    var isOfEarlierRequest = false
    /// When the period begins, if it pays a renewal that is overdue; nil for now.
    let start: Int64?
    /// How long the period lasts.
    let rate: RenewalRate
    /// The subscription when the sale was planned.
    let known: Subscription?
    private let group: SubscriptionGroupID
    private let nextLineItemID: Int64
    private let policy: RenewalPolicy
    /// When the customer bought.
    private let boughtAt: Int64

    /// - Parameter known: the account's subscription in the group.
    init(
        after known: Subscription?, buying productID: ProductID, at date: Int64, group: SubscriptionGroupID,
        ids: TransactionIDs, policy: RenewalPolicy, rate: RenewalRate
    ) {
        self.known = known
        paysRenewal = known?.isOverdue == true && known?.productID == productID
        let isInGrace = paysRenewal && known?.state == .gracePeriod
        start = isInGrace ? known?.expiresDate : nil
        // A change of plan during a period has a new identifier. The one that was allocated for the next period stays
        // unused.
        let allocated = known.flatMap { $0.isActive(at: date) && !isInGrace ? nil : $0.nextLineItemID }
        self.rate = rate
        boughtAt = date
        lineItemID = allocated ?? ids.next().rawValue
        nextLineItemID = ids.next().rawValue
        self.group = group
        self.policy = policy
    }

    /// The offer that waited for the renewal that the sale pays; nil for none.
    var overdueOffer: WaitingOffer? {
        guard let known, paysRenewal, known.renewalProductID == known.productID else { return nil }
        return known.waitingOffer
    }

    /// Records what a sold period changes.
    /// - Parameter sale: the sale of the period.
    /// - Throws: ``OwnedMeanwhile`` when the subscription has changed since the sale was planned; ``DatabaseError``.
    func record(
        _ period: Transaction, of sale: Store.Sale, _ recorder: Recorder, _ connection: Connection
    ) throws {
        guard let end = period.expiresDate else { return }
        let justBought = isOfEarlierRequest ? nil : period
        guard
            var subscription = try Subscriptions.find(
                of: period.accountID, in: period.bundleID, group: group, connection)
        else {
            guard known == nil else { throw OwnedMeanwhile() }
            var first = Subscription(
                period, group: group, expires: end, rate: rate, nextLineItemID: nextLineItemID,
                remainingOffer: sale.remainingOffer, policy: policy)
            first.price = price
            first.waitingOffer = waitingOffer
            if sale.endsWithOffer { first.endWithPeriod() }
            let news = SubscriptionNews(
                type: .subscribed, subtype: .initialBuy, date: period.purchaseDate, transactionID: period.transactionID)
            return try Subscriptions.save(first, [news], period: justBought, recorder, connection)
        }
        guard subscription == known else { throw OwnedMeanwhile() }
        if !paysRenewal {
            // The customer agreed to today's price, so that earlier answers count no longer.
            try PriceIncreases.delete(of: period.accountID, period.bundleID, period.productID, connection)
        }
        let news = subscription.bought(
            period, at: max(boughtAt, period.purchaseDate), expires: end, rate: rate, nextLineItemID: nextLineItemID,
            remainingOffer: sale.remainingOffer, policy: policy)
        subscription.price = price
        subscription.waitingOffer = waitingOffer
        if sale.endsWithOffer { subscription.endWithPeriod() }
        try Subscriptions.save(subscription, news, period: justBought, recorder, connection)
        for old in replaced {
            guard try Transactions.markUpgraded(old, recorder, connection) else { throw OwnedMeanwhile() }
            try Refunds.add(.upgrade, old, at: period.purchaseDate, recorder, connection)
        }
    }
}
