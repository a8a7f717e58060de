import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire

/// The query in a request for the notification history: Apple's `NotificationHistoryRequest`.
struct NotificationQuery: Sendable, Equatable {
    let bundleID: BundleID
    /// The first date, in milliseconds since 1970.
    let start: Int64
    /// The date before which the history ends.
    let end: Int64
    /// The `notificationType`; nil for all.
    let type: String?
    /// The `subtype`; nil for all.
    let subtype: String?
    /// The identifier of any transaction of the only customer, as the caller wrote it; nil for all.
    let transactionID: String?
    /// Whether only notifications that the server has not received.
    let onlyFailures: Bool
    /// The customer of ``transactionID``.
    var accountID: AccountID?

    /// Reads the body of a request.
    /// - Parameter now: the store's time, in milliseconds since 1970.
    /// - Throws: ``APIError``.
    init(_ body: [UInt8], of bundleID: BundleID, at now: Int64) throws {
        guard let object = try? FlatJSONObject(body) else { throw APIError.badRequest }
        let (start, end) = (
            try Self.date(try? object.number("startDate"), .invalidStartDate),
            try Self.date(try? object.number("endDate"), .invalidEndDate)
        )
        guard start < end else { throw APIError.startAfterEnd }
        guard start >= now - NotificationOutbox.keptFor else { throw APIError.startTooFarInPast }
        let type: String?
        let subtype: String?
        do {
            type = try object.string("notificationType")
            subtype = try object.string("notificationSubtype")
        } catch {
            throw APIError.invalidNotificationType
        }
        if let type, !NotificationWord.types.contains(type) { throw APIError.invalidNotificationType }
        if let subtype, type == nil || !NotificationWord.subtypes.contains(subtype) {
            throw APIError.invalidNotificationType
        }
        let transactionID: String?
        do { transactionID = try object.string("transactionId") } catch { throw APIError.invalidTransactionID }
        guard transactionID == nil || type == nil else { throw APIError.multipleFilters }
        let onlyFailures: Bool
        do { onlyFailures = try object.flag("onlyFailures") ?? false } catch { throw APIError.badRequest }
        self.bundleID = bundleID
        (self.start, self.end, self.type, self.subtype) = (start, end, type, subtype)
        (self.transactionID, self.onlyFailures) = (transactionID, onlyFailures)
    }

    /// Swift's library can send fractions of milliseconds.
    private static func date(_ number: Double?, _ error: APIError) throws -> Int64 {
        guard let number, number >= 0, number < 1e15 else { throw error }
        return Int64(number.rounded(.down))
    }

    /// The query as text. A type and a subtype are words without spaces.
    fileprivate var canonicalText: String {
        let customer = accountID?.rawValue ?? "-"
        return "\(start) \(end) \(type ?? "-") \(subtype ?? "-") \(onlyFailures) \(bundleID) \(customer)"
    }
}

/// The place in a notification history after which the next page begins. Callers get it as `paginationToken`:
/// `<date>.<number>_<check>`.
struct NotificationPlace: Sendable, Equatable {
    /// The date of the last notification on the page, in milliseconds since 1970.
    let date: Int64
    /// Its number.
    let number: Int64

    init(date: Int64, number: Int64) { (self.date, self.number) = (date, number) }

    init(_ notification: ServerNotification) { (date, number) = (notification.date, notification.number) }

    /// Reads a token that ``text(for:secret:)`` wrote for the same query.
    /// - Throws: ``APIError`` `invalidPaginationToken`.
    init(_ token: String, for query: NotificationQuery, secret: SymmetricKey) throws {
        let parts = token.utf8.count <= 80 ? token.split(separator: "_", omittingEmptySubsequences: false) : []
        let numbers = parts.first?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 2, numbers.count == 2, let date = Int64(numbers[0]), let number = Int64(numbers[1])
        else { throw APIError.invalidPaginationToken }
        (self.date, self.number) = (date, number)
        guard text(for: query, secret: secret).hasSameBytes(as: token) else { throw APIError.invalidPaginationToken }
    }

    /// - Parameter secret: a key that callers do not have, so that they cannot make tokens.
    func text(for query: NotificationQuery, secret: SymmetricKey) -> String {
        let place = "\(date).\(number)"
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("notifications \(place) \(query.canonicalText)".utf8),
            using: secret)
        return "\(place)_\(Hexadecimal.encoded(code.prefix(8)))"
    }
}
