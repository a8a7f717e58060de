import Database
import MerchantWire
import StoreWire

/// The tables `entitlements` and `transferred_rights`. Each row of the first is one right from one source: a redemption
/// or a subscription, by its key. The second has the users to whom a subscription's rights were transferred.
enum Rights {
    /// Grants a right from a purchase other than a subscription, or restores it.
    /// - Parameters:
    ///   - expiresAt: the end of the right; nil when it does not end.
    ///   - lifetime: the lifetime in milliseconds, instead of `expiresAt`.
    ///   - redemption: the key of the redemption that grants the right.
    ///   - settlement: computes the ends of rights with a lifetime at the end of the transaction.
    static func give(
        _ right: Right, to user: UserID, from source: String, _ purchase: VerifiedPurchase, expiresAt: Int64?,
        lifetime: Int64?, grantedBy redemption: String, _ settlement: Settlement, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO entitlements (user_id, kind, name, source, product_id, starts_at, expires_at, lifetime, granted_by)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (user_id, kind, name, source) DO UPDATE SET
                product_id = CASE WHEN excluded.starts_at >= entitlements.starts_at
                    THEN excluded.product_id ELSE entitlements.product_id END,
                granted_by = CASE WHEN excluded.starts_at >= entitlements.starts_at
                    THEN excluded.granted_by ELSE entitlements.granted_by END,
                starts_at = CASE WHEN excluded.starts_at >= entitlements.starts_at
                    THEN excluded.starts_at ELSE entitlements.starts_at END,
                expires_at = CASE WHEN excluded.expires_at > entitlements.expires_at
                        OR entitlements.revoked_at IS NOT NULL AND excluded.starts_at > entitlements.starts_at
                    THEN excluded.expires_at ELSE entitlements.expires_at END,
                revoked_at = CASE WHEN excluded.starts_at > entitlements.starts_at OR excluded.expires_at IS NULL
                    THEN NULL ELSE entitlements.revoked_at END
            """,
            [
                user.rawValue, right.kind, right.name, source, purchase.productID.rawValue, purchase.purchasedAt,
                lifetime.map { TimedRight.end(purchase.purchasedAt, $0) } ?? expiresAt, lifetime, redemption,
            ])
        guard lifetime != nil else { return }
        settlement.settle(
            TimedRight.Chain(user: user, kind: right.kind, name: right.name),
            from: TimedRight.Position(boughtAt: purchase.purchasedAt, source: source))
    }

    /// Revokes the rights that a user has from a source.
    static func revoke(
        of user: UserID, from source: String, at now: Int64, _ settlement: Settlement, _ connection: Connection
    ) throws {
        let changed = try connection.query(
            """
            UPDATE entitlements SET revoked_at = $3 WHERE user_id = $1 AND source = $2 AND revoked_at IS NULL
            RETURNING kind, name, starts_at, lifetime
            """, [user.rawValue, source, now])
        try settle(changed, of: user, from: source, settlement)
    }

    /// Schedules the new ends of those changed rights that have a lifetime.
    private static func settle(
        _ changed: [Row], of user: UserID, from source: String, _ settlement: Settlement
    ) throws {
        for row in changed where try row.optionalInt64(3) != nil {
            settlement.settle(
                TimedRight.Chain(user: user, kind: try row.string(0), name: try row.string(1)),
                from: TimedRight.Position(boughtAt: try row.int64(2), source: source))
        }
    }

    /// Restores revoked rights.
    static func reinstate(
        of user: UserID, from source: String, _ settlement: Settlement, _ connection: Connection
    ) throws {
        let changed = try connection.query(
            """
            UPDATE entitlements SET revoked_at = NULL WHERE user_id = $1 AND source = $2
            RETURNING kind, name, starts_at, lifetime
            """, [user.rawValue, source])
        try settle(changed, of: user, from: source, settlement)
    }

    // MARK: Rights of a subscription, whichever user has it

    /// Grants rights from a subscription's periods, and updates all rights of the subscription by its facts.
    static func follow(
        _ subscription: SubscriptionRow, granting rights: [SubscriptionRight], _ connection: Connection
    ) throws {
        let rows = try connection.query(
            """
            SELECT user_id, kind, name, product_id, starts_at, expires_at, grace_until, revoked_at, granted_by
            FROM entitlements WHERE source = $1 AND expires_at IS NOT NULL
            """, [subscription.key]
        ).map { row in
            SubscriptionRight(
                place: .init(user: UserID(try row.string(0)), kind: try row.string(1), name: try row.string(2)),
                productID: ProductID(try row.string(3)), startsAt: try row.int64(4), expiresAt: try row.int64(5),
                graceUntil: try row.optionalInt64(6), revokedAt: try row.optionalInt64(7),
                grantedBy: try row.optionalString(8) ?? "")
        }
        let before = Dictionary(rows.map { ($0.place, $0) }, uniquingKeysWith: { $1 })
        var after = before
        for right in rights where after[right.place]?.isReplaced(by: right, subscription.facts) ?? true {
            after[right.place] = right
        }
        for (place, right) in after.sorted(by: { $0.key < $1.key }) {
            var right = right
            right.follow(subscription.facts)
            if right != before[place] { try write(right, from: subscription.key, connection) }
        }
    }

    private static func write(
        _ right: SubscriptionRight, from source: String, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO entitlements (user_id, kind, name, source, product_id, starts_at, expires_at, grace_until,
                revoked_at, granted_by)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (user_id, kind, name, source) DO UPDATE SET product_id = excluded.product_id,
                starts_at = excluded.starts_at, expires_at = excluded.expires_at, grace_until = excluded.grace_until,
                revoked_at = excluded.revoked_at, granted_by = excluded.granted_by
            """,
            [
                right.place.user.rawValue, right.place.kind, right.place.name, source, right.productID.rawValue,
                right.startsAt, right.expiresAt, right.graceUntil, right.revokedAt, right.grantedBy,
            ])
    }

    /// Whether a period grants a user rights at present.
    /// - Parameters:
    ///   - period: the period's redemption key.
    ///   - isRevoked: whether to look for rights that a refund ended.
    static func hasRights(
        of period: RedemptionKey, _ user: UserID, from source: String, isRevoked: Bool, _ connection: Connection
    ) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM entitlements
            WHERE user_id = $1 AND source = $2 AND granted_by = $3 AND revoked_at \(isRevoked ? "IS NOT NULL" : "IS NULL")
            LIMIT 1
            """, [user.rawValue, source, period.text]) != nil
    }

    /// Copies the rights from a source to another user, unchanged, and revokes them for the first user.
    static func transfer(
        _ source: String, from user: UserID, to other: UserID, at now: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            "INSERT INTO transferred_rights (source, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            [source, other.rawValue])
        try connection.execute(
            """
            INSERT INTO entitlements (user_id, kind, name, source, product_id, starts_at, expires_at, grace_until,
                revoked_at, lifetime, granted_by)
            SELECT CAST($2 AS TEXT), kind, name, source, product_id, starts_at, expires_at, grace_until, revoked_at, lifetime,
                granted_by FROM entitlements WHERE user_id = $1 AND source = $3
            ON CONFLICT (user_id, kind, name, source) DO UPDATE SET product_id = excluded.product_id,
                starts_at = excluded.starts_at, expires_at = excluded.expires_at, grace_until = excluded.grace_until,
                revoked_at = excluded.revoked_at, lifetime = excluded.lifetime, granted_by = excluded.granted_by
            """, [user.rawValue, other.rawValue, source])
        // No period gives them to the first user any longer, whatever becomes known of the periods.
        try connection.execute(
            """
            UPDATE entitlements SET revoked_at = coalesce(revoked_at, $3), granted_by = ''
            WHERE user_id = $1 AND source = $2
            """, [user.rawValue, source, now])
    }

    /// Returns every right that a user has or had, at most 10,000.
    static func all(of user: UserID, at times: BookTimes, _ connection: Connection) throws -> [Entitlement] {
        try connection.query(
            """
            SELECT kind, name, entitlements.product_id, entitlements.expires_at, entitlements.grace_until, revoked_at,
                will_renew, renews_as, source
            FROM entitlements LEFT JOIN subscriptions
                ON subscription_key = source AND subscriptions.user_id = entitlements.user_id
            WHERE entitlements.user_id = $1 ORDER BY kind, name, source LIMIT 10000
            """, [user.rawValue]
        ).map { row in
            let isEntitlement = try row.string(0) == "entitlement"
            let name = try row.string(1)
            let (expiresAt, graceUntil) = (try row.optionalInt64(3), try row.optionalInt64(4))
            let environment = RedemptionKey.environment(of: try row.string(8))
            return Entitlement(
                entitlement: isEntitlement ? EntitlementID(name) : nil,
                content: isEntitlement ? nil : ContentItemID(name), productID: ProductID(try row.string(2)),
                state: Right.state(
                    expiresAt: expiresAt, graceUntil: graceUntil, revokedAt: try row.optionalInt64(5),
                    at: times[environment]),
                expiresAt: expiresAt, graceUntil: graceUntil, willRenew: try row.optionalBool(6),
                renewsAs: try row.optionalString(7).map { ProductID($0) },
                environment: environment)
        }
    }

    /// Whether a user may use a right now.
    static func has(_ right: Right, _ user: UserID, at times: BookTimes, _ connection: Connection) throws -> Bool {
        try connection.query(
            """
            SELECT expires_at, grace_until, revoked_at, source FROM entitlements
            WHERE user_id = $1 AND kind = $2 AND name = $3
            """, [user.rawValue, right.kind, right.name]
        ).contains { row in
            let state = Right.state(
                expiresAt: try row.optionalInt64(0), graceUntil: try row.optionalInt64(1),
                revokedAt: try row.optionalInt64(2), at: times[key: try row.string(3)])
            return state == .active || state == .grace
        }
    }
    // MARK: Rights with a lifetime

    /// Recomputes the ends of a chain's rights, from the purchase that granted or lost a right. Reads the chain once
    /// and writes only the rows that change.
    static func settle(
        _ chain: TimedRight.Chain, from first: TimedRight.Position, _ connection: Connection
    ) throws {
        // Rights that ended before this purchase do not affect it.
        let rights = try timed(of: chain, endingFrom: first.boughtAt, connection)
        for (old, settled) in zip(rights, TimedRight.chained(rights, from: first)) where old != settled {
            try connection.execute(
                """
                UPDATE entitlements SET expires_at = $5 WHERE user_id = $1 AND kind = $2 AND name = $3 AND source = $4
                """, [chain.user.rawValue, chain.kind, chain.name, settled.source, settled.expiresAt])
        }
    }

    /// Returns a chain's rights, sorted by position.
    /// - Parameter moment: rights that end before it are left out.
    static func timed(
        of chain: TimedRight.Chain, endingFrom moment: Int64, _ connection: Connection
    ) throws -> [TimedRight] {
        try connection.query(
            """
            SELECT source, starts_at, lifetime, revoked_at, expires_at FROM entitlements
            WHERE user_id = $1 AND kind = $2 AND name = $3 AND lifetime IS NOT NULL AND expires_at >= $4
            """, [chain.user.rawValue, chain.kind, chain.name, moment]
        ).map { row in
            TimedRight(
                source: try row.string(0), boughtAt: try row.int64(1), lifetime: try row.int64(2),
                revokedAt: try row.optionalInt64(3), expiresAt: try row.int64(4))
        }.sorted { $0.position < $1.position }
    }
    // MARK: The audit

    /// Returns a page of all rights, sorted by key.
    static func page(
        after last: BooksPage.RightKey, limit: Int, _ connection: Connection
    ) throws -> [StandingRight] {
        try connection.query(
            """
            SELECT user_id, kind, name, source, expires_at, revoked_at, lifetime, granted_by, product_id, starts_at,
                grace_until FROM entitlements
            WHERE (user_id, kind, name, source) > ($1, $2, $3, $4) ORDER BY user_id, kind, name, source LIMIT $5
            """, [last.user, last.kind, last.name, last.source, limit]
        ).map { row in
            StandingRight(
                chain: TimedRight.Chain(
                    user: UserID(try row.string(0)), kind: try row.string(1), name: try row.string(2)),
                source: try row.string(3), expiresAt: try row.optionalInt64(4), revokedAt: try row.optionalInt64(5),
                lifetime: try row.optionalInt64(6), grantedBy: try row.optionalString(7),
                productID: ProductID(try row.string(8)), startsAt: try row.int64(9),
                graceUntil: try row.optionalInt64(10))
        }
    }

    /// Whether a subscription's rights were transferred to a user.
    static func isTransferred(_ source: String, to user: UserID, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT 1 FROM transferred_rights WHERE source = $1 AND user_id = $2", [source, user.rawValue]) != nil
    }
}
