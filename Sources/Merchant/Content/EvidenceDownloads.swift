import Database
import MerchantWire
import StoreWire

/// Counts downloads with evidence of a purchase that nobody has redeemed yet, inside one database transaction.
///
/// The first download binds the purchase to its user, as a redemption would. Another user can neither download with the
/// same evidence nor redeem it, unless the purchase names that user or ``ConflictPolicy/transfer`` applies. Under
/// ``ConflictPolicy/family(members:)``, as many users may download as may have the purchase.
struct EvidenceDownloads {
    let policy: MerchantPolicy
    /// The machine's time.
    let now: Int64
    let connection: Connection

    /// Counts a download. Returns the reason when the download is refused, otherwise nil.
    /// - Parameter plan: a purchase that grants the content and has no other obstacle.
    func count(_ plan: RedemptionPlan, _ user: UserID) throws -> MerchantErrorCode? {
        guard policy.downloadsBeforeRedemption > 0 else { return .downloadLimit }
        guard try admits(user, to: plan) else { return .alreadyRedeemed }
        // With this open row, a later redemption of the purchase checks the downloads.
        try RedemptionRow.remember(
            plan.purchase, key: plan.key, expiresAt: plan.expiresAt, .open, signedAt: plan.purchase.signedAt, at: now,
            connection)
        let isCounted = try connection.execute(
            """
            INSERT INTO evidence_downloads (redemption_key, user_id, downloads, first_at) VALUES ($1, $2, 1, $3)
            ON CONFLICT (redemption_key, user_id) DO UPDATE SET downloads = evidence_downloads.downloads + 1
            WHERE evidence_downloads.downloads < $4
            """, [plan.key.text, user.rawValue, now, policy.downloadsBeforeRedemption])
        return isCounted == 1 ? nil : .downloadLimit
    }

    /// Whether a user may download with or redeem a purchase with which other users have downloaded.
    func admits(_ user: UserID, to plan: RedemptionPlan) throws -> Bool {
        if plan.purchase.names(user) { return true }
        if plan.kind == .autoRenewableSubscription,
            try SubscriptionRow.user(RedemptionKey.subscription(plan.purchase), connection) == user
        {
            return true
        }
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

    /// Whether earlier downloads with a purchase's evidence permit this user to redeem it.
    func allowRedemption(of plan: RedemptionPlan, by user: UserID) throws -> Bool {
        if plan.kind != .consumable, policy.conflict == .transfer { return true }
        return try admits(user, to: plan)
    }
}
