import Database
import StoreWire

/// The queries of the managed catalog's tables.
enum ManagedRows {
    // MARK: Apps

    static func bundleIDs(_ connection: Connection) throws -> [BundleID] {
        try connection.query("SELECT bundle_id FROM managed_apps ORDER BY bundle_id").map { BundleID(try $0.string(0)) }
    }

    /// An app without its products; nil when it is not registered.
    static func app(_ bundleID: BundleID, _ connection: Connection) throws -> ManagedApp? {
        guard
            let row = try connection.queryOne(
                "SELECT revision, in_app_purchase, review, document, created_at FROM managed_apps WHERE bundle_id = $1",
                [bundleID.rawValue])
        else { return nil }
        guard let review = ManagedReview(rawValue: try row.string(2)) else { throw unreadable }
        return ManagedApp(
            frame: try ManagedDocument.storedApp(try row.string(3)), revision: try row.int64(0),
            sellsInAppPurchases: try row.bool(1), review: review, createdAt: try row.int64(4),
            products: [])
    }

    /// Registers an app. Returns false when it is registered already.
    static func insert(_ app: ManagedApp, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO managed_apps (bundle_id, revision, changes, in_app_purchase, review, document, created_at)
            VALUES ($1, $2, 0, $3, $4, $5, $6) ON CONFLICT DO NOTHING
            """,
            [
                app.bundleID.rawValue, app.revision, app.sellsInAppPurchases, app.review.rawValue,
                ManagedDocument.stored(app.frame), app.createdAt,
            ]) == 1
    }

    /// Changes an app and increases its revision. Returns false when it has another revision by now.
    static func update(_ app: ManagedApp, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE managed_apps SET revision = revision + 1, in_app_purchase = $3, review = $4, document = $5
            WHERE bundle_id = $1 AND revision = $2
            """,
            [
                app.bundleID.rawValue, app.revision, app.sellsInAppPurchases, app.review.rawValue,
                ManagedDocument.stored(app.frame),
            ]) == 1
    }

    // MARK: Products

    /// The products of an app in their order, without deleted ones.
    /// - Parameter productID: the only product to read; nil for all.
    static func products(
        of bundleID: BundleID, _ productID: ProductID?, _ connection: Connection
    ) throws -> [ManagedProduct] {
        let arguments: [any SQLConvertible] = [bundleID.rawValue, productID?.rawValue]
        var versions: [ProductID: [ManagedVersion]] = [:]
        for row in try connection.query(
            """
            SELECT product_id, version, state, texts, reason, app_version, created_at, submitted_at, decided_at
            FROM managed_versions WHERE bundle_id = $1 AND (CAST($2 AS TEXT) IS NULL OR product_id = $2)
            ORDER BY product_id, version
            """, arguments)
        {
            versions[ProductID(try row.string(0)), default: []].append(try ManagedVersion(row))
        }
        let hosted = try HostedProduct.all(bundleID: bundleID, productID: productID, connection).filter(\.isHosted)
        let contents = Dictionary(hosted.map { ($0.product.productID, $0) }, uniquingKeysWith: { first, _ in first })
        return try connection.query(
            """
            SELECT product_id, place, revision, is_priced, is_removed, document, created_at FROM managed_products
            WHERE bundle_id = $1 AND (CAST($2 AS TEXT) IS NULL OR product_id = $2) AND deleted_at IS NULL
            ORDER BY place, product_id
            """, arguments
        ).map { row in
            let productID = ProductID(try row.string(0))
            guard let versions = versions[productID], !versions.isEmpty else { throw unreadable }
            return ManagedProduct(
                base: try ManagedDocument.storedProduct(try row.string(5)), place: try row.int64(1),
                revision: try row.int64(2), isPriced: try row.bool(3), isRemoved: try row.bool(4),
                createdAt: try row.int64(6), versions: versions, content: contents[productID])
        }
    }

    /// The number of products, with deleted ones, and the last place in the list.
    static func extent(of bundleID: BundleID, _ connection: Connection) throws -> (count: Int, last: Int64) {
        let row = try connection.queryOne(
            "SELECT COUNT(*), COALESCE(MAX(place), 0) FROM managed_products WHERE bundle_id = $1", [bundleID.rawValue])
        return (try row?.int(0) ?? 0, try row?.int64(1) ?? 0)
    }

    /// Inserts a product with its versions. Returns false when the app has, or had, a product with this id.
    static func insert(_ product: ManagedProduct, of bundleID: BundleID, _ connection: Connection) throws -> Bool {
        let inserted = try connection.execute(
            """
            INSERT INTO managed_products (bundle_id, product_id, place, revision, is_priced, is_removed, document,
                created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING
            """,
            [
                bundleID.rawValue, product.productID.rawValue, product.place, product.revision, product.isPriced,
                product.isRemoved, ManagedDocument.stored(product.base, of: bundleID), product.createdAt,
            ])
        guard inserted == 1 else { return false }
        for version in product.versions { try save(version, of: product.productID, of: bundleID, connection) }
        return true
    }

    /// Changes a product and increases its revision. Returns false when it has another revision by now.
    static func update(_ product: ManagedProduct, of bundleID: BundleID, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE managed_products SET revision = revision + 1, is_priced = $4, is_removed = $5, document = $6
            WHERE bundle_id = $1 AND product_id = $2 AND revision = $3 AND deleted_at IS NULL
            """,
            [
                bundleID.rawValue, product.productID.rawValue, product.revision, product.isPriced, product.isRemoved,
                ManagedDocument.stored(product.base, of: bundleID),
            ]) == 1
    }

    /// Deletes a product; its row stays. Returns false when it has another revision by now.
    static func delete(
        _ product: ManagedProduct, of bundleID: BundleID, at now: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE managed_products SET revision = revision + 1, deleted_at = $4
            WHERE bundle_id = $1 AND product_id = $2 AND revision = $3 AND deleted_at IS NULL
            """, [bundleID.rawValue, product.productID.rawValue, product.revision, now]) == 1
    }

    /// Inserts or changes a version.
    static func save(
        _ version: ManagedVersion, of productID: ProductID, of bundleID: BundleID, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO managed_versions (bundle_id, product_id, version, state, texts, reason, app_version, created_at,
                submitted_at, decided_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (bundle_id, product_id, version) DO UPDATE SET state = excluded.state, texts = excluded.texts,
                reason = excluded.reason, app_version = excluded.app_version, submitted_at = excluded.submitted_at,
                decided_at = excluded.decided_at
            """,
            [
                bundleID.rawValue, productID.rawValue, version.number, version.stage.rawValue,
                ManagedDocument.stored(version.texts), version.reason, version.appVersion, version.createdAt,
                version.submittedAt, version.decidedAt,
            ])
    }

    // MARK: History

    /// Appends changes to an app's history.
    static func record(_ changes: [ManagedChange], of bundleID: BundleID, _ connection: Connection) throws {
        guard !changes.isEmpty,
            let row = try connection.queryOne(
                "UPDATE managed_apps SET changes = changes + $2 WHERE bundle_id = $1 RETURNING changes",
                [bundleID.rawValue, changes.count])
        else { return }
        let first = try row.int64(0) - Int64(changes.count) + 1
        for (index, change) in changes.enumerated() {
            try connection.execute(
                """
                INSERT INTO managed_changes (bundle_id, change_number, product_id, changed_at, author, kind, old_value,
                    new_value, note)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                """,
                [
                    bundleID.rawValue, first + Int64(index), change.productID?.rawValue, change.date, change.author,
                    change.kind, change.before, change.after, change.note,
                ])
        }
    }

    /// The changes of an app, newest first.
    static func changes(
        of bundleID: BundleID, _ productID: ProductID?, before: Int64?, limit: Int, _ connection: Connection
    ) throws -> [ManagedChange] {
        try connection.query(
            """
            SELECT change_number, product_id, changed_at, author, kind, old_value, new_value, note FROM managed_changes
            WHERE bundle_id = $1 \(productID == nil ? "AND CAST($2 AS TEXT) IS NULL" : "AND product_id = $2")
                AND change_number < $3
            ORDER BY change_number DESC LIMIT $4
            """, [bundleID.rawValue, productID?.rawValue, before ?? Int64.max, limit]
        ).map { row in
            ManagedChange(
                number: try row.int64(0), productID: try row.optionalString(1).map { ProductID($0) },
                date: try row.int64(2), author: try row.string(3), kind: try row.string(4),
                before: try row.optionalString(5), after: try row.optionalString(6), note: try row.optionalString(7))
        }
    }

    // MARK: The checklist

    /// All items, also those that were never changed.
    static func checklist(_ connection: Connection) throws -> [ManagedChecklistItem] {
        var items = ManagedChecklistItem.Name.allCases.map { ManagedChecklistItem(name: $0) }
        for row in try connection.query("SELECT item, is_required, done_at, done_by FROM managed_checklist") {
            let name = try row.string(0)
            guard let index = items.firstIndex(where: { $0.name.rawValue == name }) else { throw unreadable }
            items[index].isRequired = try row.bool(1)
            if let date = try row.optionalInt64(2), let author = try row.optionalString(3) {
                items[index].done = .init(date: date, author: author)
            }
        }
        return items
    }

    static func save(_ item: ManagedChecklistItem, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO managed_checklist (item, is_required, done_at, done_by) VALUES ($1, $2, $3, $4)
            ON CONFLICT (item) DO UPDATE SET is_required = excluded.is_required, done_at = excluded.done_at,
                done_by = excluded.done_by
            """, [item.name.rawValue, item.isRequired, item.done?.date, item.done?.author])
    }

    private static let unreadable = StoreError(
        .internalError, "The tables of the managed catalog have a row that this program cannot read.")
}

extension ManagedVersion {
    /// Reads the columns from `version` on, which is the second.
    fileprivate init(_ row: Row) throws {
        guard let stage = ManagedStage(rawValue: try row.string(2)) else {
            throw StoreError(.internalError, "The database has a managed product that this program cannot read.")
        }
        self.init(
            number: try row.int64(1), stage: stage, texts: try ManagedDocument.storedTexts(try row.string(3)),
            reason: try row.optionalString(4), appVersion: try row.optionalString(5), createdAt: try row.int64(6),
            submittedAt: try row.optionalInt64(7), decidedAt: try row.optionalInt64(8))
    }
}
