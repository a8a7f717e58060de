import Crypto
import Database
import Foundation
import StoreWire
import Synchronization

/// A key with which an app's server signs its requests to the App Store Server API. It is good in both environments.
public struct APIKey: Sendable, Equatable {
    /// The key's identifier: ten capital letters and digits.
    public let keyID: String
    /// The issuer's identifier, a UUID in lower case. All keys of one store have the same.
    public let issuerID: String
    /// The app that the key may ask about.
    public let bundleID: BundleID
    /// When the key was created, in milliseconds since 1970 by the machine's clock.
    public let createdAt: Int64
    /// When the key was revoked, likewise; nil while it is good.
    public internal(set) var revokedAt: Int64?
    /// The public half.
    let publicKey: P256.Signing.PublicKey

    /// The public half as SubjectPublicKeyInfo in PEM.
    public var publicKeyPEM: String { publicKey.pemRepresentation }

    /// Whether all properties are equal, the public half by its bytes.
    public static func == (one: APIKey, other: APIKey) -> Bool {
        (one.keyID, one.issuerID, one.bundleID, one.createdAt, one.revokedAt)
            == (other.keyID, other.issuerID, other.bundleID, other.createdAt, other.revokedAt)
            && one.publicKey.rawRepresentation == other.publicKey.rawRepresentation
    }
}

/// A new key, with the private half that the store does not keep.
public struct NewAPIKey: Sendable {
    /// The key.
    public let key: APIKey
    /// The private half as PKCS#8 in PEM: the contents of the `.p8` file. Secret.
    public let privateKey: String
}

/// The keys of the App Store Server API.
public final class APIKeys: Sendable {
    /// The most good keys of an app. App Store Connect documents no limit.
    public static let most = 100

    private let database: Database
    private let keys: KeptValue<[String: APIKey]>
    /// Whether ``keys`` has followed the changes of other processes.
    private let isFresh: @Sendable () -> Bool
    /// Reads the keys for one request at a time.
    private let lookups = SerialTasks()
    /// When the last of these reads began; nil before the first.
    private let lastLookup = Mutex<ContinuousClock.Instant?>(nil)

    private init(database: Database, keys: [String: APIKey], isFresh: @escaping @Sendable () -> Bool) {
        self.database = database
        self.keys = KeptValue(keys)
        self.isFresh = isFresh
    }

    /// Reads the keys from the database.
    /// - Throws: ``DatabaseError``.
    public static func open(_ databases: StoreDatabases) async throws -> APIKeys {
        let membership = databases.membership
        return try await open(databases, isFresh: { membership?.isFresh ?? true })
    }

    /// Reads the keys from the database.
    /// - Parameter isFresh: whether this process has heard of all keys that other processes revoked until a second ago.
    ///   While it has not, each request reads its key from the database.
    /// - Throws: ``DatabaseError``.
    static func open(
        _ databases: StoreDatabases, isFresh: @escaping @Sendable () -> Bool
    ) async throws -> APIKeys {
        let database = databases.apps
        return APIKeys(database: database, keys: try await database.read { try load($0) }, isFresh: isFresh)
    }

    /// Reads the keys again, with the changes of other processes.
    /// - Throws: ``DatabaseError``. The keys stay as they are then.
    public func reload() async throws {
        try await keys.reload { [database] in try await database.read { try Self.load($0) } }
    }

    /// The key with an identifier, revoked or not; nil when there is none.
    public subscript(keyID: String) -> APIKey? {
        keys.read { $0[keyID] }.flatMap { $0.keyID.hasSameBytes(as: keyID) ? $0 : nil }
    }

    /// Finds a good key among those that this process keeps. While another process may have created or revoked it
    /// since, the database is asked, too.
    /// - Parameter find: returns the key of a request that would be accepted; nil when no key that is kept would be. It
    ///   runs again when the keys were read for it.
    /// - Returns: the key; nil when `find` has none, or the key is revoked.
    /// - Throws: ``DatabaseError``.
    func confirmed(_ find: () -> APIKey?) async throws -> APIKey? {
        // Before the key is found, since the process may hear of the revocation in between.
        let isCertain = isFresh()
        guard let key = find() else {
            guard !isCertain else { return nil }
            try await readSince(.now)
            return find()
        }
        guard !isCertain else { return key }
        let keyID = key.keyID
        let isGood = try await database.read { connection in
            try connection.queryOne("SELECT key_id FROM api_keys WHERE key_id = $1 AND revoked_at IS NULL", [keyID])
                != nil
        }
        return isGood ? key : nil
    }

    /// Reads the keys again, unless a read for another request has begun since a time.
    private func readSince(_ time: ContinuousClock.Instant) async throws {
        try await lookups.run { [self] in
            guard lastLookup.withLock({ $0.map { $0 < time } ?? true }) else { return }
            let start = ContinuousClock.now
            try await reload()
            lastLookup.withLock { $0 = start }
        }
    }

    /// All keys, in the order in which they were created.
    public var all: [APIKey] {
        keys.value.values.sorted { ($0.createdAt, $0.keyID) < ($1.createdAt, $1.keyID) }
    }

    /// Creates a key for an app.
    /// - Parameter date: the machine's time, in milliseconds since 1970.
    /// - Throws: ``StoreError`` `wrong_state` when the app has ``most`` good keys; ``DatabaseError``.
    public func make(for bundleID: BundleID, at date: Int64) async throws -> NewAPIKey {
        let privateKey = P256.Signing.PrivateKey()
        let publicKey = privateKey.publicKey
        let (keyID, newIssuer) = (Store.newCode(10), UUID().uuidString.lowercased())
        let key = try await database.write { connection in
            let count =
                try connection.queryOne(
                    "SELECT count(*) FROM api_keys WHERE bundle_id = $1 AND revoked_at IS NULL", [bundleID.rawValue])?
                .int(0) ?? 0
            guard count < Self.most else {
                throw StoreError(.wrongState, "The app has \(Self.most) keys. Revoke one first.")
            }
            let issuer = try connection.queryOne(
                "SELECT issuer_id FROM api_keys ORDER BY created_at, key_id LIMIT 1")?.string(0)
            let key = APIKey(
                keyID: keyID, issuerID: issuer ?? newIssuer, bundleID: bundleID, createdAt: date, revokedAt: nil,
                publicKey: publicKey)
            try connection.execute(
                """
                INSERT INTO api_keys (key_id, issuer_id, bundle_id, public_key, created_at) VALUES ($1, $2, $3, $4, $5)
                """, [key.keyID, key.issuerID, bundleID.rawValue, Array(publicKey.x963Representation), date])
            try connection.announce("keys")
            return key
        }
        // Another process may have revoked the key since.
        try await reload()
        return NewAPIKey(key: key, privateKey: privateKey.pemRepresentation)
    }

    /// Revokes a key. Its tokens are refused from now on.
    /// - Parameter date: the machine's time, in milliseconds since 1970.
    /// - Returns: the key; one that was revoked before stays as it is.
    /// - Throws: ``StoreError`` `not_found`; ``DatabaseError``.
    public func revoke(_ keyID: String, at date: Int64) async throws -> APIKey {
        let found = try await database.write { connection in
            try connection.execute(
                "UPDATE api_keys SET revoked_at = $2 WHERE key_id = $1 AND revoked_at IS NULL", [keyID, date])
            let key = try connection.queryOne("SELECT \(Self.columns) FROM api_keys WHERE key_id = $1", [keyID])
                .map { try APIKey($0) }
            // Also when an earlier request did it: its process may have ended before all others had heard of it.
            if key != nil { try connection.announce("keys") }
            return key
        }
        guard let key = found else { throw StoreError(.notFound, "There is no API key with this identifier.") }
        keys.change { $0[key.keyID] = key }
        return key
    }

    private static func load(_ connection: Connection) throws -> [String: APIKey] {
        let keys = try connection.query("SELECT \(columns) FROM api_keys").map { try APIKey($0) }
        return Dictionary(keys.map { ($0.keyID, $0) }) { first, _ in first }
    }

    private static let columns = "key_id, issuer_id, bundle_id, public_key, created_at, revoked_at"
}

extension APIKey {
    fileprivate init(_ row: Row) throws {
        self.init(
            keyID: try row.string(0), issuerID: try row.string(1), bundleID: BundleID(try row.string(2)),
            createdAt: try row.int64(4), revokedAt: try row.optionalInt64(5),
            publicKey: try P256.Signing.PublicKey(x963Representation: try row.bytes(3)))
    }
}
