import CornerstoreEncoding
import Database
import StoreWire

/// Later renewal dates, for one subscription or for all of a product.
extension ServerAPI {
    /// Answers `PUT /inApps/v1/subscriptions/extend/{originalTransactionId}`: extends one subscription at once. A
    /// request with a `requestIdentifier` that extended this subscription before has the same answer, and changes
    /// nothing.
    /// - Parameter body: `{"extendByDays": 1 to 90, "extendReasonCode": 0 to 3, "requestIdentifier": "…"}`. The
    ///   identifier has 1 to 128 characters. Other members are ignored.
    /// - Returns: `originalTransactionId`, `webOrderLineItemId`, `success` and `effectiveDate`, the new end of the
    ///   period in milliseconds since 1970.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func extend(
        _ originalTransactionID: String, _ body: [UInt8], of bundleID: BundleID
    ) async throws -> [UInt8] {
        guard let members = try? FlatJSONObject(body) else { throw APIError.badRequest }
        let terms = try ExtensionTerms(members)
        let original = try await subscription(originalTransactionID, of: bundleID)
        let made: RequestedExtension
        do {
            made = try await store.extend(original, terms)
        } catch let obstacle as ExtensionObstacle {
            throw obstacle.apiError
        } catch let error as StoreError where error.code == .unknownTransaction {
            throw APIError.originalTransactionNotFound
        }
        let period = try await store.database.read { try Transactions.find(made.transactionID, $0) }
        var json = JSONBytes(capacity: 256)
        json.beginObject()
        json.member("originalTransactionId", made.originalTransactionID.description)
        if let id = period?.webOrderLineItemID { json.member("webOrderLineItemId", quotedNumber: id) }
        json.member("success", true)
        json.member("effectiveDate", number: made.effectiveDate)
        json.endObject()
        return json.bytes
    }

    /// The original transaction of an app's subscription that can be extended directly.
    private func subscription(_ text: String, of bundleID: BundleID) async throws -> TransactionID {
        guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text), number > 0
        else { throw APIError.invalidOriginalTransactionID }
        let id = TransactionID(rawValue: number)
        guard let found = try await store.database.read({ try Transactions.find(id, $0) }), found.bundleID == bundleID
        else { throw APIError.originalTransactionNotFound }
        guard found.transactionID == found.originalTransactionID else { throw APIError.notOriginal }
        let isSubscription = found.kind == .autoRenewableSubscription
        guard found.sharedFrom == nil else {
            throw isSubscription ? APIError.familyExtensionIneligible : APIError.familyShared
        }
        guard isSubscription else { throw APIError.invalidOriginalTransactionID }
        return id
    }

    // MARK: All subscriptions of a product

    /// Answers `POST /inApps/v1/subscriptions/extend/mass`: accepts a request to extend all active subscriptions of a
    /// product. The store carries it out afterwards, and tells of each subscription and of the end with
    /// `RENEWAL_EXTENDED` and `RENEWAL_EXTENSION`. A request with a `requestIdentifier` that was accepted for the
    /// product before changes nothing.
    /// - Parameter body: the members of ``extend(_:_:of:)``, `productId`, and `storefrontCountryCodes`: ISO 3166-1
    ///   alpha-3 codes, or no member for all storefronts. Other members are ignored.
    /// - Returns: `requestIdentifier`, as it was sent.
    /// - Throws: ``APIError``; ``StoreError`` `unavailable` when too many requests of the app are not complete;
    ///   ``DatabaseError``.
    public func extendAll(_ body: [UInt8], of bundleID: BundleID) async throws -> [UInt8] {
        guard let members = try? FlatJSONObject(body) else { throw APIError.badRequest }
        let terms = try ExtensionTerms(members)
        guard let text = try? members.string("productId"),
            store.catalog.value.product(ProductID(text), of: bundleID)?.kind == .autoRenewableSubscription
        else { throw APIError.invalidProductID }
        try await store.accept(
            MassExtensionRequest(
                bundleID: bundleID, productID: ProductID(text), terms: terms,
                storefronts: try Self.storefronts(members), acceptedAt: store.clock.milliseconds))
        var json = JSONBytes(capacity: 256)
        json.beginObject()
        json.member("requestIdentifier", terms.identifier.text)
        json.endObject()
        return json.bytes
    }

    /// The storefronts of a request, each once; nil for all.
    private static func storefronts(_ members: FlatJSONObject) throws -> [String]? {
        let listed: [String]?
        do {
            listed = try members.strings("storefrontCountryCodes")
        } catch {
            throw APIError.invalidStorefrontCountryCode
        }
        guard let codes = listed else { return nil }
        guard !codes.isEmpty else { throw APIError.emptyStorefrontCountryCodes }
        guard codes.allSatisfy({ Storefront.named($0) != nil }) else { throw APIError.invalidStorefrontCountryCode }
        var seen: Set<String> = []
        return codes.filter { seen.insert($0).inserted }
    }

    /// Answers `GET /inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}`.
    /// - Parameters:
    ///   - productID: the path's product identifier, without percent-encoding.
    ///   - request: the path's `requestIdentifier`, without percent-encoding. A UUID can have another case than in the
    ///     request.
    /// - Returns: `requestIdentifier`, as the path has it, and `complete`. A complete request also has `completeDate`
    ///   in milliseconds since 1970, `succeededCount` and `failedCount`.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func extensionStatus(
        of productID: String, request: String, of bundleID: BundleID
    ) async throws -> [UInt8] {
        let productID = ProductID(productID)
        guard productID.isPlain else { throw APIError.invalidProductID }
        guard let identifier = ExtensionIdentifier(request) else { throw APIError.invalidRequestIdentifier }
        guard
            let found = try await store.database.read({
                try MassExtensions.find(identifier, for: productID, in: bundleID, $0)
            })
        else { throw APIError.extensionRequestNotFound }
        var json = JSONBytes(capacity: 256)
        json.beginObject()
        json.member("requestIdentifier", identifier.text)
        json.member("complete", found.completedAt != nil)
        if let date = found.completedAt {
            json.member("completeDate", number: date)
            json.member("succeededCount", number: Int64(found.succeeded))
            json.member("failedCount", number: Int64(found.failed))
        }
        json.endObject()
        return json.bytes
    }
}

extension ExtensionObstacle {
    /// Apple's error.
    fileprivate var apiError: APIError {
        switch self {
        case .notActive, .freePeriod: .extensionIneligible
        case .extendedOften: .extendedOften
        }
    }
}
