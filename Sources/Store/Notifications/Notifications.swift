import Database
import StoreWire

/// The table `notifications`: what the store tells apps' servers, with the attempts to tell it.
enum Notifications {
    /// A row that is to be sent now.
    struct Due: Sendable {
        let notification: ServerNotification
        let lane: Int64
        /// How often the operator ordered it to be sent again.
        let resends: Int64
        /// The content of the payload; nil when the payload is made already.
        let content: NotificationContent?
    }

    private static let columns = """
        number, notification_id, bundle_id, lane, type, subtype, date, transaction_id, state, due_at, attempts, \
        send_log, signed_payload, version, is_sample
        """

    /// Writes a notification, to be sent as soon as possible.
    /// - Parameter number: its place among all; for news of a subscription, their number in the feed.
    static func add(_ content: NotificationContent, as number: TransactionID, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO notifications (number, notification_id, bundle_id, account_id, lane, type, subtype, date,
                transaction_id, status, consumption_reason, transaction_info, renewal_info, summary, bundle_version,
                version, is_sample, state, due_at, attempts, send_log)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'waiting', 0, 0, '')
            """,
            [
                .integer(number.rawValue), .text(content.notificationID), .text(content.bundleID.rawValue),
                SQLValue(content.accountID?.rawValue),
                .integer((content.originalTransactionID ?? number).rawValue), .text(content.type),
                SQLValue(content.subtype), .integer(content.date), SQLValue(content.transactionID?.rawValue),
                SQLValue(content.status), SQLValue(content.consumptionReason), SQLValue(content.transactionInfo),
                SQLValue(content.renewalInfo), SQLValue(content.part), SQLValue(content.bundleVersion),
                .integer(content.version.rawValue), .boolean(content.isSample),
            ] as [SQLValue])
    }

    // MARK: Sending

    /// The notifications of an app that are to be sent at a date: new ones before retries, each in the order of their
    /// numbers. A notification waits until each earlier one of its lane was sent once.
    /// - Parameters:
    ///   - lanes: the lanes to leave out.
    ///   - version: the only version to be sent, whose notifications wait for no other; nil for all.
    ///   - free: the machine's time by which no process may have claimed a notification of the lane; nil to ignore
    ///     claims.
    static func due(
        of bundleID: BundleID, at date: Int64, besides lanes: [Int64], only version: NotificationVersion? = nil,
        unclaimedAt free: Int64? = nil, limit: Int, _ connection: Connection
    ) throws -> [Due] {
        let places = lanes.indices.map { "$\($0 + 4)" }.joined(separator: ", ")
        var others = lanes.isEmpty ? "" : "AND lane NOT IN (\(places))"
        let holdsUp = version.map { "AND earlier.version = \($0.rawValue)" } ?? ""
        if let version { others += " AND version = \(version.rawValue)" }
        var values: [any SQLConvertible] = [bundleID.rawValue, date, limit]
        for lane in lanes { values.append(lane) }
        if let free {
            values.append(free)
            others += """
                 AND NOT EXISTS (
                    SELECT 1 FROM notifications AS claimed
                    WHERE claimed.lane = notifications.lane AND claimed.claimed_until > 0
                        AND claimed.claimed_until >= $\(values.count))
                """
        }
        return try connection.query(
            """
            SELECT \(columns), account_id, status, consumption_reason, transaction_info, renewal_info, summary,
                bundle_version, resends
            FROM notifications
            WHERE bundle_id = $1 AND state = 'waiting' AND due_at <= $2 \(others)
                AND (attempts > 0 OR NOT EXISTS (
                    SELECT 1 FROM notifications AS earlier
                    WHERE earlier.lane = notifications.lane AND earlier.state = 'waiting' AND earlier.attempts = 0
                        AND earlier.number < notifications.number \(holdsUp)))
            ORDER BY due_at, number LIMIT $3
            """, values
        ).map { row in
            let notification = try ServerNotification(row)
            return Due(
                notification: notification, lane: try row.int64(3), resends: try row.int64(22),
                content: notification.signedPayload == nil ? try NotificationContent(row, notification) : nil)
        }
    }

    /// Claims a notification for a process that has found it with ``due(of:at:besides:only:unclaimedAt:limit:_:)``.
    /// - Parameter date: the date at which it is to be sent.
    /// - Returns: false when it is not due as it was any more, or when another process has claimed one of its lane.
    static func claim(
        _ due: Due, at date: Int64, for claim: NotificationClaim, _ connection: Connection
    ) throws -> Bool {
        // Another process may have signed it, and sent it without success, since it was found.
        let payload = due.notification.signedPayload == nil ? "IS NULL" : "IS NOT NULL"
        return try connection.execute(
            """
            UPDATE notifications SET claimed_by = $2, claimed_until = $3
            WHERE number = $1 AND state = 'waiting' AND due_at <= $4 AND resends = $5 AND signed_payload \(payload)
                AND NOT EXISTS (
                    SELECT 1 FROM notifications AS claimed
                    WHERE claimed.lane = notifications.lane AND claimed.claimed_until > 0
                        AND claimed.claimed_until >= $6)
            """, [due.notification.number, claim.holder, claim.end, date, due.resends, claim.start]) == 1
    }

    /// Gives notifications back that a process has claimed and does not send now.
    static func release(_ numbers: [Int64], by holder: String, _ connection: Connection) throws {
        for number in numbers {
            try connection.execute(
                """
                UPDATE notifications SET claimed_by = NULL, claimed_until = 0 WHERE number = $1 AND claimed_by = $2
                """, [number, holder])
        }
    }

    /// Stores the signed payload unless one is stored, and deletes the content from which it was made.
    static func keep(_ payload: String, of number: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE notifications SET signed_payload = $2, transaction_info = NULL, renewal_info = NULL, summary = NULL
            WHERE number = $1 AND signed_payload IS NULL
            """, [number, payload])
    }

    /// Records an attempt, and when the next one is due. When the operator has ordered the notification to be sent
    /// again since the attempt began, that is still to be done, whatever became of the attempt.
    /// - Parameter holder: the process that must have claimed the notification last; nil for any.
    /// - Returns: the new state; nil when the notification does not wait any longer, or another process has claimed it
    ///   since.
    static func record(
        _ attempt: SendAttempt, of sent: OutgoingNotification, in environment: StoreEnvironment, by holder: String?,
        _ connection: Connection
    ) throws -> ServerNotification.State? {
        let number = sent.number
        guard
            let row = try connection.queryOne(
                """
                SELECT attempts, send_log, resends, version, claimed_by FROM notifications
                WHERE number = $1 AND state = 'waiting'
                """,
                [number])
        else { return nil }
        if let holder, try row.optionalString(4) != holder { return nil }
        let pauses = SendAttempt.pauses(in: environment, try NotificationVersion(row, column: 3))
        let count = try row.int(0)
        let attempts = (SendAttempt.read(try row.string(1)) + [attempt]).suffix(SendAttempt.most)
        guard try row.int64(2) == sent.resends else {
            try connection.execute(
                """
                UPDATE notifications SET send_log = $2, tried = (version = 2), claimed_by = NULL, claimed_until = 0
                WHERE number = $1
                """, [number, SendAttempt.log(Array(attempts))])
            return .waiting
        }
        var state = ServerNotification.State.waiting
        var due: Int64 = 0
        if attempt.result == .success {
            state = .delivered
        } else if count < pauses.count {
            due = attempt.date + pauses[count]
        } else {
            state = .failed
        }
        try connection.execute(
            """
            UPDATE notifications SET state = $2, due_at = $3, attempts = $4, send_log = $5, tried = (version = 2),
                claimed_by = NULL, claimed_until = 0
            WHERE number = $1
            """, [number, state.rawValue, due, count + 1, SendAttempt.log(Array(attempts))])
        return state
    }

    /// Lets a notification be sent again at once, with all retries. Its identifier and payload stay the same.
    /// - Returns: the notification; nil when there is none with this identifier.
    static func resend(_ id: String, _ connection: Connection) throws -> ServerNotification? {
        try connection.queryOne(
            """
            UPDATE notifications SET state = 'waiting', due_at = 0, attempts = 0, resends = resends + 1
            WHERE notification_id = $1 RETURNING \(columns)
            """, [id]
        ).map { try ServerNotification($0) }
    }

    // MARK: Reading

    /// The notification with an identifier; nil without one.
    static func find(_ id: String, _ connection: Connection) throws -> ServerNotification? {
        try connection.queryOne("SELECT \(columns) FROM notifications WHERE notification_id = $1", [id])
            .map { try ServerNotification($0) }
    }

    /// A page of the notifications of version 2 that the store has tried to send an app's server, in the order of their
    /// dates. Indexes find them, so that no payload is read but those of the page.
    /// - Parameters:
    ///   - place: the place at which the page before ended; nil for the first page.
    ///   - limit: the most notifications on the page.
    ///   - most: the most rows that the page looks at.
    /// - Returns: the rows, and the place after which others can follow; nil at the end.
    static func history(
        _ query: NotificationQuery, after place: NotificationPlace?, limit: Int,
        lookingAt most: Int = NotificationFilter.mostLooked, _ connection: Connection
    ) throws -> (rows: [ServerNotification], next: NotificationPlace?) {
        var conditions = "bundle_id = $1 AND date < $2 AND (date, number) > ($3, $4)"
        var values: [any SQLConvertible] = [
            query.bundleID.rawValue, query.end, place?.date ?? query.start - 1, place?.number ?? .max,
        ]
        func add(_ condition: String, _ value: any SQLConvertible) {
            values.append(value)
            conditions += " AND \(condition) $\(values.count)"
        }
        if let customer = query.accountID { add("account_id =", customer.rawValue) }
        let last = try connection.queryOne(
            """
            SELECT date, number FROM notifications WHERE \(conditions)
            ORDER BY date, number LIMIT 1 OFFSET $\(values.count + 1)
            """, values + [most - 1]
        ).map { NotificationPlace(date: try $0.int64(0), number: try $0.int64(1)) }
        if let last {
            values.append(last.date)
            add("(date, number) <= ($\(values.count),", last.number)
            conditions += ")"
        }
        if let type = query.type { add("type =", type) }
        if let subtype = query.subtype { add("subtype =", subtype) }
        if query.onlyFailures { conditions += " AND state <> 'delivered'" }
        let rows = try connection.query(
            """
            SELECT \(columns) FROM notifications WHERE number IN (
                SELECT number FROM notifications WHERE \(conditions) AND tried = TRUE
                ORDER BY date, number LIMIT $\(values.count + 1))
            """, values + [limit + 1]
        ).map { try ServerNotification($0) }.sorted { ($0.date, $0.number) < ($1.date, $1.number) }
        let shown = Array(rows.prefix(limit))
        return (shown, rows.count > limit ? shown.last.map { NotificationPlace($0) } : last)
    }

    /// The notifications that the operator asks for, newest first, and the number before which others begin; nil at the
    /// end.
    static func list(
        _ filter: NotificationFilter, _ connection: Connection
    ) throws -> (rows: [ServerNotification], next: Int64?) {
        let before = filter.before ?? .max
        let last = try connection.queryOne(
            "SELECT number FROM notifications WHERE number < $1 ORDER BY number DESC LIMIT 1 OFFSET $2",
            [before, NotificationFilter.mostLooked - 1])?.int64(0)
        let values: [any SQLConvertible] = [
            before, last ?? 0, filter.bundleID?.rawValue, filter.state?.rawValue, filter.limit + 1, filter.type,
        ]
        let rows = try connection.query(
            """
            SELECT \(columns) FROM notifications
            WHERE number < $1 AND number >= $2 AND (CAST($3 AS TEXT) IS NULL OR bundle_id = $3)
                AND (CAST($4 AS TEXT) IS NULL OR state = $4) AND (CAST($6 AS TEXT) IS NULL OR type = $6)
            ORDER BY number DESC LIMIT $5
            """, values
        ).map { try ServerNotification($0) }
        let shown = Array(rows.prefix(filter.limit))
        return (shown, rows.count > filter.limit ? shown.last?.number : last)
    }

    /// The highest number. Later ones must be higher.
    static func highestNumber(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(number) FROM notifications", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    /// Deletes an app's notifications of before a date that are not to be sent, the oldest ones first.
    /// - Parameters:
    ///   - isAll: whether also those that wait are deleted.
    ///   - version: the only version that is to be sent; nil for all.
    /// - Returns: how many were deleted.
    static func prune(
        of bundleID: BundleID, before date: Int64, isAll: Bool, only version: NotificationVersion?, limit: Int,
        _ connection: Connection
    ) throws -> Int {
        let others = version.map { "OR version <> \($0.rawValue)" } ?? ""
        return try connection.execute(
            """
            DELETE FROM notifications WHERE number IN (
                SELECT number FROM notifications
                WHERE bundle_id = $1 AND date < $2 \(isAll ? "" : "AND (state <> 'waiting' \(others))")
                ORDER BY date, number LIMIT $3)
            """, [bundleID.rawValue, date, limit])
    }
}

/// The claim of a process on the notifications that it is about to send. Times are milliseconds since 1970 by the
/// machine's clock, because the store's clock may be frozen.
struct NotificationClaim: Sendable {
    /// The process.
    let holder: String
    /// When it claims them.
    let start: Int64
    /// The time from which another process may send them.
    let end: Int64
}

extension ServerNotification {
    /// Reads the columns of ``Notifications``.
    fileprivate init(_ row: Row) throws {
        guard let state = State(rawValue: try row.string(8)) else {
            throw StoreError(.internalError, "A notification is in a state that this program does not know.")
        }
        let (lane, transactionID) = (try row.int64(3), try row.optionalInt64(7))
        let due = try row.int64(9)
        self.init(
            number: try row.int64(0), notificationID: try row.string(1), bundleID: BundleID(try row.string(2)),
            type: try row.string(4), subtype: try row.optionalString(5), date: try row.int64(6),
            originalTransactionID: transactionID == nil ? nil : TransactionID(rawValue: lane),
            transactionID: transactionID.map { TransactionID(rawValue: $0) }, state: state,
            nextAttemptDate: state == .waiting && due > 0 ? due : nil,
            attempts: SendAttempt.read(try row.string(11)), signedPayload: try row.optionalString(12),
            version: try NotificationVersion(row, column: 13), isSample: try row.bool(14))
    }
}

extension NotificationContent {
    /// Reads the columns that follow those of the notification.
    fileprivate init(_ row: Row, _ notification: ServerNotification) throws {
        self.init(
            notificationID: notification.notificationID, version: notification.version, type: notification.type,
            subtype: notification.subtype, bundleID: notification.bundleID, date: notification.date,
            accountID: try row.optionalString(15).map { AccountID($0) },
            originalTransactionID: notification.originalTransactionID, transactionID: notification.transactionID,
            status: try row.optionalInt64(16), consumptionReason: try row.optionalString(17),
            transactionInfo: try row.optionalString(18), renewalInfo: try row.optionalString(19),
            part: try row.optionalString(20), bundleVersion: try row.optionalString(21))
    }
}

extension NotificationVersion {
    fileprivate init(_ row: Row, column: Int) throws {
        guard let version = NotificationVersion(rawValue: try row.int64(column)) else {
            throw StoreError(.internalError, "A notification has a version that this program does not know.")
        }
        self = version
    }
}
