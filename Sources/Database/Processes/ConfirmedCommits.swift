/// A query that has a row from a transaction's commit on, for as long as the server has the commit.
struct CommitWitness: Sendable {
    var sql: String
    var values: [SQLValue]
}

/// The newest commits that PostgreSQL has confirmed to a process, by which it finds out after an interruption whether
/// the server still has all of them.
///
/// A standby that lagged when it was promoted lacks the last commits. The last one that the former primary confirmed is
/// among the newest confirmations, of which as many are kept as a process can have connections, since each connection
/// has one commit under way.
struct ConfirmedCommits: Sendable {
    /// The greatest number of connections of three databases: two environments of 200, and 4.
    static let most = 404

    private struct Entry: Sendable {
        var address: PostgreSQLAddress
        var witness: CommitWitness
    }

    /// The last version that the process has announced; 0 for none.
    private(set) var version: Int64 = 0
    private var entries: [Entry] = []
    /// The place of the next witness when there are ``most``.
    private var next = 0

    /// The witnesses, in no order.
    var witnesses: [CommitWitness] { entries.map(\.witness) }

    /// Keeps a commit.
    ///
    /// - Parameters:
    ///   - witness: A query of the schema; nil for a commit without one.
    ///   - version: The version that the commit has announced; nil for none.
    mutating func add(_ witness: CommitWitness?, _ version: Int64?, in address: PostgreSQLAddress) {
        if let version { self.version = max(self.version, version) }
        guard let witness else { return }
        let entry = Entry(address: address, witness: witness)
        if entries.count < Self.most {
            entries.append(entry)
        } else {
            entries[next] = entry
            next = (next + 1) % Self.most
        }
    }

    /// Whether the server has all the commits.
    ///
    /// - Parameters:
    ///   - patience: The time in which the server must answer each query.
    ///   - session: A session of the schema of the processes.
    /// - Throws: ``DatabaseError`` when the server cannot be asked, or a new connection leads to another one;
    ///   `invalidSQL` also when a table is missing.
    func areKept(
        by table: ProcessTable, node: Int, patience: Duration, _ session: PostgreSQLSession
    ) throws -> Bool {
        guard try table.changeVersion(of: node, session) >= version else { return false }
        for group in Dictionary(grouping: entries, by: { $0.address.schema }).values {
            guard let address = group.first?.address else { continue }
            let ledger = try PostgreSQLSession(address, SQLTextCache())
            ledger.limitWaiting(to: patience)
            guard try ledger.serverStart() == session.serverStart() else {
                throw DatabaseError(.unavailable, "two connections lead to two PostgreSQL servers")
            }
            for entry in group {
                if try ledger.query(entry.witness.sql, entry.witness.values).isEmpty { return false }
            }
        }
        return true
    }
}
