import CornerstoreHTTPClient
import Foundation
import Store

/// One attempt to send a notification: a POST, which follows at most five redirects.
///
/// It asks only the receiver's address and addresses of the origins that the operator listed. An answer that does not
/// end is cut off, and so is one that takes too long.
struct NotificationPost: Sendable {
    /// The most redirects.
    static let mostRedirects = 5
    /// The bytes of an answer's body that are read. The rest is cut off.
    static let longestBody = 64 << 10
    /// The usual ``limit``.
    static let usualLimit = Duration.seconds(15)

    /// Sends the requests.
    var client = HTTPClient.shared
    /// The time for looking up a name and connecting, TLS included.
    var connectLimit = Duration.seconds(5)
    /// The time for the whole attempt, redirects included.
    var limit = Self.usualLimit

    /// Called with the result of each attempt, to count it.
    var counted: (@Sendable (SendAttemptResult) -> Void)?

    /// The step that follows an answer.
    private enum Step {
        case done(SendAttemptResult)
        case redirect(NotificationAddress)
    }

    /// Sends a notification's body.
    /// - Returns: the result; nil when the task was cancelled.
    func send(body: String, to receiver: NotificationReceiver) async -> SendAttemptResult? {
        let result = await attempt(body: body, to: receiver)
        if let result { counted?(result) }
        return result
    }

    private func attempt(body: String, to receiver: NotificationReceiver) async -> SendAttemptResult? {
        let body = Data(body.utf8)
        let end = ContinuousClock.now + limit
        var address = receiver.address
        var asked: Set<NotificationAddress> = []
        while true {
            guard asked.insert(address).inserted, asked.count <= Self.mostRedirects + 1 else {
                return .circularRedirect
            }
            switch await post(body, to: address, until: end) {
            case .done(let result)?: return result
            case .redirect(let next)?:
                guard receiver.allows(next) else { return .other }
                address = next
            case nil: return nil
            }
        }
    }

    private func post(
        _ body: Data, to address: NotificationAddress, until end: ContinuousClock.Instant
    ) async -> Step? {
        let left = end - .now
        guard left > .zero else { return .done(.timedOut) }
        var request = HTTPRequest(
            "POST", address.text,
            limits: HTTPLimits(connect: min(connectLimit, left), silence: left, head: left, whole: left))
        request.add("Content-Type", "application/json")
        request.add("User-Agent", "cornerstore")
        request.hasOwnConnection = true
        request.add("Connection", "close")
        request.body = body
        let response: HTTPResponse
        do throws(HTTPClientError) {
            response = try await client.send(request)
        } catch {
            return Self.result(of: error, hasHead: false).map(Step.done)
        }
        switch response.status {
        case 200...206: break
        case 301, 302, 307, 308:
            guard let next = response.first("Location").flatMap({ address.redirected(to: $0) }) else {
                return .done(.invalidResponse)
            }
            return .redirect(next)
        default: return .done(.unsuccessfulStatus)
        }
        do throws(HTTPClientError) {
            var count = 0
            while count < Self.longestBody, let bytes = try await response.next() { count += bytes.count }
        } catch {
            return Self.result(of: error, hasHead: true).map(Step.done)
        }
        return .done(Self.isKnown(charset: response.first("Content-Type")) ? .success : .unsupportedCharset)
    }

    /// Apple's word for a failure; nil for a cancelled task.
    private static func result(of error: HTTPClientError, hasHead: Bool) -> SendAttemptResult? {
        switch error {
        case .cancelled: nil
        case .timedOut: .timedOut
        case .cannotConnect: .socketIssue
        case .tlsFailed: .tlsIssue
        case .connectionLost: hasHead ? .prematureClose : .noResponse
        case .malformedResponse: .invalidResponse
        case .bodyTooLarge, .invalidRequest, .failed: .other
        }
    }

    /// Whether a `Content-Type` names a charset that the store knows, or none.
    private static func isKnown(charset type: String?) -> Bool {
        for parameter in (type ?? "").split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, parts[0].lowercased() == "charset" else { continue }
            return charsets.contains(parts[1].trimmingCharacters(in: ["\""]).lowercased())
        }
        return true
    }

    /// Names of the IANA registry of character sets that web servers use.
    private static let charsets: Set<String> = [
        "ascii", "big5", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "iso-2022-jp", "iso-8859-1", "iso-8859-15",
        "iso-8859-2", "koi8-r", "latin1", "shift_jis", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-8", "utf8",
        "windows-1250", "windows-1251", "windows-1252",
    ]
}
