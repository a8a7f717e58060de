import AsyncHTTPClient
import Foundation
import MerchantWire
import NIOCore
import StoreWire
import Synchronization

/// The requests that the merchant's server sends. It follows no redirects, and every wait has a limit.
enum OutgoingHTTP {
    /// The process's only client. It reports a refused connection at once, since its callers retry by their own rules.
    static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        // More connections than concurrent requests: a request that waits for a free connection fails after the connect
        // timeout.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.timeout.connect = .seconds(5)
        configuration.redirectConfiguration = .disallow
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Reads an address for requests: `https`, or `http` to a loopback host, where nobody can listen in.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`.
    static func url(_ text: String, for purpose: String) throws -> URL {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil, url.fragment == nil, let whole = url.url
        else {
            throw MerchantServerError(
                .invalidConfiguration,
                "The address of \(purpose) must have the form https://host[:port][/path], without a password.")
        }
        switch url.scheme?.lowercased() {
        case "https": return whole
        case "http" where isLoopback(host): return whole
        default:
            throw MerchantServerError(
                .invalidConfiguration,
                "The address of \(purpose) must be https, or http on this machine (127.0.0.1, localhost, [::1]).")
        }
    }

    /// Whether a host is a loopback address. A host name that begins with 127 may resolve to any address.
    static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased().trimmingCharacters(in: ["[", "]"])
        if name == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }

    /// A complete answer.
    struct Answer: Sendable {
        var status: Int
        /// `Retry-After` in seconds; nil when it is a date, which is ignored. The App Store Server API writes
        /// milliseconds since 1970.
        var retryAfter: Int?
        /// The body, or its beginning when the caller did not ask for all of it.
        var body: [UInt8]
    }

    /// The answer's body is longer than the limit.
    struct BodyTooLarge: Error {}

    /// Posts a body.
    /// - Parameters:
    ///   - limit: the largest answer in bytes; nil for the beginning of the answer's body, up to
    ///     ``MerchantLimits/webhookAnswer`` bytes.
    ///   - timeout: the time limit of the whole exchange.
    /// - Throws: ``BodyTooLarge``, `CancellationError`, or the client's error: `deadlineExceeded` when the time is
    ///   up.
    static func post(
        _ body: [UInt8], to url: URL, headers: [(String, String)], answerLimit limit: Int?, timeout: Duration
    ) async throws -> Answer {
        try await send(.post, body, to: url, headers: headers, answerLimit: limit, timeout: timeout)
    }

    /// Sends a request, as ``post(_:to:headers:answerLimit:timeout:)`` does.
    /// - Parameter body: nil for a request without a body.
    static func send(
        _ method: RouteMethod, _ body: [UInt8]?, to url: URL, headers: [(String, String)], answerLimit limit: Int?,
        timeout: Duration
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url.absoluteString)
        switch method {
        case .get: request.method = .GET
        case .post: request.method = .POST
        case .put: request.method = .PUT
        case .patch: request.method = .PATCH
        case .delete: request.method = .DELETE
        }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let deadline = ContinuousClock.now + timeout
        let response = try await client.execute(request, deadline: .now() + TimeAmount(timeout))
        let retryAfter = response.headers.first(name: "Retry-After").flatMap { Int($0) }
        var answer = Answer(
            status: Int(response.status.code), retryAfter: retryAfter.flatMap { $0 >= 0 ? $0 : nil }, body: [])
        guard let limit else {
            // Read a short body to its end, so that the connection can serve the next request.
            let beginning = Mutex<[UInt8]>([])
            try? await withTimeLimit(min(deadline - .now, .seconds(1)), else: HTTPClientError.deadlineExceeded) {
                var count = 0
                var parts = response.body.makeAsyncIterator()
                while count <= 16 << 10, let part = try await parts.next() {
                    count += part.readableBytes
                    beginning.withLock {
                        $0 += part.readableBytesView.prefix(max(MerchantLimits.webhookAnswer - $0.count, 0))
                    }
                }
            }
            answer.body = beginning.withLock { $0 }
            return answer
        }
        if let length = response.headers.first(name: "Content-Length").flatMap({ Int($0) }), length > limit {
            throw BodyTooLarge()
        }
        answer.body = try await withTimeLimit(deadline - .now, else: HTTPClientError.deadlineExceeded) {
            var body: [UInt8] = []
            for try await part in response.body {
                guard body.count + part.readableBytes <= limit else { throw BodyTooLarge() }
                body += part.readableBytesView
            }
            return body
        }
        return answer
    }
}
