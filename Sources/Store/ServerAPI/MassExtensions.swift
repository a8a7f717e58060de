import CornerstoreEncoding
import Database
import StoreWire

/// A request to extend all active subscriptions of a product, with its progress.
struct MassExtensionRequest: Sendable, Equatable {
    /// The app's bundle identifier.
    let bundleID: BundleID
    /// The subscription product.
    let productID: ProductID
    /// What the request asks for.
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

    /// The number of an app's requests that are not complete.
    static func countOpen(in bundleID: BundleID, _ connection: Connection) throws -> Int {
        try connection.queryOne(
            "SELECT count(*) FROM mass_extensions WHERE completed_at IS NULL AND bundle_id = $1", [bundleID.rawValue])?
            .int(0) ?? 0
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
