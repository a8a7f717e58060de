import Database
import MerchantWire

/// The storage of API keys in the merchant's database.
struct DatabaseAPIKeys: APIKeyStoring {
    private static let columns = "name, digest, scopes, created_at, revoked_at"

    let database: Database

    func apiKey(digest: [UInt8]) async throws -> APIKeyRecord? {
        try await database.read { connection in
            try connection.queryOne("SELECT \(Self.columns) FROM api_keys WHERE digest = $1", [digest])
                .map { try APIKeyRecord($0) }
        }
    }

    func insert(_ key: APIKeyRecord) async throws {
        try Merchant.checkName(key.name)
        let isNew = try await database.write { connection -> Bool in
            guard
                try connection.queryOne(
                    "SELECT 1 FROM api_keys WHERE name = $1 AND revoked_at IS NULL", [key.name]) == nil
            else { return false }
            return try connection.execute(
                """
                INSERT INTO api_keys (digest, name, scopes, created_at, revoked_at) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (digest) DO NOTHING
                """,
                [key.digest, key.name, key.scopes.joined(separator: " "), key.createdAt, key.revokedAt]) == 1
        }
        guard isNew else {
            throw MerchantError(.invalidRequest, "An active key already has this name. Revoke it first.")
        }
    }

    func revokeAPIKey(name: String, at milliseconds: Int64) async throws -> Bool {
        try await database.write { connection in
            try connection.execute(
                "UPDATE api_keys SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL", [name, milliseconds]) > 0
        }
    }

    func apiKeys() async throws -> [APIKeyRecord] {
        try await database.read { connection in
            try connection.query("SELECT \(Self.columns) FROM api_keys ORDER BY name, created_at LIMIT 10000")
                .map { try APIKeyRecord($0) }
        }
    }
}

extension APIKeyRecord {
    init(_ row: Row) throws {
        self.init(
            name: try row.string(0), digest: try row.bytes(1),
            scopes: try row.string(2).split(separator: " ").map(String.init), createdAt: try row.int64(3),
            revokedAt: try row.optionalInt64(4))
    }
}

extension Merchant {
    /// The API keys of the merchant's backend.
    public var apiKeys: any APIKeyStoring { DatabaseAPIKeys(database: database) }
}
