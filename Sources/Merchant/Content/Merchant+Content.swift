import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire

extension Merchant {
    /// Keeps a file as the next version of a content item. The same bytes again are the version that is there.
    /// - Parameters:
    ///   - file: closed, and not changed any longer.
    ///   - digest: the file's, as it was found to be.
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

    /// The newest version of a content item, for a user who is entitled to it.
    /// - Throws: ``MerchantError`` `unknown_content`, `not_entitled`.
    public func content(_ item: ContentItemID, for user: UserID) async throws -> ContentVersion {
        try Self.checkName(user.rawValue)
        let now = self.now()
        let (version, isEntitled) = try await database.read { connection in
            (
                try Self.newestVersion(of: item, connection),
                try Rights.has(.content(item), user, at: now, connection)
            )
        }
        // Who is not entitled to it learns nothing of it.
        guard isEntitled else { throw MerchantError(.notEntitled) }
        guard let version else { throw MerchantError(.unknownContent) }
        return version
    }

    /// The newest version of a content item, against evidence of a purchase that gives it. Nothing is redeemed: the app
    /// delivers first, and redeems and finishes when the content is there.
    ///
    /// A purchase that nobody has redeemed is bound to its first user by the download, and each download is counted
    /// (``MerchantPolicy/downloadsBeforeRedemption``). A user who is entitled to the item is not counted.
    /// - Throws: ``MerchantError`` as ``PurchaseVerifier/verify(_:)``, and `not_entitled`, `revoked`, `expired`,
    ///   `already_redeemed`, `download_limit`.
    public func content(
        _ item: ContentItemID, for user: UserID, against evidence: Evidence
    ) async throws -> ContentVersion {
        try Self.checkName(user.rawValue)
        let verified = try await verifier.verify(evidence)
        let now = self.now()
        let plans = try await plans(verified.purchases, at: now).compactMap { item -> RedemptionPlan? in
            if case .plan(let plan) = item { plan } else { nil }
        }.filter { $0.product.grants.contains(.content(item)) }
        guard !plans.isEmpty else { throw MerchantError(.notEntitled) }
        let policy = self.policy
        let (version, isEntitled) = try await database.read { connection in
            (
                try Self.newestVersion(of: item, connection),
                // A user may show an older period's evidence of a subscription that goes on.
                try Rights.has(.content(item), user, at: now, connection)
            )
        }
        if isEntitled {
            guard let version else { throw MerchantError(.unknownContent) }
            return version
        }
        // Decided and counted in one transaction: of two users who come at once only one is the first.
        let obstacle = try await database.write { connection -> MerchantErrorCode? in
            let downloads = EvidenceDownloads(policy: policy, now: now, connection: connection)
            var obstacle: MerchantErrorCode?
            for var plan in plans {
                try plan.recall(connection)
                obstacle = try Self.obstacle(plan, user, policy, at: now, connection)
                if obstacle == nil, version != nil { obstacle = try downloads.count(plan, user) }
                if obstacle == nil { break }
            }
            return obstacle
        }
        if let obstacle { throw MerchantError(obstacle) }
        guard let version else { throw MerchantError(.unknownContent) }
        return version
    }

    /// The newest version of every item.
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

    /// The bytes that any version of any item has, each once.
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

    /// Why a purchase gives a user nothing now; nil when it does, or would when it were redeemed.
    private static func obstacle(
        _ plan: RedemptionPlan, _ user: UserID, _ policy: MerchantPolicy, at now: Int64, _ connection: Connection
    ) throws -> MerchantErrorCode? {
        var plan = plan
        let subscription = try SubscriptionRow.find(of: plan, connection)
        if let subscription { plan.learn(from: subscription, at: now) }
        if let obstacle = plan.obstacle { return obstacle }
        let owner = try Redeemer.owner(of: plan.purchase, subscription, signedIn: user, connection)
        guard owner == user else { return .alreadyRedeemed }
        if policy.conflict == .refuse, let row = subscription, row.userID != user, row.userID != "",
            !(row.isBoughtAnew(by: plan.purchase)
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

    /// Makes sure that content can be delivered as what it is said to be.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public static func check(mediaType: String) throws {
        guard isMediaType(mediaType) else {
            throw MerchantError(.invalidRequest, "The media type is not of the form type/subtype.")
        }
    }

    /// `type/subtype` of RFC 9110's tokens, without parameters.
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
