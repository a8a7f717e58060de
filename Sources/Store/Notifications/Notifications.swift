import Database
import StoreWire

/// The table `notifications`: what the store tells apps' servers, with the attempts to tell it.
enum Notifications {
    /// A row that is to be sent now.
    struct Due: Sendable {
        let notification: ServerNotification
        let lane: Int64
        /// What the payload says; nil when it is signed already.
        let content: NotificationContent?
    }

    private static let columns = """
        number, notification_id, bundle_id, lane, type, subtype, date, transaction_id, state, due_at, attempts, \
        send_log, signed_payload
        """

    /// Writes a notification, to be sent as soon as possible.
    /// - Parameter number: its place among all; for news of a subscription, their number in the feed.
    static func add(_ content: NotificationContent, as number: TransactionID, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO notifications (number, notification_id, bundle_id, account_id, lane, type, subtype, date,
                transaction_id, status, consumption_reason, transaction_info, renewal_info, summary, state, due_at,
                attempts, send_log)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'waiting', 0, 0, '')
            """,
            [
                .integer(number.rawValue), .text(content.notificationID), .text(content.bundleID.rawValue),
                SQLValue(content.accountID?.rawValue),
                .integer((content.originalTransactionID ?? number).rawValue), .text(content.type),
                SQLValue(content.subtype), .integer(content.date), SQLValue(content.transactionID?.rawValue),
                SQLValue(content.status), SQLValue(content.consumptionReason), SQLValue(content.transactionInfo),
                SQLValue(content.renewalInfo), SQLValue(content.summary),
            ] as [SQLValue])
    }

    // MARK: Sending

    /// The notifications of an app that are to be sent at a date: new ones before retries, each in the order of their
    /// numbers. A notification waits until each earlier one of its lane was sent once.
    /// - Parameter lanes: the lanes to leave out.
    static func due(
        of bundleID: BundleID, at date: Int64, besides lanes: [Int64], limit: Int, _ connection: Connection
    ) throws -> [Due] {
        let places = lanes.indices.map { "$\($0 + 4)" }.joined(separator: ", ")
        let others = lanes.isEmpty ? "" : "AND lane NOT IN (\(places))"
        var values: [any SQLConvertible] = [bundleID.rawValue, date, limit]
        for lane in lanes { values.append(lane) }
        return try connection.query(
            """
            SELECT \(columns), account_id, status, consumption_reason, transaction_info, renewal_info, summary
            FROM notifications
            WHERE bundle_id = $1 AND state = 'waiting' AND due_at <= $2 \(others)
                AND (attempts > 0 OR NOT EXISTS (
                    SELECT 1 FROM notifications AS earlier
                    WHERE earlier.lane = notifications.lane AND earlier.state = 'waiting' AND earlier.attempts = 0
                        AND earlier.number < notifications.number))
            ORDER BY due_at, number LIMIT $3
            """, values
        ).map { row in
            let notification = try ServerNotification(row)
            return Due(
                notification: notification, lane: try row.int64(3),
                content: notification.signedPayload == nil ? try NotificationContent(row, notification) : nil)
        }
    }

    /// Keeps the payload of a notification, unless it has one. What it says is not needed any longer.
    static func keep(_ payload: String, of number: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE notifications SET signed_payload = $2, transaction_info = NULL, renewal_info = NULL, summary = NULL
            WHERE number = $1 AND signed_payload IS NULL
            """, [number, payload])
    }

    /// Records an attempt, and when the next one is due.
    /// - Parameter pauses: the pauses after the first attempt and after each retry.
    /// - Returns: the new state; nil when the notification does not wait any longer.
    static func record(
        _ attempt: SendAttempt, of number: Int64, pauses: [Int64], _ connection: Connection
    ) throws -> ServerNotification.State? {
        guard
            let row = try connection.queryOne(
                "SELECT attempts, send_log FROM notifications WHERE number = $1 AND state = 'waiting'", [number])
        else { return nil }
        let count = try row.int(0)
        let attempts = (SendAttempt.read(try row.string(1)) + [attempt]).suffix(SendAttempt.most)
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
            UPDATE notifications SET state = $2, due_at = $3, attempts = $4, send_log = $5 WHERE number = $1
            """, [number, state.rawValue, due, count + 1, SendAttempt.log(Array(attempts))])
        return state
    }

    /// Lets a notification be sent again at once, with all retries. Its identifier and payload stay the same.
    /// - Returns: the notification; nil when there is none with this identifier.
    static func resend(_ id: String, _ connection: Connection) throws -> ServerNotification? {
        try connection.queryOne(
            """
            UPDATE notifications SET state = 'waiting', due_at = 0, attempts = 0 WHERE notification_id = $1
            RETURNING \(columns)
            """, [id]
        ).map { try ServerNotification($0) }
    }

    // MARK: Reading

    /// The notification with an identifier; nil without one.
    static func find(_ id: String, _ connection: Connection) throws -> ServerNotification? {
        try connection.queryOne("SELECT \(columns) FROM notifications WHERE notification_id = $1", [id])
            .map { try ServerNotification($0) }
    }

    /// The notifications of an app that the store has tried to send, in the order of their dates.
    /// - Parameter place: the last one of the page before; nil for the first page.
    static func history(
        _ query: NotificationQuery, after place: NotificationPlace?, limit: Int, _ connection: Connection
    ) throws -> [ServerNotification] {
        var conditions = ""
        var values: [any SQLConvertible] = [
            query.bundleID.rawValue, query.end, place?.date ?? query.start - 1, place?.number ?? .max, limit,
        ]
        let filters = [
            ("account_id", query.accountID?.rawValue), ("type", query.type), ("subtype", query.subtype),
        ]
        for (column, value) in filters {
            guard let value else { continue }
            values.append(value)
            conditions += "AND \(column) = $\(values.count) "
        }
        if query.onlyFailures { conditions += "AND state <> 'delivered'" }
        return try connection.query(
            """
            SELECT \(columns) FROM notifications
            WHERE bundle_id = $1 AND date < $2 AND (date, number) > ($3, $4) AND send_log <> '' \(conditions)
            ORDER BY date, number LIMIT $5
            """, values
        ).map { try ServerNotification($0) }
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
    /// - Parameter isAll: whether also those that wait are deleted.
    /// - Returns: how many were deleted.
    static func prune(
        of bundleID: BundleID, before date: Int64, isAll: Bool, limit: Int, _ connection: Connection
    ) throws -> Int {
        try connection.execute(
            """
            DELETE FROM notifications WHERE number IN (
                SELECT number FROM notifications
                WHERE bundle_id = $1 AND date < $2 \(isAll ? "" : "AND state <> 'waiting'")
                ORDER BY date, number LIMIT $3)
            """, [bundleID.rawValue, date, limit])
    }
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
            attempts: SendAttempt.read(try row.string(11)), signedPayload: try row.optionalString(12))
    }
}

extension NotificationContent {
    /// Reads the columns that follow those of the notification.
    fileprivate init(_ row: Row, _ notification: ServerNotification) throws {
        self.init(
            notificationID: notification.notificationID, type: notification.type, subtype: notification.subtype,
            bundleID: notification.bundleID, date: notification.date,
            accountID: try row.optionalString(13).map { AccountID($0) },
            originalTransactionID: notification.originalTransactionID, transactionID: notification.transactionID,
            status: try row.optionalInt64(14), consumptionReason: try row.optionalString(15),
            transactionInfo: try row.optionalString(16), renewalInfo: try row.optionalString(17),
            summary: try row.optionalString(18))
    }
}
