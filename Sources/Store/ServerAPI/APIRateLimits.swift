import Database
import StoreWire
import Synchronization

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
/// requests each app has made. Without a rule, nothing is limited.
///
/// An app's hour begins with its first request of a class, and ends the same for all requests of the hour. A token
/// bucket would admit up to twice the number in an hour, and would say to try again after a moment.
public final class APIRateLimits: Sendable {
    /// The most requests in an hour that a rule can allow.
    public static let most: Int64 = 1_000_000_000
    /// The time in which requests are counted, in seconds.
    static let hour: Double = 3_600

    private struct Window {
        /// The time of the first request, in seconds since 1970.
        var start: Double
        var count: Int64 = 0
    }

    private struct Rule {
        var limits: [RateClass: Int64]
        var windows: [RateClass: Window] = [:]
    }

    private let database: Database
    /// The apps that have a rule. The counters are bounded by them.
    private let rules: Mutex<[BundleID: Rule]>

    private init(_ database: Database, _ limits: [BundleID: [RateClass: Int64]]) {
        self.database = database
        rules = Mutex(limits.mapValues { Rule(limits: $0) })
    }

    /// Reads the rules from the database.
    /// - Throws: ``DatabaseError``.
    static func open(_ database: Database) async throws -> APIRateLimits {
        APIRateLimits(database, try await database.read { try load($0) })
    }

    /// The requests in an hour that each app with a rule may make, by class. A class that is missing is not limited.
    var all: [BundleID: [RateClass: Int64]] { rules.withLock { $0.mapValues(\.limits) } }

    /// Sets the numbers of some classes. The app's counters begin anew.
    /// - Throws: ``DatabaseError``.
    func set(_ limits: [RateClass: Int64], of bundleID: BundleID) async throws {
        let kept = try await database.write { connection in
            for rateClass in RateClass.allCases {
                guard let limit = limits[rateClass] else { continue }
                try connection.execute(
                    """
                    INSERT INTO rate_limits (bundle_id, rate_class, per_hour) VALUES ($1, $2, $3)
                    ON CONFLICT (bundle_id, rate_class) DO UPDATE SET per_hour = excluded.per_hour
                    """, [bundleID.rawValue, rateClass.rawValue, limit])
            }
            return try Self.load(connection)[bundleID] ?? [:]
        }
        rules.withLock { $0[bundleID] = Rule(limits: kept) }
    }

    /// Removes an app's rule.
    /// - Throws: ``DatabaseError``.
    func remove(of bundleID: BundleID) async throws {
        try await database.write { connection in
            try connection.execute("DELETE FROM rate_limits WHERE bundle_id = $1", [bundleID.rawValue])
        }
        rules.withLock { $0[bundleID] = nil }
    }

    /// Counts a request.
    /// - Parameter now: the machine's time, in seconds since 1970. A clock that was set back begins a new hour.
    /// - Returns: nil when the app may make the request; otherwise the end of its hour, in seconds since 1970.
    func take(_ rateClass: RateClass, of bundleID: BundleID, at now: Double) -> Double? {
        rules.withLock { rules in
            guard let rule = rules[bundleID], let limit = rule.limits[rateClass] else { return nil }
            var window = rule.windows[rateClass] ?? Window(start: now)
            if now < window.start || now >= window.start + Self.hour { window = Window(start: now) }
            guard window.count < limit else { return window.start + Self.hour }
            window.count += 1
            rules[bundleID]?.windows[rateClass] = window
            return nil
        }
    }

    private static func load(_ connection: Connection) throws -> [BundleID: [RateClass: Int64]] {
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
