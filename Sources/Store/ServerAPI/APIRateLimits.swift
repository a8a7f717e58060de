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
    /// The app server's answers about consumption, both versions.
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
/// requests each app has made. Without a rule, nothing is limited or counted.
///
/// An app's hour begins with its first request of a class, and ends the same for all requests of the hour. A token
/// bucket would admit up to twice the number in an hour, and would say to try again after a moment.
///
/// A process that has the store alone counts in memory, and a restart begins new hours. Processes that share a store
/// reserve blocks of requests in the database, so that all of them together admit no more than the rule allows. An app
/// can be refused up to a hundredth of its number early for each process, because another one has reserved the rest.
public final class APIRateLimits: Sendable {
    /// The most requests in an hour that a rule can allow.
    public static let most: Int64 = 1_000_000_000
    /// The time in which requests are counted, in milliseconds.
    static let hour: Int64 = 3_600_000
    /// How far an hour can begin after the time of a request that belongs to it, in milliseconds: the clocks of two
    /// machines differ from the database server's by at most two seconds each.
    static let clockDifference: Int64 = 4_000
    /// The part of a number that a process reserves at once.
    private static let blocks: Int64 = 100

    /// An app's hour, as this process knows it.
    private struct Hour: Sendable {
        /// The time of the first request, in milliseconds since 1970.
        var start: Int64
        /// The requests that this process can still admit by itself.
        var left: Int64
        /// Whether no process can reserve more.
        var isUsedUp: Bool

        var end: Int64 { start + APIRateLimits.hour }

        /// Whether a request belongs to the hour that began at a date.
        static func has(_ now: Int64, since start: Int64) -> Bool {
            start - now <= APIRateLimits.clockDifference && now < start + APIRateLimits.hour
        }
    }

    private struct Counters {
        var hours: [BundleID: [RateClass: Hour]] = [:]
        /// How often hours were forgotten.
        var resets = 0
    }

    /// The decision on a request, as far as this process knows it.
    private enum Answer {
        case admitted
        /// The end of the hour, in milliseconds since 1970.
        case refused(Int64)
        /// The database decides.
        case unknown
    }

    private let database: Database
    /// Whether other processes count requests of the same apps.
    private let isShared: Bool
    /// The requests in an hour that each app with a rule may make, by class.
    private let rules: DatabaseCopy<[BundleID: [RateClass: Int64]]>
    /// Bounded by the apps that have a rule.
    private let counters = Mutex(Counters())
    /// Lets the requests that arrive at the same time reserve one block.
    private let reservations = SerialTasks()

    private init(_ database: Database, _ limits: [BundleID: [RateClass: Int64]], isShared: Bool) {
        self.database = database
        self.isShared = isShared
        rules = DatabaseCopy(limits)
    }

    /// Reads the rules from the database.
    /// - Parameter isShared: whether other processes use the same store.
    /// - Throws: ``DatabaseError``.
    static func open(_ database: Database, isShared: Bool) async throws -> APIRateLimits {
        APIRateLimits(database, try await database.read { try load($0) }, isShared: isShared)
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
        forget { app, _, _ in app == bundleID }
    }

    /// Removes an app's rule.
    /// - Throws: ``DatabaseError``.
    func remove(of bundleID: BundleID) async throws {
        try await rules.write(to: database, load: Self.load) { connection in
            try connection.execute("DELETE FROM rate_limits WHERE bundle_id = $1", [bundleID.rawValue])
            try Self.forgetRequests(of: bundleID, connection)
        }
        forget { app, _, _ in app == bundleID }
    }

    /// Reads the rules again, which another process may have changed, and forgets the hours that it has ended.
    /// - Throws: ``DatabaseError``.
    func reload() async throws {
        try await rules.reload(from: database, Self.load)
        guard isShared else { return }
        let starts = try await database.read { try Self.starts($0) }
        forget { app, rateClass, hour in starts[app]?[rateClass] != hour.start }
    }

    /// Counts a request. All processes of the store count together.
    /// - Parameter now: the machine's time, in seconds since 1970. A clock that was set back by more than four seconds
    ///   begins a new hour.
    /// - Returns: nil when the app may make the request; otherwise the end of its hour, in seconds since 1970.
    /// - Throws: ``DatabaseError``.
    func take(_ rateClass: RateClass, of bundleID: BundleID, at now: Double) async throws -> Double? {
        guard rules.value[bundleID]?[rateClass] != nil else { return nil }
        let now = Int64((now * 1_000).rounded(.up))
        var answer = known(rateClass, of: bundleID, at: now)
        if case .unknown = answer {
            answer = try await reservations.run { [self] in try await reserve(rateClass, of: bundleID, at: now) }
        }
        guard case .refused(let end) = answer else { return nil }
        return Double(end) / 1_000
    }

    /// Counts a request without the database, if that is possible.
    private func known(_ rateClass: RateClass, of bundleID: BundleID, at now: Int64) -> Answer {
        counters.withLock { counters -> Answer in
            guard let limit = rules.value[bundleID]?[rateClass] else { return .admitted }
            var hour: Hour
            if let known = counters.hours[bundleID]?[rateClass], Hour.has(now, since: known.start) {
                hour = known
            } else if isShared {
                return .unknown
            } else {
                hour = Hour(start: now, left: limit, isUsedUp: true)
            }
            guard hour.left > 0 else { return hour.isUsedUp ? .refused(hour.end) : .unknown }
            hour.left -= 1
            counters.hours[bundleID, default: [:]][rateClass] = hour
            return .admitted
        }
    }

    /// Counts a request, and reserves further ones for this process.
    private func reserve(_ rateClass: RateClass, of bundleID: BundleID, at now: Int64) async throws -> Answer {
        let answer = known(rateClass, of: bundleID, at: now)
        guard case .unknown = answer else { return answer }
        guard let limit = rules.value[bundleID]?[rateClass] else { return .admitted }
        let resets = counters.withLock { $0.resets }
        var hour = try await database.write { connection in
            try Self.reserve(rateClass, of: bundleID, limit: limit, at: now, connection)
        }
        let isAdmitted = hour.left > 0
        if isAdmitted { hour.left -= 1 }
        counters.withLock { [hour] counters in
            // A new number, which this one may not have seen, begins a new hour.
            if counters.resets == resets { counters.hours[bundleID, default: [:]][rateClass] = hour }
        }
        return isAdmitted ? .admitted : .refused(hour.end)
    }

    /// Forgets hours, whose requests are then counted by the database alone.
    private func forget(_ isForgotten: (BundleID, RateClass, Hour) -> Bool) {
        counters.withLock { counters in
            counters.resets += 1
            for (bundleID, hours) in counters.hours {
                let kept = hours.filter { !isForgotten(bundleID, $0.key, $0.value) }
                counters.hours[bundleID] = kept.isEmpty ? nil : kept
            }
        }
    }

    // MARK: Rows

    /// Reserves a block of requests of an app's hour.
    /// - Returns: the hour with the requests that are reserved; none when all are taken.
    private static func reserve(
        _ rateClass: RateClass, of bundleID: BundleID, limit: Int64, at now: Int64, _ connection: Connection
    ) throws -> Hour {
        let names: [any SQLConvertible] = [bundleID.rawValue, rateClass.rawValue]
        var (start, count) = (now, Int64(0))
        if let row = try connection.queryOne(
            "SELECT started_at, requests FROM rate_windows WHERE bundle_id = $1 AND rate_class = $2", names)
        {
            let known = try row.int64(0)
            if Hour.has(now, since: known) { (start, count) = (known, try row.int64(1)) }
        }
        let block = min(max(limit / blocks, 1), limit - count)
        guard block > 0 else { return Hour(start: start, left: 0, isUsedUp: true) }
        count += block
        let values: [any SQLConvertible] = [start, count]
        try connection.execute(
            """
            INSERT INTO rate_windows (bundle_id, rate_class, started_at, requests) VALUES ($1, $2, $3, $4)
            ON CONFLICT (bundle_id, rate_class) DO UPDATE SET started_at = excluded.started_at,
                requests = excluded.requests
            """, names + values)
        return Hour(start: start, left: block, isUsedUp: count >= limit)
    }

    /// When the hours of all apps began, in milliseconds since 1970.
    private static func starts(_ connection: Connection) throws -> [BundleID: [RateClass: Int64]] {
        var starts: [BundleID: [RateClass: Int64]] = [:]
        for row in try connection.query("SELECT bundle_id, rate_class, started_at FROM rate_windows") {
            guard let rateClass = RateClass(rawValue: try row.string(1)) else { continue }
            starts[BundleID(try row.string(0)), default: [:]][rateClass] = try row.int64(2)
        }
        return starts
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
