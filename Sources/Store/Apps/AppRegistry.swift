import CornerstoreEncoding
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization

/// All apps that have ever been in the catalog, with their numbers and shared secrets. Removing a catalog file does not
/// remove its apps from the registry.
public final class AppRegistry: Sendable {
    private let database: Database
    private let secrets: StoreSecrets
    private let records: KeptValue<[BundleID: AppRecord]>
    private let usualReceiver = Mutex<NotificationReceiver?>(nil)

    private init(database: Database, secrets: StoreSecrets, records: [BundleID: AppRecord]) {
        self.database = database
        self.secrets = secrets
        self.records = KeptValue(records)
    }

    /// Reads the apps from the database.
    /// - Parameter secrets: seals the shared secrets.
    /// - Throws: ``DatabaseError``; ``StoreSecretsError`` when a shared secret cannot be opened.
    public static func open(_ databases: StoreDatabases, secrets: StoreSecrets = .plain) async throws -> AppRegistry {
        let database = databases.apps
        return AppRegistry(
            database: database, secrets: secrets, records: try await database.read { try load($0, secrets) })
    }

    /// Reads the apps again, with the changes of other processes.
    /// - Throws: as ``open(_:secrets:)``. The registry stays as it is then.
    public func reload() async throws {
        try await records.reload { [database, secrets] in try await database.read { try Self.load($0, secrets) } }
    }

    /// The app with a bundle identifier; nil when it is unknown.
    public subscript(bundleID: BundleID) -> AppRecord? { records.read { $0[bundleID] } }

    /// All apps in the order of their bundle identifiers.
    public var all: [AppRecord] { records.value.values.sorted { $0.bundleID < $1.bundleID } }

    /// Creates a number and a shared secret for each new app.
    /// - Throws: ``DatabaseError``.
    public func register(_ bundleIDs: [BundleID], at milliseconds: Int64) async throws {
        let new = bundleIDs.filter { self[$0] == nil }
        guard !new.isEmpty else { return }
        try await database.write { [secrets] connection in
            for bundleID in new {
                let secret = try secrets.seal(Self.newSecret(), Self.secretPlace(bundleID))
                for attempt in 0..<8 {
                    let inserted = try connection.execute(
                        """
                        INSERT INTO apps (bundle_id, app_id, shared_secret, created_at) VALUES ($1, $2, $3, $4)
                        ON CONFLICT DO NOTHING
                        """,
                        [bundleID.rawValue, Self.appID(bundleID, attempt: attempt), secret, milliseconds])
                    // A conflict means that another process inserted this app, or that another app has the number.
                    let present = try connection.queryOne(
                        "SELECT app_id FROM apps WHERE bundle_id = $1", [bundleID.rawValue])
                    if inserted > 0 || present != nil { break }
                }
            }
            try connection.announce("apps")
        }
        try await reload()
    }

    /// Sets the billing grace period of an app's subscriptions, or removes it. Renewals that are overdue already keep
    /// what they have.
    /// - Throws: ``StoreError`` `unknown_app`; ``DatabaseError``.
    public func setGracePeriod(_ grace: GracePeriod?, of bundleID: BundleID) async throws {
        try await database.write { connection in
            let changed = try connection.execute(
                """
                UPDATE apps SET grace_days = $2, grace_in_production = $3, grace_in_sandbox = $4, grace_after_paid = $5
                WHERE bundle_id = $1
                """,
                [
                    .text(bundleID.rawValue), SQLValue(grace?.length.rawValue),
                    .boolean(grace?.inProduction ?? false), .boolean(grace?.inSandbox ?? false),
                    .boolean(grace?.paidToPaidOnly ?? false),
                ] as [SQLValue])
            guard changed == 1 else {
                throw StoreError(
                    .unknownApp, "No app with the bundle identifier \(bundleID.rawValue.prefix(255)) is known.")
            }
            try connection.announce("apps")
        }
        try await reload()
    }

    /// The receiver of the notifications of every app that has none of its own, such as the merchant beside the store;
    /// nil for none. It is not kept in the database.
    public var usualNotificationReceiver: NotificationReceiver? {
        get { usualReceiver.withLock { $0 } }
        set { usualReceiver.withLock { $0 = newValue } }
    }

    /// The receiver of an app's notifications in an environment; nil when nobody receives them.
    public func notificationReceiver(
        of bundleID: BundleID, in environment: StoreEnvironment
    ) -> NotificationReceiver? {
        guard let record = self[bundleID] else { return nil }
        return record.notificationReceivers[environment] ?? usualNotificationReceiver
    }

    /// Sets the receiver of an app's notifications in an environment; nil leaves them to the usual one. Notifications
    /// that wait are sent to the new receiver; the usual one gets only those of its version, and the others wait.
    /// - Throws: ``StoreError`` `unknown_app`; ``DatabaseError``.
    public func setNotificationReceiver(
        _ receiver: NotificationReceiver?, of bundleID: BundleID, in environment: StoreEnvironment
    ) async throws {
        try await database.write { connection in
            let changed = try connection.execute(
                """
                UPDATE apps SET \(environment.name)_notification_url = $2, \(environment.name)_redirect_origins = $3,
                    \(environment.name)_notification_version = $4
                WHERE bundle_id = $1
                """,
                [
                    bundleID.rawValue, receiver?.address.text, receiver?.originsText,
                    (receiver?.version ?? .two).rawValue,
                ])
            guard changed == 1 else {
                throw StoreError(
                    .unknownApp, "No app with the bundle identifier \(bundleID.rawValue.prefix(255)) is known.")
            }
            try connection.announce("apps")
        }
        try await reload()
    }

    /// Seals all shared secrets.
    /// - Parameter old: opens them; nil for secrets that are not sealed.
    static func seal(from old: SecretBox?, to new: SecretBox, _ connection: Connection) throws {
        for row in try connection.query("SELECT bundle_id, shared_secret FROM apps", []) {
            let (bundleID, text) = (BundleID(try row.string(0)), try row.string(1))
            let place = secretPlace(bundleID)
            let secret = try old.map { try $0.open(text, as: place) } ?? text
            try connection.execute(
                "UPDATE apps SET shared_secret = $2 WHERE bundle_id = $1",
                [bundleID.rawValue, try new.seal(secret, as: place)])
        }
    }

    /// The name of an app's shared secret as a sealed text.
    private static func secretPlace(_ bundleID: BundleID) -> String { "shared-secret/\(bundleID.rawValue)" }

    private static func load(
        _ connection: Connection, _ secrets: StoreSecrets
    ) throws -> [BundleID: AppRecord] {
        var records: [BundleID: AppRecord] = [:]
        let rows = try connection.query(
            """
            SELECT bundle_id, app_id, shared_secret, grace_days, grace_in_production, grace_in_sandbox,
                grace_after_paid, sandbox_notification_url, sandbox_redirect_origins, production_notification_url,
                production_redirect_origins, sandbox_notification_version, production_notification_version
            FROM apps
            """, [])
        for row in rows {
            let bundleID = BundleID(try row.string(0))
            var grace: GracePeriod?
            if let length = try row.optionalInt64(3).flatMap(GracePeriod.Length.init(rawValue:)) {
                grace = GracePeriod(
                    length: length, inProduction: try row.bool(4), inSandbox: try row.bool(5),
                    paidToPaidOnly: try row.bool(6))
            }
            var receivers: [StoreEnvironment: NotificationReceiver] = [:]
            for (environment, column, version) in [(StoreEnvironment.sandbox, 7, 11), (.production, 9, 12)] {
                receivers[environment] = NotificationReceiver(
                    url: try row.optionalString(column), origins: try row.optionalString(column + 1),
                    version: try row.int64(version))
            }
            records[bundleID] = AppRecord(
                bundleID: bundleID, appID: try row.int64(1),
                sharedSecret: try secrets.open(try row.string(2), secretPlace(bundleID)), gracePeriod: grace,
                notificationReceivers: receivers)
        }
        return records
    }

    /// An app number of ten digits beginning with 6. It depends only on the bundle identifier and the attempt.
    private static func appID(_ bundleID: BundleID, attempt: Int) -> Int64 {
        let digest = SHA256.hash(data: Data("\(bundleID.rawValue)#\(attempt)".utf8))
        let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return 6_000_000_000 + Int64(number % 1_000_000_000)
    }

    private static func newSecret() -> String {
        Hexadecimal.encoded(RandomBytes.make(16))
    }
}
