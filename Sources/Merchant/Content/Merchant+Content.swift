import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire

extension Merchant {
    /// Stores a file as the next version of a content item. Returns the newest version when it has the same bytes and
    /// the same media type.
    /// - Parameters:
    ///   - file: the file. It must be closed, and it must not change afterwards.
    ///   - digest: the file's SHA-256, as computed from its bytes.
    /// - Throws: ``MerchantError`` `invalid_request` or `too_large`; ``BlobError``.
    public func addContent(
        _ item: ContentItemID, file: URL, digest: BlobDigest, size: Int64, mediaType: String
    ) async throws -> ContentVersion {
        try Self.checkName(item.rawValue)
        guard size <= MerchantLimits.content else { throw MerchantError(.tooLarge) }
        try Self.check(mediaType: mediaType)
        try await blobs.put(file, as: digest)
        onStep?(.uploadKept)
        let now = self.now()
        return try await commit(.upload) { connection in
            let newest = try Self.newestVersion(of: item, connection)
            if let newest, newest.digest == digest.hexadecimal, newest.mediaType == mediaType { return newest }
            let version = ContentVersion(
                item: item, version: (newest?.version ?? 0) + 1, digest: digest.hexadecimal, size: size,
                mediaType: mediaType, createdAt: now)
            try connection.execute(
                """
                INSERT INTO content_versions (item_id, version, digest, size, media_type, created_at)
                VALUES ($1, $2, $3, $4, $5, $6)
                """,
                [item.rawValue, version.version, version.digest, size, mediaType, now])
            return version
        }
    }

    /// Returns the newest version of a content item to a user who is entitled to it.
    /// - Throws: ``MerchantError`` `unknown_content`, `not_entitled`.
    public func content(_ item: ContentItemID, for user: UserID) async throws -> ContentVersion {
        try Self.checkName(user.rawValue)
        let times = self.times
        let (version, isEntitled) = try await database.read { connection in
            (
                try Self.newestVersion(of: item, connection),
                try Rights.has(.content(item), user, at: times, connection)
            )
        }
        // A user who is not entitled does not learn whether the item exists.
        guard isEntitled else { throw MerchantError(.notEntitled) }
        guard let version else { throw MerchantError(.unknownContent) }
        return version
    }

    /// Returns the newest version of a content item to a user who shows evidence of a purchase that grants it. The
    /// purchase is not redeemed: the app redeems and finishes the transaction after the download.
    ///
    /// The first download binds an unredeemed purchase to its user, and each download is counted
    /// (``MerchantPolicy/downloadsBeforeRedemption``). Downloads of a user who is entitled to the item are not counted.
    /// - Throws: ``MerchantError`` as ``PurchaseVerifier/verify(_:)``, and `not_entitled`, `revoked`, `expired`,
    ///   `already_redeemed`, `download_limit`.
    public func content(
        _ item: ContentItemID, for user: UserID, against evidence: Evidence
    ) async throws -> ContentVersion {
        try Self.checkName(user.rawValue)
        let verified = try await verifier.verify(evidence)
        let times = self.times
        return try await withPlans(of: verified.purchases, at: times) {
            try await content(item, for: user, through: $0, at: times)
        }
    }

    /// Returns the newest version of a content item to a user with purchases that grant it.
    private func content(
        _ item: ContentItemID, for user: UserID, through items: [RedemptionItem], at times: BookTimes
    ) async throws -> ContentVersion {
        let plans = items.compactMap { item -> RedemptionPlan? in
            if case .plan(let plan) = item { plan } else { nil }
        }.filter { $0.grants.contains(.content(item)) }
        guard !plans.isEmpty else { throw MerchantError(.notEntitled) }
        let policy = self.policy
        let (version, isEntitled) = try await database.read { connection in
            (
                try Self.newestVersion(of: item, connection),
                // A user may show evidence of an older period of a subscription that is still active.
                try Rights.has(.content(item), user, at: times, connection)
            )
        }
        if isEntitled {
            guard let version else { throw MerchantError(.unknownContent) }
            return version
        }
        // One transaction decides and counts, so that of two simultaneous users only one is the first.
        let obstacle = try await database.write { connection -> MerchantErrorCode? in
            try Self.checkList(of: items, connection)
            let downloads = EvidenceDownloads(policy: policy, now: times.machine, connection: connection)
            var obstacle: MerchantErrorCode?
            for var plan in plans {
                try plan.recall(connection)
                obstacle = try Self.obstacle(plan, user, policy, at: times, connection)
                if obstacle == nil, version != nil { obstacle = try downloads.count(plan, user) }
                if obstacle == nil { break }
            }
            return obstacle
        }
        if let obstacle { throw MerchantError(obstacle) }
        guard let version else { throw MerchantError(.unknownContent) }
        return version
    }

    /// Returns the newest version of every content item, at most 10,000.
    /// - Throws: ``DatabaseError``.
    public func contentList() async throws -> ContentList {
        try await database.read { connection in
            let rows = try connection.query(
                """
                SELECT item_id, version, digest, size, media_type, created_at FROM content_versions
                WHERE version = (SELECT max(version) FROM content_versions AS others
                    WHERE others.item_id = content_versions.item_id)
                ORDER BY item_id LIMIT 10000
                """)
            return ContentList(items: try rows.map { try ContentVersion($0) })
        }
    }

    /// Returns the digest and size of every stored file, each once.
    /// - Throws: ``DatabaseError``.
    public func contentBlobs() async throws -> [(digest: String, size: Int64)] {
        try await database.read { connection in
            try connection.query("SELECT DISTINCT digest, size FROM content_versions ORDER BY digest")
                .map { (try $0.string(0), try $0.int64(1)) }
        }
    }

    private static func newestVersion(of item: ContentItemID, _ connection: Connection) throws -> ContentVersion? {
        try connection.queryOne(
            """
            SELECT item_id, version, digest, size, media_type, created_at FROM content_versions
            WHERE item_id = $1 ORDER BY version DESC LIMIT 1
            """, [item.rawValue]
        ).map { try ContentVersion($0) }
    }

    /// The reason why a purchase does not grant its product to a user now; nil when it does or would when redeemed.
    private static func obstacle(
        _ plan: RedemptionPlan, _ user: UserID, _ policy: MerchantPolicy, at times: BookTimes, _ connection: Connection
    ) throws -> MerchantErrorCode? {
        var plan = plan
        let now = times[plan.purchase.environment]
        var subscription: SubscriptionRow?
        if plan.kind == .autoRenewableSubscription {
            let key = RedemptionKey.subscription(plan.purchase)
            var row = try SubscriptionRow.find(key, connection) ?? SubscriptionRow(key: key)
            row.facts.merge(plan.facts)
            plan.learn(from: row.facts, policy, at: now)
            if plan.obstacle == nil, let access = row.facts.access(through: plan.key), !access.isUsable(at: now) {
                return access.revokedAt == nil ? .expired : .revoked
            }
            subscription = row
        }
        if let obstacle = plan.obstacle { return obstacle }
        let owner = try PurchaseOwner(of: plan.purchase, plan.key, subscription, .user(user)) {
            try AccountToken.owner($0, connection)
        }
        guard owner == .user(user) else { return .alreadyRedeemed }
        if policy.conflict == .refuse, let row = subscription, row.userID != user, row.userID != "",
            !(row.isBoughtAnew(by: plan.purchase, plan.key)
                && (plan.purchase.names(user) || row.hasAnotherName(than: plan.purchase)))
        {
            return .alreadyRedeemed
        }
        guard let row = try RedemptionRow.find(plan.key.text, connection) else { return nil }
        if row.state == .revoked { return .revoked }
        if row.userID == user || row.userID == "" { return nil }
        for place in plan.key.places(policy.members).dropFirst() {
            if try RedemptionRow.find(place, connection)?.userID == user { return nil }
        }
        return .alreadyRedeemed
    }

    /// Checks that a media type has the form `type/subtype`.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public static func check(mediaType: String) throws {
        guard isMediaType(mediaType) else {
            throw MerchantError(.invalidRequest, "Invalid media type. Expected the form type/subtype.")
        }
    }

    /// Accepts `type/subtype` in the characters of RFC 9110's tokens, without parameters.
    private static func isMediaType(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return text.utf8.count <= 127 && parts.count == 2
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.utf8.allSatisfy { byte in
                        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                            || "!#$&-^_.+".utf8.contains(byte)
                    }
            }
    }
}

extension ContentVersion {
    fileprivate init(_ row: Row) throws {
        self.init(
            item: ContentItemID(try row.string(0)), version: try row.int64(1), digest: try row.string(2),
            size: try row.int64(3), mediaType: try row.string(4), createdAt: try row.int64(5))
    }
}
