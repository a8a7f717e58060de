import Database
import MerchantWire
import StoreWire

/// Downloads against evidence of a purchase that nobody has redeemed yet, inside one database transaction.
///
/// The first of them binds the purchase to its user, as a redemption would: another user neither downloads with the
/// same evidence nor redeems it, unless the purchase names that user or ``ConflictPolicy/transfer`` lets it go over.
/// Under ``ConflictPolicy/family(members:)`` as many users as may have the purchase may download.
struct EvidenceDownloads {
    let policy: MerchantPolicy
    let now: Int64
    let connection: Connection

    /// Counts a download, or gives the reason why it is refused.
    /// - Parameter plan: a purchase that gives the content and has no other obstacle.
    func count(_ plan: RedemptionPlan, _ user: UserID) throws -> MerchantErrorCode? {
        guard policy.downloadsBeforeRedemption > 0 else { return .downloadLimit }
        guard try admits(user, to: plan) else { return .alreadyRedeemed }
        // The open row sends the purchase's redemption the way on which the downloads are looked at.
        _ = try RedemptionRow.insertOpen(plan, at: now, connection)
        let isCounted = try connection.execute(
            """
            INSERT INTO evidence_downloads (redemption_key, user_id, downloads, first_at) VALUES ($1, $2, 1, $3)
            ON CONFLICT (redemption_key, user_id) DO UPDATE SET downloads = evidence_downloads.downloads + 1
            WHERE evidence_downloads.downloads < $4
            """, [plan.key.text, user.rawValue, now, policy.downloadsBeforeRedemption])
        return isCounted == 1 ? nil : .downloadLimit
    }

    /// Whether a purchase that others have downloaded with may be a user's, too: to download with, or to redeem.
    func admits(_ user: UserID, to plan: RedemptionPlan) throws -> Bool {
        if plan.purchase.names(user) { return true }
        if try SubscriptionRow.find(of: plan, connection)?.userID == user { return true }
        var users = Set(
            try connection.query(
                "SELECT user_id FROM evidence_downloads WHERE redemption_key = $1", [plan.key.text]
            ).map { UserID(try $0.string(0)) })
        if users.isEmpty || users.contains(user) { return true }
        for place in plan.key.places(policy.members) {
            if let holder = try RedemptionRow.find(place, connection)?.userID, holder != "" { users.insert(holder) }
        }
        return users.contains(user) || users.count < policy.members
    }

    /// Whether a user may redeem a purchase, as far as earlier downloads with its evidence are concerned.
    func allowRedemption(of plan: RedemptionPlan, by user: UserID) throws -> Bool {
        if plan.product.kind != .consumable, policy.conflict == .transfer { return true }
        return try admits(user, to: plan)
    }
}
