import AsyncHTTPClient
import Foundation
import NIOCore
import StoreWire

/// The requests that the merchant's server makes of others. It follows no redirection and waits for nothing without end.
enum OutgoingHTTP {
    /// Lives as long as the process. Says at once that nobody listens, since its callers try again by rules of their own.
    static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        // More than ask at once: who waits for a connection is given up after the time that one may take to be made.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.timeout.connect = .seconds(5)
        configuration.redirectConfiguration = .disallow
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// An address that may be asked: `https`, or `http` on this machine, where nobody listens in between.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`.
    static func url(_ text: String, for purpose: String) throws -> URL {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil, url.fragment == nil, let whole = url.url
        else {
            throw MerchantServerError(
                .invalidConfiguration,
                "The address of \(purpose) is written https://host[:port][/path], without a password.")
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

    /// Whether a host is this machine, by its name or number; a name that only begins so may lead anywhere.
    static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased().trimmingCharacters(in: ["[", "]"])
        if name == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }

    /// A whole answer.
    struct Answer: Sendable {
        var status: Int
        /// `Retry-After` in seconds, when it is a number; a date is not waited for.
        var retryAfter: Int?
        /// Empty when it was not asked for.
        var body: [UInt8]
    }

    /// What was wrong with an answer's body.
    struct BodyTooLarge: Error {}

    /// Posts a body.
    /// - Parameters:
    ///   - limit: bytes of the answer at most; nil when the answer's body does not matter and is dropped.
    ///   - timeout: for all of it.
    /// - Throws: ``BodyTooLarge``, `CancellationError`, or the client's error: `deadlineExceeded` when the time is over.
    static func post(
        _ body: [UInt8], to url: URL, headers: [(String, String)], answerLimit limit: Int?, timeout: Duration
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(bytes: body))
        let deadline = ContinuousClock.now + timeout
        let response = try await client.execute(request, deadline: .now() + TimeAmount(timeout))
        let retryAfter = response.headers.first(name: "Retry-After").flatMap { Int($0) }
        var answer = Answer(
            status: Int(response.status.code), retryAfter: retryAfter.flatMap { $0 >= 0 ? $0 : nil }, body: [])
        guard let limit else {
            // A short body is taken off the connection, which then serves the next request as well.
            try? await withTimeLimit(min(deadline - .now, .seconds(1)), else: HTTPClientError.deadlineExceeded) {
                var dropped = 0
                var parts = response.body.makeAsyncIterator()
                while dropped <= 16 << 10, let part = try await parts.next() { dropped += part.readableBytes }
            }
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
