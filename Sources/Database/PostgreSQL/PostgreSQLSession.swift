import CPostgreSQL
import Foundation

/// One connection to the server. Used by one thread at a time; every call blocks it.
final class PostgreSQLSession: StatementSession {
    /// Statements kept prepared on a connection.
    private static let preparedCapacity = 512
    /// How long the server may work on one statement, in milliseconds, unless the address says otherwise.
    private static let statementTimeout = 30_000

    /// A statement's text with the types of its arguments, which its prepared form depends on.
    private struct PreparedKey: Hashable {
        let sql: String
        let types: [Oid]
    }

    private let connection: OpaquePointer
    private let texts: SQLTextCache
    private var prepared: [PreparedKey: String] = [:]
    /// How long an answer is waited for: a little longer than the server may take.
    private var patience: Duration? = .milliseconds(PostgreSQLSession.statementTimeout + 5_000)

    /// Connects, and sets what every transaction relies on.
    ///
    /// - Throws: ``DatabaseError/Code/unavailable`` within the address's `connect_timeout`.
    init(_ address: PostgreSQLAddress, _ texts: SQLTextCache) throws(DatabaseError) {
        guard let connection = Self.connect(address) else {
            throw DatabaseError(.unavailable, "out of memory for a connection to PostgreSQL")
        }
        self.connection = connection
        self.texts = texts
        guard PQstatus(connection) == CONNECTION_OK else {
            let message = String(cString: PQerrorMessage(connection))
            // libpq writes several lines, and a record of the log is one.
            let line = message.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
                .joined(separator: " ")
            throw DatabaseError(.unavailable, address.withoutSecrets(line))
        }
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        _ = try command(
            """
            SET search_path TO "\(address.schema)"; SET idle_in_transaction_session_timeout = 60000; SET synchronous_commit = on; \
            SET standard_conforming_strings = on; SET bytea_output = hex
            """
        )
        try limitStatements(address)
    }

    /// Bounds what the server may work on one statement, by the address's `options` where they do (`-c
    /// statement_timeout=…`).
    private func limitStatements(_ address: PostgreSQLAddress) throws(DatabaseError) {
        guard address.limitsStatements else {
            _ = try command("SET statement_timeout = \(Self.statementTimeout)")
            return
        }
        // 0 is no limit (https://www.postgresql.org/docs/15/runtime-config-client.html#GUC-STATEMENT-TIMEOUT). The
        // setting is text with a unit, such as "1min". The view pg_settings has it in milliseconds, but builds all
        // settings first.
        let rows = try query(
            """
            SELECT CAST(CAST(1000 * EXTRACT(EPOCH FROM CAST(current_setting('statement_timeout') AS INTERVAL)) AS BIGINT) AS TEXT)
            """, [])
        guard let row = rows.first, let limit = (try? row.string(0)).flatMap({ Int($0) }), limit > 0 else {
            patience = nil
            return
        }
        patience = .milliseconds(limit + 5_000)
    }

    deinit {
        PQfinish(connection)
    }

    /// Whether the connection stands and no transaction is open on it.
    var isIdle: Bool {
        PQstatus(connection) == CONNECTION_OK && PQtransactionStatus(connection) == PQTRANS_IDLE
    }

    /// Runs a statement of the module's own, without arguments, and gives the server's word for what it did.
    func command(_ sql: String) throws(DatabaseError) -> String {
        guard PQsendQuery(connection, sql) == 1 else { throw lost }
        return try answer().command
    }

    /// Does nothing: the server bounds each statement by `statement_timeout`.
    func endStatements(at deadline: ContinuousClock.Instant?) {}

    func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row] {
        try run(sql, arguments).rows()
    }

    func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int {
        try run(sql, arguments).changes
    }

    private static func connect(_ address: PostgreSQLAddress) -> OpaquePointer? {
        var keywords = address.parameters.map { UnsafePointer(strdup($0.keyword)) }
        var values = address.parameters.map { UnsafePointer(strdup($0.value)) }
        defer {
            for pointer in keywords + values { free(UnsafeMutablePointer(mutating: pointer)) }
        }
        keywords.append(nil)
        values.append(nil)
        return PQconnectdbParams(keywords, values, 0)
    }

    private func run(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> PostgreSQLResult {
        let (text, isKept) = try texts.text(sql)
        try text.check(argumentCount: arguments.count)
        let arguments = try SQLArgument.all(arguments)
        let types = arguments.map { PostgreSQLType.number($0.type) }
        let name = isKept ? try prepare(text.postgresql, types) : nil
        let parameters = PostgreSQLParameters(arguments)
        let isSent = parameters.withPointers { count, values, lengths, formats in
            if let name {
                PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            } else {
                PQsendQueryParams(connection, text.postgresql, count, types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw lost }
        return try answer()
    }

    private func prepare(_ sql: String, _ types: [Oid]) throws(DatabaseError) -> String {
        let key = PreparedKey(sql: sql, types: types)
        if let name = prepared[key] { return name }
        if prepared.count >= Self.preparedCapacity {
            _ = try command("DEALLOCATE ALL")
            prepared.removeAll()
        }
        let name = "s\(prepared.count)"
        guard PQsendPrepare(connection, name, sql, Int32(types.count), types) == 1 else { throw lost }
        _ = try answer()
        prepared[key] = name
        return name
    }

    /// Waits for the answer to what was sent.
    private func answer() throws(DatabaseError) -> PostgreSQLResult {
        let deadline = patience.map { ContinuousClock.now + $0 }
        var answer: PostgreSQLResult?
        while true {
            try waitForInput(until: deadline)
            guard let next = PQgetResult(connection) else { break }
            let result = PostgreSQLResult(next)
            // Of several statements sent at once, the first failure is the answer.
            if answer?.isSuccess ?? true { answer = result }
        }
        guard let answer else { throw lost }
        guard answer.isSuccess else {
            throw PQstatus(connection) == CONNECTION_OK ? DatabaseError(answer) : lost(answer)
        }
        return answer
    }

    private func waitForInput(until deadline: ContinuousClock.Instant?) throws(DatabaseError) {
        while PQisBusy(connection) == 1 {
            // -1 waits without end.
            let left = deadline.map { Int32(clamping: Int(($0 - .now) / .milliseconds(1))) } ?? -1
            guard deadline == nil || left > 0 else {
                throw DatabaseError(.unavailable, "PostgreSQL did not answer in time")
            }
            var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, left) < 0, errno != EINTR { throw lost }
            guard PQconsumeInput(connection) == 1 else { throw lost }
        }
    }

    /// What came of listening to a connection on which nothing is asked.
    enum Listening {
        case quiet
        case broken
        /// The other descriptor can be read.
        case woken
    }

    /// Waits for the connection's end, for `waker`, or for so many milliseconds.
    func listen(for waker: Int32, milliseconds: Int32) -> Listening {
        var waiting = [
            pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0),
            pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&waiting, 2, milliseconds) > 0 else { return .quiet }
        if waiting[1].revents != 0 { return .woken }
        // The server says little unasked: a changed setting, or that it is being stopped.
        return PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK ? .quiet : .broken
    }

    /// Whether the server answers a trivial question. Seconds are counted as waits, so that a machine that stood still
    /// has waited for one.
    func answers(withinSeconds seconds: Int) -> Bool {
        guard PQsendQuery(connection, "SELECT 1") == 1 else { return false }
        var (left, isFine) = (seconds, true)
        while true {
            while PQisBusy(connection) == 1 {
                var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
                if poll(&descriptor, 1, 1_000) == 0 { left -= 1 }
                guard left > 0, PQconsumeInput(connection) == 1 else { return false }
            }
            guard let next = PQgetResult(connection) else { return isFine && isIdle }
            isFine = PostgreSQLResult(next).isSuccess && isFine
        }
    }

    /// The server's last words, if it had any, such as that it is being stopped.
    private func lost(_ answer: PostgreSQLResult) -> DatabaseError {
        answer.field("C") == nil ? lost : DatabaseError(.unavailable, DatabaseError(answer).detail)
    }

    private var lost: DatabaseError {
        DatabaseError(.unavailable, "the connection to PostgreSQL was lost")
    }
}

/// The arguments of a statement in binary form, side by side in one piece of memory.
private struct PostgreSQLParameters {
    private var bytes: [UInt8] = [0]
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []

    init(_ arguments: [SQLArgument]) {
        for argument in arguments {
            let start = bytes.count
            PostgreSQLType.encode(argument.value, into: &bytes)
            lengths.append(Int32(bytes.count - start))
            offsets.append(argument.value == .null ? nil : start)
        }
        // An empty value at the end must still have an address.
        bytes.append(0)
    }

    func withPointers<T>(
        _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) -> T
    ) -> T {
        bytes.withUnsafeBytes { memory in
            let values = offsets.map { offset in
                offset.flatMap { memory.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            }
            return body(Int32(lengths.count), values, lengths, Array(repeating: 1, count: lengths.count))
        }
    }
}
