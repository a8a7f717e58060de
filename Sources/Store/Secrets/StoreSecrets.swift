import Database
import Foundation
import StoreReceipts

/// The secrets that a store keeps in its database, sealed with the store's key.
///
/// A store with a key can have several processes on one PostgreSQL database. They find the certificate authority, the
/// apps' shared secrets and the key of download addresses there, and a copy of the database alone reveals none of them.
/// A store without a key keeps these texts unsealed, and its authority in files.
public final class StoreSecrets: Sendable {
    /// The places of secrets that every store with a key has. They are part of what is sealed.
    enum Place {
        /// The store's identifier, which is no secret.
        static let store = "store"
        /// A known text. A key that does not open it is the wrong key.
        static let check = "check"
        /// The texts of the certificate authority.
        static let authority = "authority"
    }

    private struct Keyed: Sendable {
        let database: Database
        let box: SecretBox
    }

    /// The secrets of a store without a key.
    public static let plain = StoreSecrets(nil)

    private let keyed: Keyed?

    private init(_ keyed: Keyed?) { self.keyed = keyed }

    /// Opens the secrets of a store. The first start with a key seals the apps' shared secrets and the key of download
    /// addresses, in one transaction.
    /// - Parameter key: the store's key; nil for a store that seals nothing.
    /// - Throws: ``StoreSecretsError``: `store_key_missing` without a key for a database that was sealed,
    ///   `store_key_wrong`, `store_key_unused` with a key for SQLite, `secret_damaged`; ``DatabaseError``.
    public static func open(_ databases: StoreDatabases, key: StoreKey?) async throws -> StoreSecrets {
        guard key == nil || databases.canBeLost else { throw StoreSecretsError.keyUnused }
        return try await open(databases.apps, key: key)
    }

    /// Opens the secrets in a database on any engine.
    static func open(_ database: Database, key: StoreKey?) async throws -> StoreSecrets {
        guard let key else {
            try await check(nil, in: database)
            return .plain
        }
        let new = UUID()
        return StoreSecrets(
            Keyed(database: database, box: try await database.write { try firstBox(of: key, orNew: new, $0) }))
    }

    /// Whether the store has a key.
    public var isSealing: Bool { keyed != nil }

    // MARK: In columns of other tables

    /// Seals a text that another table keeps; the text itself in a store without a key.
    /// - Parameter name: the text's place. It must open the text under the same name.
    /// - Throws: an error when AES-GCM cannot seal the text.
    public func seal(_ text: String, _ name: String) throws -> String {
        guard let keyed else { return text }
        return try keyed.box.seal(text, as: name)
    }

    /// Opens a text that another table keeps; the text itself in a store without a key.
    /// - Throws: ``StoreSecretsError``: `secret_damaged`; in a store without a key `store_key_missing` for a sealed
    ///   text.
    public func open(_ text: String, _ name: String) throws -> String {
        guard let keyed else {
            guard !text.hasPrefix(SecretBox.textPrefix) else { throw StoreSecretsError.keyMissing }
            return text
        }
        return try keyed.box.open(text, as: name)
    }

    /// Seals octets that another table keeps; the octets themselves in a store without a key.
    func seal(_ octets: [UInt8], _ name: String) throws -> [UInt8] {
        guard let keyed else { return octets }
        return try keyed.box.seal(octets, as: name)
    }

    /// Opens octets that another table keeps; the octets themselves in a store without a key.
    /// - Throws: ``StoreSecretsError`` `secret_damaged`.
    func open(_ octets: [UInt8], _ name: String) throws -> [UInt8] {
        guard let keyed else { return octets }
        return try keyed.box.open(octets, as: name)
    }

    // MARK: In the table of secrets

    /// Reads a secret, or makes it. When several processes make one at once, all get the one that was kept first.
    /// - Throws: the error of `make`; ``StoreSecretsError``, `store_key_missing` in a store without a key;
    ///   ``DatabaseError``.
    public func value(_ name: String, orMake make: @Sendable () throws -> [UInt8]) async throws -> [UInt8] {
        if let found = try await load(name) { return found.octets }
        _ = try await create(name, try make())
        guard let found = try await load(name) else { throw StoreSecretsError.damaged(name) }
        return found.octets
    }

    /// Reads a secret.
    /// - Returns: the secret, and the number of its state, which grows with each replacement; nil when there is none.
    /// - Throws: as ``value(_:orMake:)``.
    public func load(_ name: String) async throws -> (octets: [UInt8], revision: Int64)? {
        let keyed = try key()
        guard let found = try await keyed.database.read({ try Self.row(name, $0) }) else { return nil }
        return (octets: try keyed.box.open(found.octets, as: name), revision: found.revision)
    }

    /// Keeps a new secret.
    /// - Returns: whether it is kept; false when there is one already.
    /// - Throws: as ``value(_:orMake:)``.
    public func create(_ name: String, _ secret: [UInt8]) async throws -> Bool {
        let keyed = try key()
        let sealed = try keyed.box.seal(secret, as: name)
        return try await keyed.database.write { try Self.insert(name, sealed, $0) }
    }

    /// Replaces a secret, if it is still in the state that was read.
    /// - Parameter topic: the change that other processes are told of; nil for none.
    /// - Returns: whether it is replaced; false when it has changed.
    /// - Throws: as ``value(_:orMake:)``.
    public func replace(
        _ name: String, _ secret: [UInt8], ifRevision revision: Int64, announcing topic: String? = nil
    ) async throws -> Bool {
        let keyed = try key()
        let sealed = try keyed.box.seal(secret, as: name)
        return try await keyed.database.write { connection in
            let count = try connection.execute(
                "UPDATE store_secrets SET sealed = $2, revision = revision + 1 WHERE name = $1 AND revision = $3",
                [name, sealed, revision])
            guard count > 0 else { return false }
            if let topic { try connection.announce(topic) }
            return true
        }
    }

    /// The certificate authority in the database. All of it is one secret, so that its members are replaced at once.
    /// In a store without a key, its functions throw `store_key_missing`.
    public var authority: any AuthorityStorage { SealedAuthority(secrets: self) }

    private func key() throws -> Keyed {
        guard let keyed else {
            throw StoreSecretsError(.keyMissing, "The store keeps secrets in its database only with a --store-key.")
        }
        return keyed
    }

    // MARK: Checking a key

    /// Checks a key before the tables of a PostgreSQL store are created or migrated, if the store has any. Changes
    /// nothing. A key for a database that is not sealed is right here: the first start with a key seals it.
    /// - Throws: ``StoreSecretsError``: `store_key_missing`, `store_key_wrong`, `secret_damaged`; ``DatabaseError``.
    public static func checkUnmigrated(_ location: StoreDatabases.Location, key: StoreKey?) async throws {
        guard case .postgresql = location else { return }
        try await Database.readUnmigrated(location.database("apps", connections: 1)) { connection in
            let hasTable = try connection.queryOne("SELECT 1 WHERE to_regclass('store_secrets') IS NOT NULL") != nil
            if hasTable { _ = try isSealed(with: key, connection) }
        }
    }

    /// Checks that a key is that of a database: its own if the secrets are sealed, none if not. Changes nothing.
    /// - Throws: ``StoreSecretsError``: `store_key_missing`, `store_key_wrong`, `store_key_unused`, `secret_damaged`;
    ///   ``DatabaseError``.
    static func check(_ key: StoreKey?, in database: Database) async throws {
        try await database.read { connection in
            let hasSecrets = try isSealed(with: key, connection)
            guard hasSecrets || key == nil else { throw StoreSecretsError.notSealed }
        }
    }

    /// Whether a database has sealed secrets, which the key then opens.
    private static func isSealed(with key: StoreKey?, _ connection: Connection) throws -> Bool {
        guard try row(Place.check, connection) != nil else { return false }
        guard let key else { throw StoreSecretsError.keyMissing }
        _ = try box(of: key, connection)
        return true
    }

    // MARK: Another key

    /// Seals all secrets of a store with another key, in one transaction. No process may have the store open: open the
    /// databases for this process alone first.
    /// - Returns: the number of rows in the table of secrets that were sealed again.
    /// - Throws: ``StoreSecretsError``: `store_key_wrong`, `secret_damaged`, `store_key_unused` when nothing is sealed;
    ///   ``DatabaseError``. Nothing has changed then.
    public static func reseal(_ databases: StoreDatabases, from old: StoreKey, to new: StoreKey) async throws -> Int {
        try await reseal(databases.apps, from: old, to: new)
    }

    static func reseal(_ database: Database, from old: StoreKey, to new: StoreKey) async throws -> Int {
        try await database.write { connection in
            guard try row(Place.check, connection) != nil else {
                throw StoreSecretsError.notSealed
            }
            let from = try box(of: old, connection)
            let to = SecretBox(new, store: from.store)
            let rows = try connection.query(
                "SELECT name, sealed FROM store_secrets WHERE name <> $1", [Place.store])
            for row in rows {
                let name = try row.string(0)
                let sealed = try to.seal(try from.open(try row.bytes(1), as: name), as: name)
                try connection.execute(
                    "UPDATE store_secrets SET sealed = $2, revision = revision + 1 WHERE name = $1", [name, sealed])
            }
            try sealOtherTables(from: from, to: to, connection)
            return rows.count
        }
    }

    // MARK: Rows

    /// The box of a key. Seals what the database has when this is its first start with a key.
    private static func firstBox(of key: StoreKey, orNew new: UUID, _ connection: Connection) throws -> SecretBox {
        try insert(Place.store, Array(new.uuidString.lowercased().utf8), connection)
        let box = try Self.box(of: key, connection)
        guard try row(Place.check, connection) == nil else { return box }
        try insert(Place.check, try box.seal(Array(Place.check.utf8), as: Place.check), connection)
        try sealOtherTables(from: nil, to: box, connection)
        return box
    }

    /// The box of a key, which opens the database's check if it has one.
    private static func box(of key: StoreKey, _ connection: Connection) throws -> SecretBox {
        guard let found = try row(Place.store, connection),
            let store = UUID(uuidString: String(decoding: found.octets, as: UTF8.self))
        else { throw StoreSecretsError.damaged(Place.store) }
        let box = SecretBox(key, store: store)
        if let check = try row(Place.check, connection) {
            guard (try? box.open(check.octets, as: Place.check)) != nil else { throw StoreSecretsError.keyWrong }
        }
        return box
    }

    private static func sealOtherTables(from old: SecretBox?, to new: SecretBox, _ connection: Connection) throws {
        try AppRegistry.seal(from: old, to: new, connection)
        try ContentLibrary.sealAddressKey(from: old, to: new, connection)
    }

    private static func row(
        _ name: String, _ connection: Connection
    ) throws -> (octets: [UInt8], revision: Int64)? {
        try connection.queryOne("SELECT sealed, revision FROM store_secrets WHERE name = $1", [name]).map { row in
            (octets: try row.bytes(0), revision: try row.int64(1))
        }
    }

    @discardableResult
    private static func insert(_ name: String, _ octets: [UInt8], _ connection: Connection) throws -> Bool {
        try connection.execute(
            "INSERT INTO store_secrets (name, sealed, revision) VALUES ($1, $2, 1) ON CONFLICT (name) DO NOTHING",
            [name, octets]) > 0
    }
}

/// The certificate authority as one sealed row: an object of JSON with the texts by their names.
private struct SealedAuthority: AuthorityStorage {
    let secrets: StoreSecrets

    private static let place = StoreSecrets.Place.authority

    func load() async throws -> (files: [String: String], revision: Int64)? {
        guard let found = try await secrets.load(Self.place) else { return nil }
        return (files: try Self.texts(found.octets), revision: found.revision)
    }

    func create(_ files: [String: String]) async throws -> Bool {
        try await secrets.create(Self.place, try Self.octets(files))
    }

    func replace(_ changed: [String: String], ifRevision revision: Int64) async throws -> Bool {
        guard let found = try await secrets.load(Self.place), found.revision == revision else { return false }
        let files = try Self.texts(found.octets).merging(changed) { _, new in new }
        return try await secrets.replace(
            Self.place, try Self.octets(files), ifRevision: revision, announcing: "authority")
    }

    private static func texts(_ octets: [UInt8]) throws -> [String: String] {
        guard let files = try? JSONDecoder().decode([String: String].self, from: Data(octets)) else {
            throw StoreSecretsError.damaged(place)
        }
        return files
    }

    private static func octets(_ files: [String: String]) throws -> [UInt8] { Array(try JSONEncoder().encode(files)) }
}
