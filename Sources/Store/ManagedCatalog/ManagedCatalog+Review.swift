import Database
import StoreWire

extension ManagedCatalog {
    /// The longest reason for a rejection, in bytes.
    static let longestReason = 2000
    /// The longest version of an app, in bytes.
    static let longestAppVersion = 100
    /// The author in the history of a decision that the review rule made.
    static let automaticAuthor = "automatic review"

    /// Submits products for review, all or none.
    /// - Parameters:
    ///   - products: the products, each with the revision that is submitted.
    ///   - appVersion: the app's version with which they are submitted; nil for products alone.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `product_not_available`, `invalid_request`,
    ///   `wrong_state` with every product that cannot be submitted; ``DatabaseError``.
    public func submit(
        _ products: [(productID: ProductID, revision: Int64)], of bundleID: BundleID, appVersion: String?,
        by author: String
    ) async throws -> [ManagedProduct] {
        guard (1...CatalogLimits.list).contains(products.count),
            Set(products.map(\.productID)).count == products.count
        else {
            throw StoreError(
                .invalidRequest, "Submit 1 to \(CatalogLimits.list) products at once, each of them once.")
        }
        if let appVersion {
            guard (1...Self.longestAppVersion).contains(appVersion.utf8.count), !appVersion.utf8.contains(0) else {
                throw StoreError(
                    .invalidRequest, "An app's version has 1 to \(Self.longestAppVersion) bytes without a NUL.")
            }
        }
        let now = now
        let productIDs = products.map(\.productID)
        let app = try await changeProducts(productIDs, of: bundleID, by: author) { connection, app in
            var refusals: [String] = []
            var stale: [ManagedProduct] = []
            for (productID, revision) in products {
                do {
                    let product = try Self.current(productID, revision, of: app, connection)
                    try Self.take(
                        .submit, with: product, of: app, appVersion: appVersion, at: now, by: author, connection)
                } catch let error as StaleRevision {
                    stale += error.products
                } catch let error as StoreError where error.code == .wrongState {
                    refusals.append("\(productID): \(error.detail)")
                }
            }
            if !stale.isEmpty { throw StaleRevision(products: stale, owner: app) }
            if !refusals.isEmpty {
                throw StoreError(
                    .wrongState, "Nothing was submitted. " + refusals.prefix(10).joined(separator: " "))
            }
        }
        let submitted = try productIDs.map { try Self.found($0, app) }
        let hosted = submitted.filter { $0.content != nil }.map(\.productID)
        if !hosted.isEmpty { try await library?.refresh(.products(hosted, of: bundleID)) }
        return submitted
    }

    /// Takes a step with a product. When two steps compete, one succeeds and the other fails.
    /// - Parameter revision: the product's revision that the step is about.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `product_not_available`, `invalid_request`,
    ///   `wrong_state`; ``DatabaseError``.
    public func take(
        _ step: ManagedStep, with productID: ProductID, of bundleID: BundleID, revision: Int64, by author: String
    ) async throws -> ManagedProduct {
        if case .reject(let reason) = step {
            guard (1...Self.longestReason).contains(reason.utf8.count), !reason.utf8.contains(0) else {
                throw StoreError(
                    .invalidRequest, "A rejection needs a reason of at most \(Self.longestReason) bytes without a NUL.")
            }
        }
        let now = now
        let app = try await changeProducts([productID], of: bundleID, by: author) { connection, app in
            let product = try Self.current(productID, revision, of: app, connection)
            try Self.take(step, with: product, of: app, appVersion: nil, at: now, by: author, connection)
        }
        let product = try Self.found(productID, app)
        if product.content != nil { try await library?.refresh(.products([productID], of: bundleID)) }
        return product
    }

    private static func take(
        _ step: ManagedStep, with product: ManagedProduct, of app: ManagedApp, appVersion: String?, at now: Int64,
        by author: String, _ connection: Connection
    ) throws {
        var life = product.life
        let states: [ManagedState]
        do {
            states = try life.take(step, review: app.review)
        } catch let error as StoreError where step == .submit && !product.needs.isEmpty {
            throw StoreError(error.code, error.detail + " It needs \(product.needs.joined(separator: ", ")).")
        }
        var after = product
        after.isRemoved = life.isRemoved
        let last = after.versions.count - 1
        after.versions[last].stage = life.stage
        var note: String?
        switch step {
        case .submit:
            after.versions[last].submittedAt = now
            after.versions[last].appVersion = appVersion
            after.versions[last].reason = nil
            note = appVersion.map { "with version \($0) of the app" }
        case .reject(let reason):
            after.versions[last].reason = reason
            note = reason
        default: break
        }
        let isDecided = life.stage != product.newest.stage && (life.stage == .approved || life.stage == .rejected)
        if isDecided { after.versions[last].decidedAt = now }
        guard try ManagedRows.update(after, of: app.bundleID, connection) else {
            throw StaleRevision(products: [product], owner: app)
        }
        if after.newest != product.newest {
            try ManagedRows.save(after.newest, of: after.productID, of: app.bundleID, connection)
        }
        try takeContent(
            step, of: product, app.review, goesLive: isDecided && life.stage == .approved, at: now, connection)
        try ManagedRows.record(
            changes(step, product, states, note, at: now, by: author), of: app.bundleID, connection)
    }

    /// One entry of the history for each state that the product passes through.
    private static func changes(
        _ step: ManagedStep, _ product: ManagedProduct, _ states: [ManagedState], _ note: String?, at now: Int64,
        by author: String
    ) -> [ManagedChange] {
        var before = product.state
        let last = states.count - 1
        return states.enumerated().map { index, state in
            // The review rule takes the steps that follow a submission.
            let isRule = step == .submit && index > 0
            let kind = index == last && step != .submit ? step : index == 0 && step == .submit ? .submit : .beginReview
            let change = ManagedChange(
                productID: product.productID, date: now, author: isRule ? automaticAuthor : author,
                kind: isRule && index == last ? ManagedStep.approve.name : kind.name, before: before.rawValue,
                after: state.rawValue, note: index == (step == .submit ? 0 : last) ? note : nil)
            before = state
            return change
        }
    }

    /// Takes the same step with the product's hosted content, which is reviewed with the product: submits the newest
    /// version that passed the checks, and decides about the one in review. A version that was uploaded during the
    /// review is not part of it.
    /// - Parameter goesLive: whether the step makes the product live, which needs approved content.
    private static func takeContent(
        _ step: ManagedStep, of product: ManagedProduct, _ review: ManagedReview, goesLive: Bool, at now: Int64,
        _ connection: Connection
    ) throws {
        guard let content = product.content else { return }
        var hasApproved = content.versions.contains { $0.state == .approved }
        let version = content.versions.first {
            step == .submit ? $0.state.isTestable : $0.state == .waitingForReview || $0.state == .inReview
        }
        let contentStep: ContentStep? =
            switch (step, version?.state) {
            case (.submit, .readyToSubmit?): .submit
            case (.beginReview, .waitingForReview?): .beginReview
            case (.approve, .waitingForReview?), (.approve, .inReview?): .approve
            case (.reject(let reason), .waitingForReview?), (.reject(let reason), .inReview?): .reject(reason: reason)
            default: nil
            }
        if step == .submit, version?.state == .rejected, !hasApproved {
            throw StoreError(
                .wrongState, "The content of \(product.productID) was rejected. Upload a new version of it first.")
        }
        if let version, let contentStep {
            let reason: String? = if case .reject(let reason) = step { reason } else { nil }
            let taken = try ContentLibrary.take(
                contentStep, with: version.versionID, reason: reason,
                review: review == .automatic ? .automatic : .manual, at: now, connection)
            hasApproved = hasApproved || taken.state == .approved
        }
        guard !goesLive || hasApproved else {
            throw StoreError(
                .wrongState,
                "\(product.productID) has no approved content, so its customers could download nothing. Approve a version "
                    + "of its content first.")
        }
    }
}
