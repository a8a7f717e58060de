import Database
import StoreWire

/// A change that an operator made on the control port.
public struct AuditEntry: Sendable, Equatable {
    /// The operator, as the request named them; nil without a name.
    public var operatorName: String?
    /// The environment; nil for what both share.
    public var environment: String?
    /// The operation as method and path, with the names of parameters in braces.
    public var operation: String
    /// The subject, such as an e-mail address or a transaction; nil when there is one subject only.
    public var subject: String?
    /// The state before the change, in words.
    public var before: String?
    /// The state after the change, in words.
    public var after: String?

    /// Creates an entry. Texts are cut after 1,000 characters.
    public init(
        operatorName: String?, environment: String?, operation: String, subject: String?, before: String?,
        after: String?
    ) {
        func cut(_ text: String?) -> String? { text.map { String($0.filter { $0 != "\0" }.prefix(1_000)) } }
        self.operatorName = cut(operatorName)
        self.environment = environment
        self.operation = operation
        self.subject = cut(subject)
        self.before = cut(before)
        self.after = cut(after)
    }
}

/// An entry with its place and date.
public struct RecordedAuditEntry: Sendable, Equatable {
    /// The entry's place in the list; higher for later ones.
    public var number: Int64
    /// When the change was made, in milliseconds since 1970 by the machine's clock.
    public var date: Int64
    /// The entry.
    public var entry: AuditEntry
}

/// The changes that operators made: the last 10,000, of the last seven days.
public struct AuditLog: Sendable {
    /// The most entries that are kept.
    public static let most: Int64 = 10_000
    /// How long an entry is kept, in milliseconds.
    public static let lifetime: Int64 = 7 * 24 * 3600 * 1000

    private let database: Database

    /// Uses the database of the apps.
    public init(_ databases: StoreDatabases) { database = databases.apps }

    /// Records a change, and deletes the entries that are too many or too old.
    /// - Parameter milliseconds: the machine's time, since 1970.
    /// - Throws: ``DatabaseError``.
    public func record(_ entry: AuditEntry, at milliseconds: Int64) async throws {
        try await database.write { connection in
            let last = try connection.queryOne("SELECT max(number) FROM operator_changes", [])?.optionalInt64(0) ?? 0
            try connection.execute(
                """
                INSERT INTO operator_changes
                    (number, changed_at, operator_name, environment, operation, subject, state_before, state_after)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                """,
                [
                    last + 1, milliseconds, entry.operatorName, entry.environment, entry.operation, entry.subject,
                    entry.before, entry.after,
                ])
            try connection.execute(
                "DELETE FROM operator_changes WHERE number <= $1 OR changed_at < $2",
                [last + 1 - Self.most, milliseconds - Self.lifetime])
        }
    }

    /// Returns the newest entries.
    /// - Parameters:
    ///   - subject: the only subject whose changes are listed; nil for all.
    ///   - number: the entry before which the list begins; nil for the newest.
    ///   - limit: the most entries, 1 to 1,000.
    /// - Throws: ``DatabaseError``.
    public func list(of subject: String? = nil, before number: Int64?, limit: Int) async throws -> [RecordedAuditEntry]
    {
        try await database.read { connection in
            try connection.query(
                """
                SELECT number, changed_at, operator_name, environment, operation, subject, state_before, state_after
                FROM operator_changes WHERE number < $1 AND (CAST($3 AS TEXT) IS NULL OR subject = $3)
                ORDER BY number DESC LIMIT $2
                """, [number ?? Int64.max, min(max(limit, 1), 1_000), subject]
            ).map { row in
                RecordedAuditEntry(
                    number: try row.int64(0), date: try row.int64(1),
                    entry: AuditEntry(
                        operatorName: try row.optionalString(2), environment: try row.optionalString(3),
                        operation: try row.string(4), subject: try row.optionalString(5),
                        before: try row.optionalString(6), after: try row.optionalString(7)))
            }
        }
    }
}
