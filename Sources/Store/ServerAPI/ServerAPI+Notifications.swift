import CornerstoreEncoding
import Database
import Foundation
import StoreWire

/// The history of notifications, and test notifications.
extension ServerAPI {
    private var outbox: NotificationOutbox { NotificationOutbox(store, identity: currentIdentity) }

    /// Answers `POST /inApps/v1/notifications/history`: the notifications of a time that the store tried to send,
    /// oldest first, 20 on a page, with their payloads as they were first signed. A page looks at a bounded number of
    /// notifications: when filters leave out most of them, it can be short or empty while `hasMore` is true.
    /// - Parameters:
    ///   - body: Apple's `NotificationHistoryRequest`, the same for each page.
    ///   - paginationToken: the token of the page before; nil for the first page.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func notificationHistory(
        _ body: [UInt8], paginationToken: String?, of bundleID: BundleID
    ) async throws -> [UInt8] {
        var query = try NotificationQuery(body, of: bundleID, at: store.clock.milliseconds)
        if let id = query.transactionID { query.accountID = try await customer(id, of: bundleID) }
        let secret = secret(of: bundleID)
        let place = try paginationToken.map { [query] in try NotificationPlace($0, for: query, secret: secret) }
        let page = try await store.database.read { [query] connection in
            try Notifications.history(query, after: place, limit: Self.page, connection)
        }
        var json = JSONBytes(capacity: 1_024 + page.rows.count * 16_384)
        json.beginObject()
        json.beginArray("notificationHistory")
        for notification in page.rows {
            json.beginObject()
            Self.write(notification, to: &json)
            json.endObject()
        }
        json.endArray()
        json.member("hasMore", page.next != nil)
        if let next = page.next { json.member("paginationToken", next.text(for: query, secret: secret)) }
        json.endObject()
        return json.bytes
    }

    private static func write(_ notification: ServerNotification, to json: inout JSONBytes) {
        if let payload = notification.signedPayload { json.member("signedPayload", payload) }
        json.beginArray("sendAttempts")
        for attempt in notification.attempts {
            json.beginObject()
            json.member("attemptDate", number: attempt.date)
            json.member("sendAttemptResult", attempt.result.rawValue)
            json.endObject()
        }
        json.endArray()
    }

    /// Answers `POST /inApps/v1/notifications/test`: sends the app's server a test notification.
    /// - Throws: ``APIError`` `4040007` when the app has no URL; ``DatabaseError``.
    public func requestTestNotification(of bundleID: BundleID) async throws -> [UInt8] {
        let sent: ServerNotification
        do { sent = try await outbox.sendTest(to: bundleID) } catch let error as StoreError
            where error.code == .wrongState
        {
            throw APIError.notificationURLNotFound
        }
        var json = JSONBytes(capacity: 128)
        json.beginObject()
        json.member("testNotificationToken", "\(sent.notificationID)_\(sent.date)")
        json.endObject()
        return json.bytes
    }

    /// Answers `GET /inApps/v1/notifications/test/{testNotificationToken}`.
    /// - Parameter token: what ``requestTestNotification(of:)`` answered, in any letter case. It is good for 180 days.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func testNotificationStatus(_ token: String, of bundleID: BundleID) async throws -> [UInt8] {
        let parts = token.utf8.count <= 64 ? token.split(separator: "_", omittingEmptySubsequences: false) : []
        guard parts.count == 2, let id = UUID(uuidString: String(parts[0])), let date = Int64(parts[1]) else {
            throw APIError.invalidTestToken
        }
        let found = try await store.database.read { try Notifications.find(id.text.lowercased(), $0) }
        guard let found, found.bundleID == bundleID, found.type == NotificationWord.test, found.date == date,
            let first = found.attempts.first, date >= store.clock.milliseconds - NotificationOutbox.keptFor
        else { throw APIError.testNotificationNotFound }
        var json = JSONBytes(capacity: 16_384)
        json.beginObject()
        Self.write(found, to: &json)
        json.member("firstSendAttemptResult", first.result.rawValue)
        json.endObject()
        return json.bytes
    }
}
