import CPostgreSQL
import Foundation

/// One connection to the server. One thread at a time uses it, and every call blocks that thread.
final class PostgreSQLSession: StatementSession {
    /// The greatest number of prepared statements on a connection.
    private static let preparedCapacity = 512
    /// The server's `statement_timeout` in milliseconds, unless the address sets another.
    private static let statementTimeout = 30_000

    /// A statement's text and the types of its arguments. Both determine the prepared statement.
    private struct PreparedKey: Hashable {
        let sql: String
        let types: [Oid]
    }

    private let connection: OpaquePointer
    private let texts: SQLTextCache
    private var prepared: [PreparedKey: String] = [:]
    /// How long the session waits for an answer: 5 seconds longer than `statement_timeout`. Nil for no limit.
    private var patience: Duration? = .milliseconds(PostgreSQLSession.statementTimeout + 5_000)
    /// The start of the server, once it was asked for.
    private var knownStart: Int64?

    /// Connects, and makes the settings on which every transaction relies.
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
            // libpq's message has several lines, and a log record has one.
            let line = message.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
                .joined(separator: " ")
            throw DatabaseError(.unavailable, address.withoutSecrets(line))
        }
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        address.rememberPrimary(
            host: String(cString: PQhost(connection)), port: String(cString: PQport(connection)))
        // The server ends a session whose machine has been silent for 30 seconds, which releases locks and rows: by
        // keepalives, and while something that it sent is not acknowledged, when Linux sends none, by
        // tcp_user_timeout (https://www.postgresql.org/docs/15/runtime-config-connection.html).
        _ = try command(
            """
            SET search_path TO "\(address.schema)"; SET idle_in_transaction_session_timeout = 60000; SET synchronous_commit = on; \
            SET standard_conforming_strings = on; SET bytea_output = hex; SET tcp_user_timeout = 30000; \
            SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3
            """
        )
        try limitStatements(address)
    }

    /// Sets `statement_timeout`, unless the address's `options` set it (`-c statement_timeout=…`).
    private func limitStatements(_ address: PostgreSQLAddress) throws(DatabaseError) {
        guard address.limitsStatements else {
            _ = try command("SET statement_timeout = \(Self.statementTimeout)")
            return
        }
        // 0 means no limit (https://www.postgresql.org/docs/15/runtime-config-client.html#GUC-STATEMENT-TIMEOUT). The
        // setting is a text with a unit, such as "1min". The view pg_settings gives it in milliseconds, but computes
        // all settings first.
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

    /// When the server was started, in microseconds since 1970. Only the first call asks the server.
    ///
    /// It identifies the server that holds a process's locks: a standby that takes another server's place was started
    /// at another time, also at the moment of its promotion. When one of the server's processes crashes, the time stays
    /// and the locks are gone, but then all connections end
    /// (https://www.postgresql.org/docs/15/runtime-config-error-handling.html#GUC-RESTART-AFTER-CRASH).
    func serverStart() throws(DatabaseError) -> Int64 {
        if let knownStart { return knownStart }
        let rows = try query(
            "SELECT CAST(1000000 * EXTRACT(EPOCH FROM pg_postmaster_start_time()) AS BIGINT)", [])
        guard let start = rows.first.flatMap({ try? $0.int64(0) }) else {
            throw DatabaseError(.unavailable, "PostgreSQL did not say when it was started")
        }
        knownStart = start
        return start
    }

    /// Whether the connection is open and has no open transaction.
    var isIdle: Bool {
        PQstatus(connection) == CONNECTION_OK && PQtransactionStatus(connection) == PQTRANS_IDLE
    }

    /// Runs one of the module's own statements, without arguments, and returns the command tag.
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
        let parameters = address.parametersForConnection
        var keywords = parameters.map { UnsafePointer(strdup($0.keyword)) }
        var values = parameters.map { UnsafePointer(strdup($0.value)) }
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

    /// Waits for the result of the statements that were sent.
    private func answer() throws(DatabaseError) -> PostgreSQLResult {
        let deadline = patience.map { ContinuousClock.now + $0 }
        var answer: PostgreSQLResult?
        while true {
            try waitForInput(until: deadline)
            guard let next = PQgetResult(connection) else { break }
            let result = PostgreSQLResult(next)
            // After several statements sent at once, return the first failure.
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
            // -1 makes poll wait without a limit.
            let left = deadline.map { Int32(clamping: Int(($0 - .now) / .milliseconds(1))) } ?? -1
            guard deadline == nil || left > 0 else {
                throw DatabaseError(.unavailable, "PostgreSQL did not answer within \(patience ?? .zero)")
            }
            var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, left) < 0, errno != EINTR { throw lost }
            guard PQconsumeInput(connection) == 1 else { throw lost }
        }
    }

    /// The result of ``listen(for:milliseconds:)``.
    enum Listening {
        /// The time has passed, or the server sent something while the connection is open.
        case quiet
        /// The connection is broken.
        case broken
        /// The other descriptor can be read.
        case woken
    }

    /// Waits until the connection breaks or `waker` can be read, at most `milliseconds`. No statement is under way.
    func listen(for waker: Int32, milliseconds: Int32) -> Listening {
        var waiting = [
            pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0),
            pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&waiting, 2, milliseconds) > 0 else { return .quiet }
        if waiting[1].revents != 0 { return .woken }
        // Without a statement, the server reports only a changed setting or its own shutdown.
        return PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK ? .quiet : .broken
    }

    /// Takes the notifications that have arrived (https://www.postgresql.org/docs/15/libpq-notify.html).
    func notifications() -> [(channel: String, payload: String)] {
        var taken: [(channel: String, payload: String)] = []
        while let notification = PQnotifies(connection) {
            let (channel, payload) = (notification.pointee.relname, notification.pointee.extra)
            taken.append((channel.map { String(cString: $0) } ?? "", payload.map { String(cString: $0) } ?? ""))
            PQfreemem(notification)
        }
        return taken
    }

    /// Makes the session wait for each answer at most so long. Afterwards it cannot be used.
    func limitWaiting(to patience: Duration) { self.patience = patience }

    /// Whether the server answers a trivial query in time. Each second is counted by a wait of its own, so that a
    /// standstill of the whole machine counts as one second.
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

    /// The error of a lost connection, with the server's message if it sent one, such as that it is shutting down.
    private func lost(_ answer: PostgreSQLResult) -> DatabaseError {
        answer.field("C") == nil ? lost : DatabaseError(.unavailable, DatabaseError(answer).detail)
    }

    private var lost: DatabaseError {
        DatabaseError(.unavailable, "the connection to PostgreSQL was lost")
    }
}

/// The arguments of a statement in the binary format, one after the other in one array.
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
