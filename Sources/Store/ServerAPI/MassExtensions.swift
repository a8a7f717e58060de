import CornerstoreEncoding
import Database
import StoreWire

/// A request to extend all active subscriptions of a product, with its progress.
struct MassExtensionRequest: Sendable, Equatable {
    /// The app's bundle identifier.
    let bundleID: BundleID
    /// The subscription product.
    let productID: ProductID
    /// The terms of the request.
    let terms: ExtensionTerms
    /// The storefronts of the periods that are extended, ISO 3166-1 alpha-3; nil for all.
    let storefronts: [String]?
    /// When the request was accepted, in milliseconds since 1970 by the store's clock. Periods are extended as of this
    /// date.
    let acceptedAt: Int64
    /// The first transaction of the last subscription that is done. The subscriptions are done in the order of their
    /// first transactions.
    var last = TransactionID(rawValue: 0)
    /// The number of subscriptions that were extended.
    var succeeded = 0
    /// The number of active subscriptions that cannot be extended.
    var failed = 0
    /// When all subscriptions were done, in milliseconds since 1970; nil before.
    var completedAt: Int64?
}

extension MassExtensionRequest {
    /// Whether the request still has to come to a subscription, and extends it if it can. Storefronts are not checked.
    func awaits(_ subscription: Subscription) -> Bool {
        completedAt == nil && subscription.state == .active && subscription.bundleID == bundleID
            && subscription.productID == productID && subscription.originalTransactionID > last
            && subscription.originalPurchaseDate <= acceptedAt
    }

    /// Whether the last period of a subscription is a renewal or was bought before the request was accepted, and was
    /// sold in one of its storefronts.
    func includesPeriod(of subscription: Subscription, _ connection: Connection) throws -> Bool {
        guard let period = try Transactions.find(subscription.transactionID, connection) else {
            return storefronts == nil
        }
        return (period.isRenewal || period.purchaseDate <= acceptedAt)
            && (storefronts?.contains(period.storefront) ?? true)
    }

    /// The news that the request is complete, as JSON: the member `summary` with the members of Apple's `summary`.
    /// - Parameter appID: the app's Apple ID, which the sandbox omits.
    func summary(_ environment: StoreEnvironment, appID: Int64?) -> String {
        var json = JSONBytes(capacity: 1_024)
        json.beginObject()
        json.beginObject("summary")
        json.member("requestIdentifier", terms.identifier.text)
        json.member("environment", environment.signedName)
        if environment == .production, let appID { json.member("appAppleId", number: appID) }
        json.member("bundleId", bundleID.rawValue)
        json.member("productId", productID.rawValue)
        if let storefronts {
            json.beginArray("storefrontCountryCodes")
            for code in storefronts { json.element(code) }
            json.endArray()
        }
        json.member("succeededCount", number: Int64(succeeded))
        json.member("failedCount", number: Int64(failed))
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

/// An extension that a request has to make before anything else happens to a subscription.
struct PendingExtension: Sendable {
    /// The subscription as it was read.
    let subscription: Subscription
    /// The request as it was read.
    let request: MassExtensionRequest
}

/// The table `mass_extensions`: the requests to extend all subscriptions of a product.
enum MassExtensions {
    private static let columns = """
        bundle_id, product_id, request_id, request_identifier, days, reason, storefronts, accepted_at, \
        last_original_id, succeeded, failed, completed_at
        """

    /// The request with an identifier for a product; nil when there is none.
    static func find(
        _ identifier: ExtensionIdentifier, for productID: ProductID, in bundleID: BundleID, _ connection: Connection
    ) throws -> MassExtensionRequest? {
        try connection.queryOne(
            "SELECT \(columns) FROM mass_extensions WHERE bundle_id = $1 AND product_id = $2 AND request_id = $3",
            [bundleID.rawValue, productID.rawValue, identifier.key]
        ).map { try MassExtensionRequest($0) }
    }

    /// A request as it is now; nil when it was not accepted.
    static func find(_ request: MassExtensionRequest, _ connection: Connection) throws -> MassExtensionRequest? {
        try find(request.terms.identifier, for: request.productID, in: request.bundleID, connection)
    }

    /// The first request that is not complete and was accepted by a date; nil when all are complete.
    static func next(at date: Int64, _ connection: Connection) throws -> MassExtensionRequest? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM mass_extensions WHERE completed_at IS NULL AND accepted_at <= $1
            ORDER BY accepted_at, bundle_id, product_id, request_id LIMIT 1
            """, [date]
        ).map { try MassExtensionRequest($0) }
    }

    /// When the first request that is not complete was accepted; nil when all are complete.
    static func nextDate(_ connection: Connection) throws -> Int64? {
        try connection.queryOne("SELECT min(accepted_at) FROM mass_extensions WHERE completed_at IS NULL", [])?
            .optionalInt64(0)
    }

    /// The number of requests that are not complete, of an app or of one product.
    static func countOpen(
        in bundleID: BundleID, of productID: ProductID? = nil, _ connection: Connection
    ) throws -> Int {
        try connection.queryOne(
            """
            SELECT count(*) FROM mass_extensions
            WHERE completed_at IS NULL AND bundle_id = $1 AND (CAST($2 AS TEXT) IS NULL OR product_id = $2)
            """, [bundleID.rawValue, productID?.rawValue])?.int(0) ?? 0
    }

    /// The requests of a product that are not complete and were accepted by a date, in their order.
    private static func open(
        for productID: ProductID, in bundleID: BundleID, at date: Int64, _ connection: Connection
    ) throws -> [MassExtensionRequest] {
        try connection.query(
            """
            SELECT \(columns) FROM mass_extensions
            WHERE completed_at IS NULL AND accepted_at <= $1 AND bundle_id = $2 AND product_id = $3
            ORDER BY accepted_at, request_id
            """, [date, bundleID.rawValue, productID.rawValue]
        ).map { try MassExtensionRequest($0) }
    }

    /// The extensions that come next for subscriptions: of each, the first request that has not come to it and was
    /// accepted before what is due for it.
    /// - Parameter date: the last date of a request.
    static func pending(
        for subscriptions: [Subscription], at date: Int64, _ connection: Connection
    ) throws -> [PendingExtension] {
        guard !subscriptions.isEmpty, let first = try nextDate(connection), first <= date else { return [] }
        var known: [Product: [MassExtensionRequest]] = [:]
        return try subscriptions.compactMap { subscription in
            let product = Product(bundleID: subscription.bundleID, productID: subscription.productID)
            let requests =
                try known[product] ?? open(for: product.productID, in: product.bundleID, at: date, connection)
            known[product] = requests
            let found = try requests.first { request in
                guard request.awaits(subscription), request.acceptedAt < (subscription.dueAt ?? .max) else {
                    return false
                }
                return try request.includesPeriod(of: subscription, connection)
                    && !EarlyExtensions.contain(subscription.originalTransactionID, of: request, connection)
            }
            return found.map { PendingExtension(subscription: subscription, request: $0) }
        }
    }

    private struct Product: Hashable {
        let bundleID: BundleID
        let productID: ProductID
    }

    /// Writes a request with its progress.
    static func save(_ request: MassExtensionRequest, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO mass_extensions (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            ON CONFLICT (bundle_id, product_id, request_id) DO UPDATE SET
                last_original_id = excluded.last_original_id, succeeded = excluded.succeeded, failed = excluded.failed,
                completed_at = excluded.completed_at
            """,
            [
                .text(request.bundleID.rawValue), .text(request.productID.rawValue),
                .text(request.terms.identifier.key), .text(request.terms.identifier.text),
                .integer(Int64(request.terms.days)), .integer(request.terms.reason),
                SQLValue(request.storefronts?.joined(separator: " ")), .integer(request.acceptedAt),
                .integer(request.last.rawValue), .integer(Int64(request.succeeded)), .integer(Int64(request.failed)),
                SQLValue(request.completedAt),
            ] as [SQLValue])
    }
}

extension MassExtensionRequest {
    fileprivate init(_ row: Row) throws {
        self.init(
            bundleID: BundleID(try row.string(0)), productID: ProductID(try row.string(1)),
            terms: ExtensionTerms(
                days: try row.int(4), reason: try row.int64(5),
                identifier: ExtensionIdentifier(text: try row.string(3), key: try row.string(2))),
            storefronts: try row.optionalString(6).map { $0.split(separator: " ").map(String.init) },
            acceptedAt: try row.int64(7), last: TransactionID(rawValue: try row.int64(8)),
            succeeded: try row.int(9), failed: try row.int(10), completedAt: try row.optionalInt64(11))
    }
}
