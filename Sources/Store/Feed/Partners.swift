import CornerstoreEncoding
import Crypto
import Database
import Foundation

/// A partner who may download the feed.
public struct Partner: Sendable, Equatable {
    /// The user name.
    public var name: String
    /// When the operator added the partner, in milliseconds since 1970.
    public var createdAt: Int64
}

/// The partners and their passwords.
public struct Partners: Sendable {
    private let database: Database
    private let cost: PasswordCost
    private let work: PasswordWork
    /// The digests of names and passwords that were right lately, so that each range of a download does not cost a
    /// password's hash.
    private let verified = RecentValues<[UInt8], ContinuousClock.Instant>(capacity: 1_024)

    /// The most partners.
    public static let most = 1_000
    /// How long a right password is remembered.
    static let memory = Duration.seconds(300)

    /// Uses the database of the apps.
    public init(_ databases: StoreDatabases, cost: PasswordCost = .standard) {
        database = databases.apps
        self.cost = cost
        work = .shared
    }

    /// Adds a partner.
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, and `.`, `_`, `-`.
    ///   - milliseconds: the machine's time, since 1970.
    /// - Returns: the password, which the store does not keep.
    /// - Throws: ``StoreError`` `invalid_request` for a name that is malformed or taken; ``DatabaseError``.
    public func add(_ name: String, at milliseconds: Int64) async throws -> String {
        guard (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ byte in
                let character = Character(Unicode.Scalar(byte))
                return character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
            })
        else {
            throw StoreError(
                .invalidRequest, "A partner's name must have 1 to 64 letters, digits, and the characters . _ -")
        }
        let password = Hexadecimal.encoded(RandomBytes.make(16))
        let hash = try await PasswordHash.make(password, cost: cost, by: work, for: .operation)
        let isNew = try await database.write { connection in
            let count = try connection.queryOne("SELECT COUNT(*) FROM partners", [])?.int64(0) ?? 0
            guard count < Self.most else {
                throw StoreError(.invalidRequest, "There are \(Self.most) partners, the most. Remove one first.")
            }
            return try connection.execute(
                """
                INSERT INTO partners (name, password_salt, password_hash, password_rounds, created_at)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
                """, [name, hash.salt, hash.hash, hash.rounds, milliseconds]) == 1
        }
        guard isNew else {
            throw StoreError(.invalidRequest, "A partner “\(name)” already exists. Remove it first for a new password.")
        }
        return password
    }

    /// All partners by name.
    /// - Throws: ``DatabaseError``.
    public func list() async throws -> [Partner] {
        try await database.read { connection in
            try connection.query("SELECT name, created_at FROM partners ORDER BY name", []).map {
                Partner(name: try $0.string(0), createdAt: try $0.int64(1))
            }
        }
    }

    /// Removes a partner. Downloads that have begun end normally.
    /// - Throws: ``StoreError`` `not_found`; ``DatabaseError``.
    public func remove(_ name: String) async throws {
        let count = try await database.write { connection in
            try connection.announce("partners")
            return try connection.execute("DELETE FROM partners WHERE name = $1", [name])
        }
        forget()
        guard count == 1 else { throw StoreError(.notFound, "There is no partner with this name.") }
    }

    /// Forgets the passwords that were right. Another process may have removed a partner.
    func forget() { verified.removeAll() }

    /// Whether a name and a password were right within the last minutes.
    public func remembers(_ name: String, _ password: String) -> Bool {
        verified.value(for: Self.digest(name, password)).map { $0 > .now } ?? false
    }

    /// Whether a name and a password are a partner's. An unknown name takes as long as a wrong password.
    /// - Parameter source: the client, for fair queueing.
    /// - Throws: ``StoreError`` `unavailable` when too many passwords wait; ``DatabaseError``.
    public func verify(_ name: String, _ password: String, from source: PasswordSource) async throws -> Bool {
        guard (1...64).contains(name.utf8.count), (1...1024).contains(password.utf8.count), !name.utf8.contains(0)
        else { return false }
        let changes = verified.changes
        let row = try await database.read { connection in
            try connection.queryOne(
                "SELECT password_salt, password_hash, password_rounds FROM partners WHERE name = $1", [name])
        }
        guard let row else {
            _ = try await PasswordHash.make(password, cost: cost, by: work, for: source)
            return false
        }
        let kept = PasswordHash(salt: try row.bytes(0), hash: try row.bytes(1), rounds: try row.int(2))
        guard try await kept.matches(password, by: work, for: source) else { return false }
        verified.insert(.now + Self.memory, for: Self.digest(name, password), unlessChangedSince: changes)
        return true
    }

    private static func digest(_ name: String, _ password: String) -> [UInt8] {
        Array(SHA256.hash(data: Data("\(name):\(password)".utf8)))
    }
}
