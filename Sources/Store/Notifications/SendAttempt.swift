import StoreWire

/// The result of an attempt to send a notification, in the words of Apple's `sendAttemptResult`.
public enum SendAttemptResult: String, Sendable, CaseIterable {
    /// The answer has a status from 200 to 206.
    case success = "SUCCESS"
    /// The answer was not complete in time.
    case timedOut = "TIMED_OUT"
    /// No TLS session was established, or the certificate is not trusted.
    case tlsIssue = "TLS_ISSUE"
    /// More than five redirects, or a redirect to an earlier address.
    case circularRedirect = "CIRCULAR_REDIRECT"
    /// The connection ended before the head of an answer was complete.
    case noResponse = "NO_RESPONSE"
    /// No connection was established.
    case socketIssue = "SOCKET_ISSUE"
    /// The answer has a charset that the store does not know.
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    /// The answer is not HTTP, its head is too large, or its redirect has no valid address.
    case invalidResponse = "INVALID_RESPONSE"
    /// The connection ended in the answer's body.
    case prematureClose = "PREMATURE_CLOSE"
    /// The answer has another status.
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    /// Anything else, such as a redirect to an origin that the operator did not list.
    case other = "OTHER"
}

/// An attempt to send a notification: Apple's `sendAttemptItem`.
public struct SendAttempt: Sendable, Equatable {
    /// The most attempts that a notification keeps (Apple's number: the first one, and five retries).
    public static let most = 6

    /// When the attempt began, in milliseconds since 1970 by the store's clock.
    public let date: Int64
    /// The result.
    public let result: SendAttemptResult

    /// Creates an attempt.
    public init(date: Int64, result: SendAttemptResult) { (self.date, self.result) = (date, result) }

    /// Reads what ``log(_:)`` wrote.
    static func read(_ log: String) -> [SendAttempt] {
        log.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let date = Int64(words[0]) else { return nil }
            return SendAttempt(date: date, result: SendAttemptResult(rawValue: String(words[1])) ?? .other)
        }
    }

    /// The attempts as the table keeps them: a line for each, empty without any.
    static func log(_ attempts: [SendAttempt]) -> String {
        attempts.map { "\($0.date) \($0.result.rawValue)" }.joined(separator: "\n")
    }

    /// The pauses after the first attempt and after each retry, in milliseconds of the store's clock. Apple retries in
    /// production only: version 2 after 1, 12, 24, 48 and 72 hours, version 1 after 6, 24 and 48 hours.
    static func pauses(in environment: StoreEnvironment, _ version: NotificationVersion) -> [Int64] {
        guard environment == .production else { return [] }
        let hours: [Int64] = version == .two ? [1, 12, 24, 48, 72] : [6, 24, 48]
        return hours.map { $0 * 3_600_000 }
    }
}
