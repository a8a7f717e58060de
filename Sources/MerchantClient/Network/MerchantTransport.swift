import AsyncHTTPClient
import Foundation
import MerchantWire
import NIOCore
import StoreWire

/// Sends requests to the merchant over HTTP. One HTTP client serves the whole process.
struct MerchantTransport: Sendable {
    struct Response: Sendable {
        var status: Int
        var body: Data
        var entityTag: String?
        /// Seconds.
        var retryAfter: Int?
    }

    /// The largest accepted response in bytes: the longest possible product list.
    static let largestAnswer = 16 << 20

    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        // A redirected request would send the token to another address.
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout = .init(connect: .seconds(10), read: .seconds(30))
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// The base URL without a final slash.
    let base: String

    /// Creates a transport.
    /// - Throws: ``MerchantClientError`` `notConfigured` when the user's token cannot be sent safely to the URL.
    init(merchant: URL, allowsCleartext: Bool) throws(MerchantClientError) {
        guard let scheme = merchant.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = merchant.host, !host.isEmpty, merchant.user == nil, merchant.query == nil,
            merchant.fragment == nil
        else { throw MerchantClientError(.notConfigured, "the merchant's address is not an http or https URL") }
        guard scheme == "https" || allowsCleartext || Self.isThisMachine(host) else {
            throw MerchantClientError(
                .notConfigured,
                "http would expose the user's token on the network: use https, or set allowsCleartext")
        }
        var base = merchant.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
    }

    static func isThisMachine(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host.lowercased())
            || host.wholeMatch(of: /127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}/) != nil
    }

    func address(of route: MerchantRoute) -> URL? { URL(string: base + route.path) }

    /// Sends a request.
    /// - Throws: ``MerchantClientError`` `unreachable` or `cancelled` when no complete response arrived. The merchant
    ///   may have carried out the request.
    func send(
        _ route: MerchantRoute, body: Data? = nil, token: String? = nil, entityTag: String? = nil
    ) async throws(MerchantClientError) -> Response {
        var request = HTTPClientRequest(url: base + route.path)
        request.method = .init(rawValue: route.method.rawValue)
        request.headers.add(name: "Accept", value: "application/json")
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let entityTag { request.headers.add(name: "If-None-Match", value: entityTag) }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        do {
            let (response, answer) = try await withTimeLimit(.seconds(60), else: HTTPClientError.deadlineExceeded) {
                [request] in
                let response = try await Self.client.execute(request, timeout: .seconds(60))
                return (response, try await response.body.collect(upTo: Self.largestAnswer))
            }
            return Response(
                status: Int(response.status.code), body: Data(answer.readableBytesView),
                entityTag: response.headers.first(name: "ETag").flatMap { $0.utf8.count <= 512 ? $0 : nil },
                retryAfter: response.headers.first(name: "Retry-After").flatMap(Int.init).map { max(0, $0) })
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> MerchantClientError {
        if error is CancellationError || error as? HTTPClientError == .cancelled {
            return MerchantClientError(.cancelled, "the request was cancelled")
        }
        if error is NIOTooManyBytesError {
            return MerchantClientError(.badAnswer, "the merchant's response exceeds \(largestAnswer) bytes")
        }
        let reason =
            switch error as? HTTPClientError {
            case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded: "the merchant did not respond in time"
            case .remoteConnectionClosed: "the connection to the merchant was lost"
            case .tlsHandshakeTimeout: "the TLS handshake with the merchant timed out"
            default: "the merchant cannot be reached"
            }
        return MerchantClientError(.unreachable, "\(reason); try again")
    }
}

extension MerchantTransport.Response {
    /// Decodes the body of a successful response.
    ///
    /// - Throws: ``MerchantClientError``.
    func value<Value: Decodable>(_ type: Value.Type = Value.self) throws(MerchantClientError) -> Value {
        guard (200..<300).contains(status) else { throw failure }
        do { return try JSONDecoder().decode(Value.self, from: body) } catch {
            throw MerchantClientError(.badAnswer, "the merchant's response is not the expected JSON")
        }
    }

    /// The error for a response that is not successful. Only a 4xx status with the merchant's own error is permanent.
    /// Any other failure may come from an intermediary, and abandoning a purchase because of it could lose money.
    var failure: MerchantClientError {
        let said = body.count <= 1 << 16 ? try? JSONDecoder().decode(MerchantWireError.self, from: body) : nil
        let detail = "the merchant answered \(status)" + (said.map { ": \($0.message)" } ?? "")
        func error(_ code: MerchantClientError.Code) -> MerchantClientError {
            MerchantClientError(
                code, detail, reason: said?.code, requestID: said?.requestID, retryAfter: retryAfter)
        }
        switch status {
        case 401: return error(.notSignedIn)
        case 400..<500 where status != 408 && status != 429 && said != nil && said?.code.isRetryable == false:
            return error(said?.code == .notSignedIn ? .notSignedIn : .refused)
        case 300..<500 where status != 408 && status != 429 && said == nil: return error(.badAnswer)
        default: return error(.unreachable)
        }
    }
}
