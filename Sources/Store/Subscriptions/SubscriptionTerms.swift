import Database
import StoreWire

/// How a sale continues the subscription of an account in a group, or begins it.
struct SubscriptionTerms: Sendable {
    /// The identifier and the date of the first purchase in the group; nil when this is the first.
    var earlier: (id: TransactionID, date: Int64)?
    /// The `web_order_line_item_id` of the period.
    var lineItemID: Int64
    /// What the period leaves of its offer.
    var remainingOffer: Subscription.RemainingOffer?
    private let group: SubscriptionGroupID
    private let nextLineItemID: Int64
    private let policy: RenewalPolicy

    /// - Parameter known: the account's subscription in the group.
    init(
        after known: Subscription?, at date: Int64, group: SubscriptionGroupID, ids: TransactionIDs,
        policy: RenewalPolicy
    ) {
        earlier = known.map { ($0.originalTransactionID, $0.originalPurchaseDate) }
        // A change of plan during a period has a new identifier. The one that was allocated for the next period stays
        // unused.
        let allocated = known.flatMap { $0.isActive(at: date) ? nil : $0.nextLineItemID }
        lineItemID = allocated ?? ids.next().rawValue
        nextLineItemID = ids.next().rawValue
        self.group = group
        self.policy = policy
    }

    /// Records what a sold period changes.
    /// - Throws: ``OwnedMeanwhile`` when another subscription began since the sale was planned; ``DatabaseError``.
    func record(_ period: Transaction, _ ids: TransactionIDs, _ connection: Connection) throws {
        guard let end = period.expiresDate else { return }
        guard
            var subscription = try Subscriptions.find(
                of: period.accountID, in: period.bundleID, group: group, connection)
        else {
            guard earlier == nil else { throw OwnedMeanwhile() }
            let first = Subscription(
                period, group: group, expires: end, nextLineItemID: nextLineItemID, remainingOffer: remainingOffer,
                policy: policy)
            let news = SubscriptionNews(
                type: .subscribed, subtype: .initialBuy, date: period.purchaseDate, transactionID: period.transactionID)
            return try Subscriptions.save(first, [news], numbers: ids, connection)
        }
        guard subscription.originalTransactionID == earlier?.id else { throw OwnedMeanwhile() }
        let news = subscription.bought(
            period, expires: end, nextLineItemID: nextLineItemID, remainingOffer: remainingOffer, policy: policy)
        try Subscriptions.save(subscription, news, numbers: ids, connection)
    }
}
