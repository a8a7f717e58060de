import BlobStorage
import Database
import Foundation
import StoreWire

extension ContentLibrary {
    /// The longest reason for a rejection, in bytes.
    static let longestReason = 2000

    /// A version with its history; nil when the identifier is unknown.
    /// - Throws: ``DatabaseError``.
    public func version(_ versionID: UUID) async throws -> HostedVersion? {
        try await database.read { try HostedVersion.find(versionID, $0) }
    }

    /// The products for which hosting was ever turned on or off, with their versions and uploads.
    ///
    /// A nil `bundleID` or `productID` matches all.
    /// - Throws: ``DatabaseError``.
    public func products(of bundleID: BundleID?, _ productID: ProductID? = nil) async throws -> [HostedProduct] {
        try await database.read { try HostedProduct.all(bundleID: bundleID, productID: productID, $0) }.map {
            var product = $0
            product.uploads = product.uploads.map(counted)
            return product
        }
    }

    /// Takes a step with a version. When two steps compete, one succeeds and the other fails with `wrong_state`.
    /// - Throws: ``StoreError`` `unknown_content`, `invalid_request`, `wrong_state`; ``DatabaseError``.
    public func take(_ step: ContentStep, with versionID: UUID, at now: Int64) async throws -> HostedVersion {
        var reason: String?
        if case .reject(let text) = step {
            guard (1...Self.longestReason).contains(text.utf8.count), !text.utf8.contains(0) else {
                throw StoreError(
                    .invalidRequest, "A rejection needs a reason of at most \(Self.longestReason) bytes without a NUL.")
            }
            reason = text
        }
        let why = reason
        let version = try await database.write { [self] connection in
            let version = try Self.take(step, with: versionID, reason: why, at: now, connection)
            if version.state == .removed { try abandon(version.digest, connection) }
            return version
        }
        if version.state == .removed { await removeAtOnce(version.digest) }
        try await refresh(ManagedPart(version.product))
        return version
    }

    /// Takes a step with a version.
    /// - Parameter review: the review rule; nil for the product's own.
    static func take(
        _ step: ContentStep, with versionID: UUID, reason: String?, review: ContentReview? = nil, at now: Int64,
        _ connection: Connection
    ) throws -> HostedVersion {
        guard var version = try HostedVersion.find(versionID, connection) else {
            throw StoreError(.unknownContent, "No version of hosted content has this identifier.")
        }
        if step != .remove, !(try HostedProduct.isHosted(version.product, connection)) {
            throw HostedProduct.off(version.product)
        }
        var machine = ContentStateMachine(state: version.state)
        let states = try machine.take(
            step, review: try review ?? HostedProduct.review(version.product, connection))
        let moments = states.map {
            HostedVersion.Moment(state: $0, date: now, reason: $0 == .rejected ? reason : nil)
        }
        let approvedAt = machine.state == .approved ? now : version.approvedAt
        guard try version.enter(machine.state, approvedAt: approvedAt, connection) else {
            throw StoreError(
                .wrongState, "Another request changed the version at the same moment. Load the version again.")
        }
        try version.record(moments, connection)
        try connection.announce("content", ManagedPart(version.product).detail)
        version.state = machine.state
        version.approvedAt = approvedAt
        version.history += moments
        return version
    }

    // MARK: Hosting and its rules

    /// Turns hosting on or off. Turning it off cancels the product's uploads and removes its versions.
    /// - Throws: ``StoreError`` `wrong_state` when a version was approved already; ``DatabaseError``.
    public func setHosting(_ isOn: Bool, of product: ContentProduct, at now: Int64) async throws {
        try await database.write { connection in
            if !isOn, try HostedVersion.all(of: product, connection).contains(where: { $0.approvedAt != nil }) {
                throw StoreError(
                    .wrongState, "Hosting of \(product.productID) cannot be turned off, because its content was live.")
            }
            try HostedProduct.set(product, isHosted: isOn, at: now, connection)
        }
        try await refresh(ManagedPart(product))
        guard !isOn else { return }
        // Hosting is off now, so nothing more can be uploaded, completed or approved. If the process stops here,
        // turning hosting off again removes the rest.
        let state = try await products(of: product.bundleID, product.productID).first
        for upload in state?.uploads ?? [] where !upload.isSettled {
            try await unless(.unknownContent) { try await cancelUpload(upload.uploadID) }
        }
        for version in state?.versions ?? [] where version.state != .removed {
            try await unless(.wrongState) { _ = try await take(.remove, with: version.versionID, at: now) }
        }
    }

    /// Turns hosting of products on, in one transaction.
    /// - Throws: ``DatabaseError``.
    func host(_ products: [ContentProduct], at now: Int64) async throws {
        guard !products.isEmpty else { return }
        try await database.write { connection in
            for product in products where try HostedProduct.isDecided(product, connection) == nil {
                try HostedProduct.set(product, isHosted: true, in: .app(product.bundleID), at: now, connection)
            }
        }
        try await refresh()
    }

    /// Removes something, unless the error says that another request has removed it meanwhile.
    private func unless(_ code: WireError.Code, _ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as StoreError where error.code == code {}
    }

    /// Whether hosting is on for a product; nil when it was never turned on or off.
    func isDecided(_ product: ContentProduct) async throws -> Bool? {
        try await database.read { try HostedProduct.isDecided(product, $0) }
    }

    /// Sets the review rule for later submissions.
    /// - Parameter productID: the product; nil for all products of the app that have no rule of their own.
    /// - Throws: ``DatabaseError``.
    public func setReview(_ review: ContentReview, of bundleID: BundleID, _ productID: ProductID?) async throws {
        try await database.write { try HostedProduct.setReview(review, of: bundleID, productID, $0) }
    }
}
