import Database
import StoreWire

/// The queries of the tables `faults` and `fault_hits`.
enum FaultRows {
    private static let columns = "operation, status, error, cut_after, lie, remaining"

    /// Orders a fault, in place of an earlier one for the same operation.
    static func order(_ fault: Faults.Fault, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO faults (\(columns), hits) VALUES ($1, $2, $3, $4, $5, $6, 0)
            ON CONFLICT (operation) DO UPDATE SET status = excluded.status, error = excluded.error,
                cut_after = excluded.cut_after, lie = excluded.lie, remaining = excluded.remaining, hits = 0
            """, arguments(fault))
    }

    /// Counts a request that meets the operation's fault.
    /// - Returns: the fault with the number of requests that it still applies to; nil when none is ordered.
    static func meet(_ operation: Faults.Operation, _ connection: Connection) throws -> Faults.Fault? {
        try connection.queryOne(
            """
            UPDATE faults SET remaining = remaining - 1, hits = hits + 1 WHERE operation = $1 AND remaining > 0
            RETURNING \(columns)
            """, [operation.rawValue]
        ).map { try Faults.Fault($0) }
    }

    /// Removes an operation's fault. Returns false when none is ordered.
    static func remove(_ operation: Faults.Operation, _ connection: Connection) throws -> Bool {
        try connection.execute(
            "DELETE FROM faults WHERE operation = $1 AND remaining > 0", [operation.rawValue]) > 0
    }

    /// Removes all faults.
    static func removeAll(_ connection: Connection) throws { try connection.execute("DELETE FROM faults") }

    /// The operations for which a fault is ordered.
    static func operations(_ connection: Connection) throws -> Set<Faults.Operation> {
        Set(
            try connection.query("SELECT operation FROM faults WHERE remaining > 0").map {
                try Faults.operation(try $0.string(0))
            })
    }

    /// The ordered faults in the order of their operations' names.
    static func ordered(_ connection: Connection) throws -> [Faults.Fault] {
        try connection.query("SELECT \(columns) FROM faults WHERE remaining > 0 ORDER BY operation").map {
            try Faults.Fault($0)
        }
    }

    /// How many requests have met each operation's fault since it was ordered.
    static func counts(_ connection: Connection) throws -> [Faults.Operation: Int] {
        var counts: [Faults.Operation: Int] = [:]
        for row in try connection.query("SELECT operation, hits FROM faults") {
            counts[try Faults.operation(try row.string(0))] = try row.int(1)
        }
        return counts
    }

    // MARK: Hits

    /// Adds a hit, and deletes the oldest beyond a number.
    static func record(_ hit: Faults.Hit, keeping most: Int, _ connection: Connection) throws {
        let last = try connection.queryOne("SELECT max(number) FROM fault_hits")?.optionalInt64(0) ?? 0
        let others: [any SQLConvertible] = [last + 1, hit.date, hit.account]
        try connection.execute(
            """
            INSERT INTO fault_hits (\(columns), number, met_at, account) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """, arguments(hit.fault) + others)
        try connection.execute("DELETE FROM fault_hits WHERE number <= $1", [last + 1 - Int64(most)])
    }

    /// The last hits, newest first.
    static func hits(_ connection: Connection) throws -> [Faults.Hit] {
        try connection.query("SELECT \(columns), met_at, account FROM fault_hits ORDER BY number DESC").map { row in
            Faults.Hit(fault: try Faults.Fault(row), date: try row.int64(6), account: try row.optionalString(7))
        }
    }

    /// The values of ``columns``.
    private static func arguments(_ fault: Faults.Fault) -> [any SQLConvertible] {
        [
            fault.operation.rawValue, fault.status, fault.error?.name, fault.cutAfter, fault.wrongContent?.rawValue,
            fault.remaining,
        ]
    }
}

extension Faults {
    fileprivate static func operation(_ name: String) throws -> Operation {
        guard let operation = Operation(rawValue: name) else { throw unreadable }
        return operation
    }

    fileprivate static let unreadable = StoreError(
        .internalError, "The database has a fault that this program does not know.")
}

extension Faults.Fault {
    /// Reads the columns of ``FaultRows``, which are the first.
    fileprivate init(_ row: Row) throws {
        self.init(
            operation: try Faults.operation(try row.string(0)), status: try row.int(1), remaining: try row.int(5))
        if let name = try row.optionalString(2) {
            guard let known = OrderedError(name: name) else { throw Faults.unreadable }
            error = known
        }
        cutAfter = try row.optionalInt64(3)
        if let name = try row.optionalString(4) {
            guard let known = Faults.WrongContent(rawValue: name) else { throw Faults.unreadable }
            wrongContent = known
        }
    }
}
