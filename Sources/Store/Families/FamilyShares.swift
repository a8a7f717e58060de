import Database
import StoreWire

/// A member's share of a purchase of the family: the member's own transactions that follow the purchaser's.
struct FamilyShare: Sendable, Equatable {
    /// The member's first transaction of the purchase. The later ones have it as their original transaction.
    var originalTransactionID: TransactionID
    /// The member.
    var accountID: AccountID
    /// The app's bundle identifier.
    var bundleID: BundleID
    /// The original transaction of the purchaser.
    var sourceID: TransactionID
    /// The purchaser.
    var purchaserID: AccountID
    /// The date of the member's first transaction.
    var originalPurchaseDate: Int64
    /// The member's last transaction.
    var transactionID: TransactionID
    /// When the share ended; nil while the purchase is shared.
    var endedAt: Int64?
}

/// The table `family_shares`, and the transactions of members.
///
/// A member's subscription has no row in `subscriptions`: its state is the purchaser's, so it cannot differ from it, is
/// never due, and charges nothing. Only its transactions and its news are written, in the database transaction that
/// writes the purchaser's.
enum FamilyShares {
    private static let columns = """
        original_transaction_id, account_id, bundle_id, source_id, source_account_id, original_purchase_date, \
        transaction_id, ended_at
        """

    /// The share with a member's original transaction.
    static func find(_ original: TransactionID, _ connection: Connection) throws -> FamilyShare? {
        try connection.queryOne(
            "SELECT \(columns) FROM family_shares WHERE original_transaction_id = $1", [original.rawValue]
        ).map(share)
    }

    /// A member's share of a purchase, ended or not.
    private static func find(
        of sourceID: TransactionID, with accountID: AccountID, _ connection: Connection
    ) throws -> FamilyShare? {
        try connection.queryOne(
            "SELECT \(columns) FROM family_shares WHERE account_id = $1 AND source_id = $2",
            [accountID.rawValue, sourceID.rawValue]
        ).map(share)
    }

    /// The shares of a purchase that have not ended.
    private static func active(of sourceID: TransactionID, _ connection: Connection) throws -> [FamilyShare] {
        try connection.query(
            """
            SELECT \(columns) FROM family_shares WHERE source_id = $1 AND ended_at IS NULL
            ORDER BY original_transaction_id
            """, [sourceID.rawValue]
        ).map(share)
    }

    /// Those of the purchases that are shared now.
    static func shared(among sources: [TransactionID], _ connection: Connection) throws -> Set<TransactionID> {
        let rows = try connection.query(portionsOf: sources.map(\.rawValue)) { places in
            "SELECT source_id FROM family_shares WHERE ended_at IS NULL AND source_id IN (\(places))"
        }
        return Set(try rows.map { TransactionID(rawValue: try $0.int64(0)) })
    }

    /// The shares that an account received, in an app or in all, in the order of the first transactions.
    private static func received(
        by accountID: AccountID, in bundleID: BundleID?, _ connection: Connection
    ) throws -> [FamilyShare] {
        try connection.query(
            """
            SELECT \(columns) FROM family_shares WHERE account_id = $1 AND (CAST($2 AS TEXT) IS NULL OR bundle_id = $2)
            ORDER BY original_transaction_id
            """, [accountID.rawValue, bundleID?.rawValue]
        ).map(share)
    }

    /// The purchasers' original transactions of what is shared with an account now.
    static func sources(of accountID: AccountID, _ connection: Connection) throws -> [TransactionID] {
        try received(by: accountID, in: nil, connection).filter { $0.endedAt == nil }.map(\.sourceID)
    }

    /// Numbers that differ when the subscriptions that are or were shared with an account in an app do: how many they
    /// are, how many of the shares have ended, and the sum of the revisions.
    static func mark(
        of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> [SQLValue] {
        try connection.query(
            """
            SELECT count(*), count(family_shares.ended_at), CAST(sum(subscriptions.revision) AS BIGINT)
            FROM family_shares
            JOIN subscriptions ON subscriptions.original_transaction_id = family_shares.source_id
            WHERE family_shares.account_id = $1 AND family_shares.bundle_id = $2
            """, [accountID.rawValue, bundleID.rawValue]
        ).flatMap(\.values)
    }

    private static func share(_ row: Row) throws -> FamilyShare {
        FamilyShare(
            originalTransactionID: TransactionID(rawValue: try row.int64(0)), accountID: AccountID(try row.string(1)),
            bundleID: BundleID(try row.string(2)), sourceID: TransactionID(rawValue: try row.int64(3)),
            purchaserID: AccountID(try row.string(4)), originalPurchaseDate: try row.int64(5),
            transactionID: TransactionID(rawValue: try row.int64(6)), endedAt: try row.optionalInt64(7))
    }

    private static func save(_ share: FamilyShare, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO family_shares (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (original_transaction_id) DO UPDATE SET
                transaction_id = excluded.transaction_id, ended_at = excluded.ended_at
            """,
            [
                .integer(share.originalTransactionID.rawValue), .text(share.accountID.rawValue),
                .text(share.bundleID.rawValue), .integer(share.sourceID.rawValue), .text(share.purchaserID.rawValue),
                .integer(share.originalPurchaseDate), .integer(share.transactionID.rawValue),
                SQLValue(share.endedAt),
            ] as [SQLValue])
    }

    // MARK: Sharing

    /// Gives a new purchase or period to each member who does not have it yet.
    /// - Parameter date: when it was bought or charged.
    static func share(
        _ source: Transaction, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        // Getting a product again that is owned once gives the members nothing new.
        guard !source.kind.isOwnedOnce || source.transactionID == source.originalTransactionID else { return }
        for receiver in try Families.receivers(from: source.accountID, connection) {
            try begin(source, with: receiver, at: date, recorder, connection)
        }
    }

    /// Gives the members of an account's family everything that they do not have yet and that is current: its
    /// subscriptions and its non-consumables that may be shared.
    /// - Parameters:
    ///   - receiver: the only member who gets it; nil for all.
    ///   - isShareable: whether the catalog lets a family share a product.
    static func complete(
        from accountID: AccountID, to receiver: AccountID? = nil, at date: Int64, _ recorder: Recorder,
        _ connection: Connection,
        isShareable: (BundleID, ProductID) -> Bool
    ) throws {
        let receivers = try Families.receivers(from: accountID, connection).filter {
            receiver == nil || $0 == receiver
        }
        guard !receivers.isEmpty else { return }
        for source in try Transactions.shareable(of: accountID, at: date, limit: mostShared, connection) {
            guard try canShare(source, connection, isShareable) else { continue }
            for receiver in receivers { try begin(source, with: receiver, at: date, recorder, connection) }
        }
    }

    /// Whether a family can share a purchase. A subscription's last period decides: when it is of a plan that may not
    /// be shared, an earlier period that is still current is not shared either (``end(of:at:_:_:)``).
    static func canShare(
        _ source: Transaction, _ connection: Connection, _ isShareable: (BundleID, ProductID) -> Bool
    ) throws -> Bool {
        guard isShareable(source.bundleID, source.productID) else { return false }
        guard source.kind == .autoRenewableSubscription,
            let subscription = try Subscriptions.find(source.originalTransactionID, connection)
        else { return true }
        return isShareable(source.bundleID, subscription.productID)
    }

    /// The most current transactions of an account that a new member gets, the newest ones.
    private static let mostShared = 500

    private static func begin(
        _ source: Transaction, with accountID: AccountID, at date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        let known = try find(of: source.originalTransactionID, with: accountID, connection)
        if let known, known.endedAt == nil { return try pass(source, to: known, at: date, recorder, connection) }
        let id = recorder.next()
        var share = FamilyShare(
            originalTransactionID: id, accountID: accountID, bundleID: source.bundleID,
            sourceID: source.originalTransactionID, purchaserID: source.accountID,
            originalPurchaseDate: source.purchaseDate, transactionID: id)
        if let known {
            if source.kind.isOwnedOnce {
                // Only a first transaction can be restored.
                try delete(known, connection)
            } else {
                (share.originalTransactionID, share.originalPurchaseDate) = (
                    known.originalTransactionID, known.originalPurchaseDate
                )
            }
        }
        var copy = source.shared(by: share, as: id, lineItemID: recorder.next(), at: date)
        copy.isRenewal = false
        try copy.insert(in: recorder.environment, connection)
        try save(share, connection)
        try OneTimeNews.charge.tell(of: copy, at: date, recorder, connection)
        guard source.kind == .autoRenewableSubscription,
            let purchasers = try Subscriptions.find(source.originalTransactionID, connection)
        else { return }
        let news = SubscriptionNews(
            type: .subscribed, subtype: known == nil ? .initialBuy : .resubscribe, date: date, transactionID: id)
        try SubscriptionFeed.add([news], of: purchasers.shared(by: share, copy), period: copy, recorder, connection)
    }

    /// Gives a member with a share the purchaser's next period, unless the member has it.
    private static func pass(
        _ source: Transaction, to share: FamilyShare, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        let known = try Transactions.shared(from: source.transactionID, with: share.accountID, connection)
        // A member who left and joined again has a revoked one.
        guard source.revokedAt == nil, known.map({ $0.revokedAt != nil }) ?? true else { return }
        // A member who has a newer period does not get an older one.
        let current = try Transactions.find(share.transactionID, connection)?.sharedFrom
        guard current.map({ $0 < source.transactionID }) ?? true else { return }
        var share = share
        share.transactionID = recorder.next()
        try source.shared(by: share, as: share.transactionID, lineItemID: recorder.next(), at: date)
            .insert(in: recorder.environment, connection)
        try save(share, connection)
    }

    /// Carries a change of the purchaser's subscription to the members who share it: the new period, and the news.
    static func follow(
        _ subscription: Subscription, _ news: [SubscriptionNews], _ recorder: Recorder, _ connection: Connection
    ) throws {
        let shares = try active(of: subscription.originalTransactionID, connection)
        guard !shares.isEmpty, let date = news.last?.date,
            let period = try Transactions.find(subscription.transactionID, connection)
        else { return }
        for share in shares {
            try pass(period, to: share, at: date, recorder, connection)
            let told = try news.compactMap { item -> SubscriptionNews? in
                guard let (type, subtype) = item.forMembers,
                    let copy = try Transactions.shared(from: item.transactionID, with: share.accountID, connection)
                else { return nil }
                return SubscriptionNews(
                    type: type, subtype: subtype, date: item.date, transactionID: copy.transactionID)
            }
            guard !told.isEmpty, let current = try find(share.originalTransactionID, connection),
                let last = try Transactions.find(current.transactionID, connection)
            else { continue }
            try SubscriptionFeed.add(
                told, of: subscription.shared(by: current, last), period: last, recorder, connection)
        }
    }

    // MARK: Ends

    /// Ends the shares of a purchase, because the purchaser has a plan now that may not be shared.
    static func end(
        of sourceID: TransactionID, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        for share in try active(of: sourceID, connection) { try end(share, at: date, recorder, connection) }
    }

    /// Ends the shares that an account gave, and those that it received.
    /// - Parameter isLeaving: whether the account leaves the family; false when it stops sharing, and keeps what it
    ///   received.
    static func end(
        with accountID: AccountID, isLeaving: Bool, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        let shares = try connection.query(
            """
            SELECT \(columns) FROM family_shares
            WHERE ended_at IS NULL AND (source_account_id = $1 OR account_id = CAST($2 AS TEXT))
            ORDER BY original_transaction_id
            """, [accountID.rawValue, isLeaving ? accountID.rawValue : nil]
        ).map(share)
        for share in shares { try end(share, at: date, recorder, connection) }
    }

    /// Ends a share. The member's transactions that are not over are revoked, also when the subscription is: an earlier
    /// period can be current after the refund of the next one.
    private static func end(
        _ share: FamilyShare, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        let subscription = try Subscriptions.find(share.sourceID, connection)
        // A period whose renewal is overdue is not current, but its grace period may be.
        let isOver = subscription.map { $0.state == .expired || $0.state == .revoked } ?? false
        var ended = share
        ended.endedAt = date
        try save(ended, connection)
        let revoked = try Transactions.revokeShared(share, andLast: !isOver, at: date, recorder, connection)
        for transaction in revoked {
            try Revocations.insert(transaction, connection)
            try OneTimeNews.revoked.tell(of: transaction, at: date, recorder, connection)
        }
        guard let subscription, let newest = revoked.max(by: { $0.transactionID < $1.transactionID }),
            let last = try Transactions.find(share.transactionID, connection)
        else { return }
        let news = SubscriptionNews(type: .revoked, date: date, transactionID: newest.transactionID)
        try SubscriptionFeed.add([news], of: subscription.shared(by: ended, last), period: last, recorder, connection)
    }

    /// Revokes the members' transactions of a refunded one.
    static func revoke(
        _ source: Transaction, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        for transaction in try Transactions.revokeShared(from: source, at: date, recorder, connection) {
            try Revocations.insert(transaction, connection)
            try OneTimeNews.revoked.tell(of: transaction, at: date, recorder, connection)
        }
    }

    /// Gives the members of the family their transactions of a refund that was reversed back.
    /// - Parameter date: when the refund was made. Transactions revoked at another time stay revoked.
    static func reinstate(
        _ source: TransactionID, of original: TransactionID, revokedAt date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        for share in try active(of: original, connection) {
            try Transactions.reinstateShared(from: source, with: share.accountID, revokedAt: date, recorder, connection)
        }
    }

    // MARK: Reading

    /// A member's subscription; nil when the transaction is no member's, or the purchaser's history is gone.
    static func subscription(_ original: TransactionID, _ connection: Connection) throws -> Subscription? {
        try find(original, connection).flatMap { try subscription($0, connection) }
    }

    /// The subscriptions that are shared with an account, in an app or in all.
    static func subscriptions(
        of accountID: AccountID, in bundleID: BundleID? = nil, _ connection: Connection
    ) throws -> [Subscription] {
        try received(by: accountID, in: bundleID, connection).compactMap { try subscription($0, connection) }
    }

    private static func subscription(_ share: FamilyShare, _ connection: Connection) throws -> Subscription? {
        guard let purchasers = try Subscriptions.find(share.sourceID, connection),
            let last = try Transactions.find(share.transactionID, connection)
        else { return nil }
        return purchasers.shared(by: share, last)
    }

    // MARK: Cleared histories

    /// Ends what an account shares, and deletes what it received, when its history is cleared.
    static func clear(
        of accountID: AccountID, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        try end(with: accountID, isLeaving: false, at: date, recorder, connection)
        for share in try received(by: accountID, in: nil, connection) { try delete(share, connection) }
    }

    private static func delete(_ share: FamilyShare, _ connection: Connection) throws {
        try SubscriptionFeed.delete(of: share.originalTransactionID, connection)
        try connection.execute(
            "DELETE FROM family_shares WHERE original_transaction_id = $1", [share.originalTransactionID.rawValue])
    }
}

extension Transaction {
    /// The member's transaction of a purchase: free, with its own identifiers, and with the purchase's dates.
    fileprivate func shared(
        by share: FamilyShare, as id: TransactionID, lineItemID: TransactionID, at date: Int64
    ) -> Transaction {
        var shared = self
        shared.accountID = share.accountID
        shared.transactionID = id
        shared.originalTransactionID = share.originalTransactionID
        shared.originalPurchaseDate = share.originalPurchaseDate
        shared.price.milliunits = 0
        shared.webOrderLineItemID = webOrderLineItemID == nil ? nil : lineItemID.rawValue
        shared.applicationUsername = nil
        shared.idempotencyKey = nil
        shared.namedOffer = nil
        if offer == nil { shared.offerTerms = nil }
        // A shared subscription arrives on the member's devices. A non-consumable is restored there.
        shared.finishedAt = kind == .autoRenewableSubscription ? nil : date
        shared.refunded = 0
        shared.sharedFrom = transactionID
        return shared
    }
}

extension SubscriptionNews {
    /// The type and subtype of the news for the family's members; nil for none. Prices, offers, requests for refunds,
    /// declined refunds and extensions that failed concern the purchaser only.
    fileprivate var forMembers: (Kind, Subtype?)? {
        switch type {
        case .priceIncrease, .consumptionRequest, .refundDeclined, .massExtension: nil
        case .refund: (.revoked, nil)
        case .offerRedeemed: subtype.map { (.renewalPreference, $0) }
        case .subscribed, .renewalPreference, .renewalStatus, .renewed, .failedToRenew, .gracePeriodExpired, .expired,
            .extended, .refundReversed, .revoked:
            (type, subtype)
        }
    }
}
