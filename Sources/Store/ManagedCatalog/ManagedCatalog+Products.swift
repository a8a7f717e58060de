import Database
import StoreWire

extension ManagedCatalog {
    /// Creates a product: its type, then its id, which no other product of the app can ever have.
    /// - Parameters:
    ///   - kind: the type. It never changes.
    ///   - groupID: the subscription's group; nil for other types.
    ///   - document: the product's other keys in a YAML catalog.
    /// - Throws: ``StoreError`` `unknown_app`, `invalid_request`, `wrong_state` when the id was used before;
    ///   ``DatabaseError``.
    public func createProduct(
        _ productID: ProductID, _ kind: ProductKind, in groupID: SubscriptionGroupID?, of bundleID: BundleID,
        document: JSONValue, by author: String
    ) async throws -> ManagedProduct {
        try check(groupID, kind, of: try app(bundleID))
        let (described, isPriced) = try ManagedDocument.product(document, productID, kind, in: groupID)
        if described.isHosted { try await checkWasNotSold(productID, of: bundleID) }
        let now = now
        let app = try await changeProducts([productID], of: bundleID, by: author) { connection, app in
            if let groupID { try Self.check(groupID, of: app) }
            let extent = try ManagedRows.extent(of: bundleID, connection)
            let product = ManagedProduct(
                described, isPriced: isPriced, place: extent.last + 1, stage: .preparing, at: now)
            try Self.insert(product, of: bundleID, after: extent.count, connection)
            if described.isHosted { try Self.host(product, of: bundleID, at: now, connection) }
            let change = ManagedChange(
                productID: productID, date: now, author: author, kind: "create",
                after: ManagedDocument.text(of: described, isPriced: isPriced))
            try ManagedRows.record([change], of: bundleID, connection)
        }
        if described.isHosted { try await library?.refresh(.products([productID], of: bundleID)) }
        return try Self.found(productID, app)
    }

    /// Changes a product. A change of an approved version's texts begins a new version, which goes through review while
    /// the old texts stay live.
    /// - Parameters:
    ///   - revision: the product's revision that the change is about.
    ///   - keys: keys of the product in a YAML catalog and their new values; null removes a key.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `product_not_available`, `invalid_request`,
    ///   `wrong_state`; ``DatabaseError``.
    public func changeProduct(
        _ productID: ProductID, of bundleID: BundleID, revision: Int64, keys: JSONValue, by author: String
    ) async throws -> ManagedProduct {
        if case .object(let members) = keys, members["hosted"] == .bool(true),
            try product(productID, of: bundleID).content == nil
        {
            try await checkWasNotSold(productID, of: bundleID)
        }
        let now = now
        let hadContent = try product(productID, of: bundleID).content != nil
        let app = try await changeProducts([productID], of: bundleID, by: author) { connection, app in
            let before = try Self.current(productID, revision, of: app, connection)
            let value = try ManagedDocument.replacing(
                ManagedDocument.value(of: before.product, isPriced: before.isPriced), with: keys)
            let (described, isPriced) = try ManagedDocument.product(
                value, productID, before.base.kind, in: before.base.subscription?.groupID)
            try Self.change(before, to: described, isPriced: isPriced, of: app, at: now, by: author, connection)
        }
        let changed = try Self.found(productID, app)
        if let library, hadContent != (changed.content != nil) {
            if hadContent {
                // Cancels the uploads and removes the versions, which nobody has bought.
                try await library.setHosting(false, of: ContentProduct(productID, of: bundleID), at: now)
            } else {
                try await library.refresh(.products([productID], of: bundleID))
            }
        }
        return changed
    }

    /// Deletes a product for good. The store keeps its id, and customers keep what they bought.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `product_not_available`, `wrong_state` during a
    ///   review; ``DatabaseError``.
    public func deleteProduct(
        _ productID: ProductID, of bundleID: BundleID, revision: Int64, by author: String
    ) async throws {
        let now = now
        let content = ContentProduct(productID, of: bundleID)
        _ = try await changeProducts([productID], of: bundleID, by: author) { connection, app in
            let before = try Self.current(productID, revision, of: app, connection)
            // Content that was live stays for its buyers.
            if before.content?.wasLive == false {
                try HostedProduct.set(content, isHosted: false, at: now, connection)
            }
            var life = before.life
            _ = try life.take(.delete, review: app.review)
            guard try ManagedRows.delete(before, of: bundleID, at: now, connection) else {
                throw StaleRevision(products: [before], owner: app)
            }
            let change = ManagedChange(
                productID: productID, date: now, author: author, kind: "delete",
                before: ManagedDocument.text(of: before.product, isPriced: before.isPriced))
            try ManagedRows.record([change], of: bundleID, connection)
        }
        // Cancels the uploads and removes the versions, which nobody has bought.
        if let library, try await library.isDecided(content) == false {
            try await library.setHosting(false, of: content, at: now)
        }
    }

    /// Turns hosting on or off, as ``changeProduct(_:of:revision:keys:by:)`` does with the newest revision.
    /// - Throws: ``StoreError`` `stale_revision` when another change is faster, and as that function.
    func setHosting(_ isOn: Bool, of product: ContentProduct, by author: String) async throws {
        let before = try self.product(product.productID, of: product.bundleID)
        do {
            _ = try await changeProduct(
                product.productID, of: product.bundleID, revision: before.revision,
                keys: .object(["hosted": .bool(isOn)]), by: author)
        } catch is StaleRevision {
            throw StoreError(
                .staleRevision,
                "Another editor has changed \(product.productID) at the same moment. Look at it again, then repeat the request."
            )
        }
        // Removes what is left when an earlier request was interrupted.
        if !isOn, before.content == nil { try await library?.setHosting(false, of: product, at: now) }
    }

    // MARK: Parts of changes

    /// The product as the database has it.
    /// - Throws: ``StaleRevision`` when it has another revision; ``StoreError`` `product_not_available`.
    static func current(
        _ productID: ProductID, _ revision: Int64, of app: ManagedApp, _ connection: Connection
    ) throws -> ManagedProduct {
        guard let product = try ManagedRows.products(of: app.bundleID, productID, connection).first else {
            throw unknown(productID, of: app.bundleID)
        }
        guard product.revision == revision else { throw StaleRevision(products: [product], owner: app) }
        return product
    }

    /// Writes a product's new description.
    /// - Returns: whether anything was changed.
    @discardableResult
    static func change(
        _ before: ManagedProduct, to described: CatalogProduct, isPriced: Bool, of app: ManagedApp, at now: Int64,
        by author: String, _ connection: Connection
    ) throws -> Bool {
        var after = before
        after.base = described
        after.base.localizations = []
        after.base.isHosted = before.base.isHosted
        after.base.itemID = before.base.itemID
        after.isPriced = isPriced
        let texts = described.localizations
        if texts != before.newest.texts {
            var life = before.life
            _ = try life.take(.edit, review: app.review)
            if before.newest.stage == .approved {
                after.versions.append(
                    ManagedVersion(number: before.newest.number + 1, stage: .preparing, texts: texts, createdAt: now))
            } else {
                after.versions[after.versions.count - 1].texts = texts
                after.versions[after.versions.count - 1].stage = .preparing
            }
        }
        let isHosted = before.content != nil
        guard after != before || described.isHosted != isHosted else { return false }
        guard isPriced || before.newest.stage == .preparing && !before.wasLive else {
            throw StoreError(
                .wrongState, "\(before.productID) was submitted with a price; give it another one, but keep a price.")
        }
        guard described.isFamilyShareable || !before.base.isFamilyShareable || !before.wasLive else {
            throw StoreError(
                .wrongState,
                "Family Sharing of \(before.productID) cannot be turned off, because the product was live with it.")
        }
        guard try ManagedRows.update(after, of: app.bundleID, connection) else {
            throw StaleRevision(products: [before], owner: app)
        }
        if after.newest != before.newest {
            try ManagedRows.save(after.newest, of: after.productID, of: app.bundleID, connection)
        }
        if described.isHosted != isHosted {
            try setHosting(described.isHosted, of: before, of: app.bundleID, at: now, connection)
        }
        let change = ManagedChange(
            productID: before.productID, date: now, author: author, kind: ManagedStep.edit.name,
            before: ManagedDocument.text(of: before.product, isPriced: before.isPriced),
            after: ManagedDocument.text(of: described, isPriced: isPriced))
        try ManagedRows.record([change], of: app.bundleID, connection)
        return true
    }

    /// Inserts a new product.
    /// - Parameter count: the number of products that the app has, with deleted ones.
    /// - Throws: ``StoreError`` `wrong_state` when the id was used before.
    static func insert(
        _ product: ManagedProduct, of bundleID: BundleID, after count: Int, _ connection: Connection
    ) throws {
        guard count < mostProducts else {
            throw StoreError(
                .wrongState, "\(bundleID) has had \(mostProducts) products, with deleted ones; it can have no more.")
        }
        guard try ManagedRows.insert(product, of: bundleID, connection) else {
            throw StoreError(
                .wrongState,
                "\(product.productID) is, or was, the id of another product of \(bundleID). An id is never used again, also after "
                    + "its product was deleted; choose another.")
        }
    }

    /// Turns hosting on for a new product.
    /// - Parameter part: what other processes read again; nil for the product alone.
    static func host(
        _ product: ManagedProduct, of bundleID: BundleID, in part: ManagedPart? = nil, at now: Int64,
        _ connection: Connection
    ) throws {
        try HostedProduct.set(
            ContentProduct(product.productID, of: bundleID), isHosted: true, in: part, at: now, connection)
    }

    private static func setHosting(
        _ isOn: Bool, of product: ManagedProduct, of bundleID: BundleID, at now: Int64, _ connection: Connection
    ) throws {
        try checkHosting(isOn, of: product)
        if !isOn, product.content?.wasLive == true {
            throw StoreError(
                .wrongState, "Hosting of \(product.productID) cannot be turned off, because its content was live.")
        }
        try HostedProduct.set(
            ContentProduct(product.productID, of: bundleID), isHosted: isOn, at: now, connection)
    }

    /// Checks that a product's hosting may change: only before it goes live.
    static func checkHosting(_ isOn: Bool, of product: ManagedProduct) throws {
        guard product.wasLive else { return }
        throw StoreError(
            .wrongState,
            "\(product.productID) was approved, so hosting cannot be turned \(isOn ? "on" : "off") any more. It is only for new products."
        )
    }

    /// Checks that production never sold a product, whose hosting is to be turned on.
    private func checkWasNotSold(_ productID: ProductID, of bundleID: BundleID) async throws {
        if try await production.hasSold(ContentProduct(productID, of: bundleID)) { throw Self.wasSold(productID) }
    }

    /// The error of a product that was sold without content and is to be hosted.
    static func wasSold(_ productID: ProductID) -> StoreError {
        StoreError(
            .wrongState,
            "\(productID) has been sold. Hosting is only for new products: earlier customers would have nothing to download."
        )
    }

    private func check(_ groupID: SubscriptionGroupID?, _ kind: ProductKind, of app: ManagedApp) throws {
        guard (kind == .autoRenewableSubscription) == (groupID != nil) else {
            throw StoreError(
                .invalidRequest,
                groupID == nil
                    ? "An auto-renewable subscription needs a group (“groupId”)."
                    : "Only an auto-renewable subscription has a group.")
        }
        if let groupID { try Self.check(groupID, of: app) }
    }

    private static func check(_ groupID: SubscriptionGroupID, of app: ManagedApp) throws {
        guard app.frame.group(groupID) == nil else { return }
        let known = app.frame.groups.map(\.id.rawValue).joined(separator: ", ")
        throw StoreError(
            .invalidRequest,
            "\(app.bundleID) has no subscription group \(groupID.rawValue.prefix(255)). "
                + (known.isEmpty ? "Create the group first." : "It has \(known)."))
    }

    static func found(_ productID: ProductID, _ app: ManagedApp) throws -> ManagedProduct {
        guard let product = app.product(productID) else { throw unknown(productID, of: app.bundleID) }
        return product
    }
}

extension ManagedProduct {
    /// A new product. Its hosting is not on yet.
    init(_ described: CatalogProduct, isPriced: Bool, place: Int64, stage: ManagedStage, at now: Int64) {
        var base = described
        base.localizations = []
        base.isHosted = false
        self.init(
            base: base, place: place, revision: 1, isPriced: isPriced, isRemoved: false, createdAt: now,
            versions: [
                ManagedVersion(
                    number: 1, stage: stage, texts: described.localizations, createdAt: now,
                    decidedAt: stage == .approved ? now : nil)
            ], content: nil)
    }
}
