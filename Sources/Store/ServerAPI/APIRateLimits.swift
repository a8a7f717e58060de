import Database
import StoreWire

/// The requests to the App Store Server API that Apple limits, each endpoint by itself. The raw values are those of the
/// database and of the control port.
public enum RateClass: String, Sendable, CaseIterable {
    /// One transaction.
    case transaction
    /// A customer's transactions, both versions.
    case history
    /// The states of a customer's subscriptions.
    case statuses
    /// What an app's server says of a purchase, both versions.
    case consumption
    /// The history of notifications.
    case notificationHistory
    /// An extension of one subscription.
    case extend
    /// The transactions of an order.
    case order
    /// A customer's refunds, both versions.
    case refunds
    /// An extension of all subscriptions of a product.
    case extendAll
    /// A test notification.
    case testNotification
    /// The result of a test notification.
    case testStatus

    /// Apple's number of requests per second in production (“Identifying rate limits”).
    private var perSecond: Int64 {
        switch self {
        case .transaction, .history, .statuses, .consumption, .notificationHistory: 50
        case .extend: 20
        case .order, .refunds: 10
        case .extendAll, .testNotification, .testStatus: 1
        }
    }

    /// Apple's number of an app's requests in an hour. Apple writes it per second and enforces it per hour. The sandbox
    /// has a tenth.
    public func applesLimit(in environment: StoreEnvironment) -> Int64 {
        perSecond * 3_600 / (environment == .sandbox ? 10 : 1)
    }
}

/// The rate limits of the App Store Server API of one environment: the operator's rule for each app, and how many
/// requests each app has made. Both are in the database. Without a rule, nothing is limited or counted.
///
/// An app's hour begins with its first request of a class, and ends the same for all requests of the hour. A token
/// bucket would admit up to twice the number in an hour, and would say to try again after a moment.
public final class APIRateLimits: Sendable {
    /// The most requests in an hour that a rule can allow.
    public static let most: Int64 = 1_000_000_000
    /// The time in which requests are counted, in milliseconds.
    static let hour: Int64 = 3_600_000

    private let database: Database
    /// The requests in an hour that each app with a rule may make, by class.
    private let rules: DatabaseCopy<[BundleID: [RateClass: Int64]]>

    private init(_ database: Database, _ limits: [BundleID: [RateClass: Int64]]) {
        self.database = database
        rules = DatabaseCopy(limits)
    }

    /// Reads the rules from the database.
    /// - Throws: ``DatabaseError``.
    static func open(_ database: Database) async throws -> APIRateLimits {
        APIRateLimits(database, try await database.read { try load($0) })
    }

    /// The requests in an hour that each app with a rule may make, by class. A class that is missing is not limited.
    var all: [BundleID: [RateClass: Int64]] { rules.value }

    /// Sets the numbers of some classes. The app's counters begin anew.
    /// - Throws: ``DatabaseError``.
    func set(_ limits: [RateClass: Int64], of bundleID: BundleID) async throws {
        try await rules.write(to: database, load: Self.load) { connection in
            for rateClass in RateClass.allCases {
                guard let limit = limits[rateClass] else { continue }
                try connection.execute(
                    """
                    INSERT INTO rate_limits (bundle_id, rate_class, per_hour) VALUES ($1, $2, $3)
                    ON CONFLICT (bundle_id, rate_class) DO UPDATE SET per_hour = excluded.per_hour
                    """, [bundleID.rawValue, rateClass.rawValue, limit])
            }
            try Self.forgetRequests(of: bundleID, connection)
        }
    }

    /// Removes an app's rule.
    /// - Throws: ``DatabaseError``.
    func remove(of bundleID: BundleID) async throws {
        try await rules.write(to: database, load: Self.load) { connection in
            try connection.execute("DELETE FROM rate_limits WHERE bundle_id = $1", [bundleID.rawValue])
            try Self.forgetRequests(of: bundleID, connection)
        }
    }

    /// Reads the rules again, which another process may have changed.
    /// - Throws: ``DatabaseError``.
    func reload() async throws { try await rules.reload(from: database, Self.load) }

    /// Counts a request. All processes of the store count together.
    /// - Parameter now: the machine's time, in seconds since 1970. A clock that was set back begins a new hour.
    /// - Returns: nil when the app may make the request; otherwise the end of its hour, in seconds since 1970.
    /// - Throws: ``DatabaseError``.
    func take(_ rateClass: RateClass, of bundleID: BundleID, at now: Double) async throws -> Double? {
        guard let limit = rules.value[bundleID]?[rateClass] else { return nil }
        let now = Int64((now * 1_000).rounded(.up))
        let end = try await database.write { connection -> Int64? in
            let names: [any SQLConvertible] = [bundleID.rawValue, rateClass.rawValue]
            var (start, count) = (now, Int64(0))
            if let row = try connection.queryOne(
                "SELECT started_at, requests FROM rate_windows WHERE bundle_id = $1 AND rate_class = $2", names)
            {
                let known = try row.int64(0)
                if known <= now, now < known + Self.hour { (start, count) = (known, try row.int64(1)) }
            }
            guard count < limit else { return start + Self.hour }
            let values: [any SQLConvertible] = [start, count + 1]
            try connection.execute(
                """
                INSERT INTO rate_windows (bundle_id, rate_class, started_at, requests) VALUES ($1, $2, $3, $4)
                ON CONFLICT (bundle_id, rate_class) DO UPDATE SET started_at = excluded.started_at,
                    requests = excluded.requests
                """, names + values)
            return nil
        }
        return end.map { Double($0) / 1_000 }
    }

    private static func forgetRequests(of bundleID: BundleID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM rate_windows WHERE bundle_id = $1", [bundleID.rawValue])
        try connection.announce("limits")
    }

    @Sendable private static func load(_ connection: Connection) throws -> [BundleID: [RateClass: Int64]] {
        var limits: [BundleID: [RateClass: Int64]] = [:]
        for row in try connection.query("SELECT bundle_id, rate_class, per_hour FROM rate_limits") {
            guard let rateClass = RateClass(rawValue: try row.string(1)) else {
                throw StoreError(.internalError, "There is a rate limit that this program does not know.")
            }
            limits[BundleID(try row.string(0)), default: [:]][rateClass] = try row.int64(2)
        }
        return limits
    }
}

// MARK: For the operator

extension Store {
    /// The requests to the App Store Server API that each app with a rule may make in an hour, by class. A class that
    /// is missing is not limited.
    public var rateLimitsOfApps: [BundleID: [RateClass: Int64]] { rateLimits.all }

    /// Limits the requests of an app to the App Store Server API. The counters of the app begin anew.
    /// - Parameter limits: the requests in an hour, 1 to ``APIRateLimits/most``, by class. The numbers of other classes
    ///   stay as they are.
    /// - Returns: the numbers of all classes that are limited now.
    /// - Throws: ``StoreError`` `unknown_app` or `invalid_request`; ``DatabaseError``.
    public func setRateLimits(
        _ limits: [RateClass: Int64], of bundleID: BundleID
    ) async throws -> [RateClass: Int64] {
        try checkIsKnown(bundleID)
        guard !limits.isEmpty, limits.values.allSatisfy({ (1...APIRateLimits.most).contains($0) }) else {
            throw StoreError(.invalidRequest, "A rate limit must be 1 to \(APIRateLimits.most) requests in an hour.")
        }
        try await rateLimits.set(limits, of: bundleID)
        return rateLimits.all[bundleID] ?? [:]
    }

    /// Ends the limits of an app's requests to the App Store Server API.
    /// - Throws: ``StoreError`` `unknown_app`; ``DatabaseError``.
    public func removeRateLimits(of bundleID: BundleID) async throws {
        try checkIsKnown(bundleID)
        try await rateLimits.remove(of: bundleID)
    }

    private func checkIsKnown(_ bundleID: BundleID) throws {
        guard apps[bundleID] != nil else {
            throw StoreError(
                .unknownApp, "No app with the bundle identifier \(bundleID.rawValue.prefix(255)) is known.")
        }
    }
}
