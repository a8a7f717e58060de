import CornerstoreHTTPClient
import Foundation
import MerchantWire
import StoreWire

/// Sends requests to the merchant over HTTP.
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
        var request = HTTPRequest(route.method.rawValue, base + route.path, limits: HTTPLimits(whole: .seconds(60)))
        request.add("Accept", "application/json")
        if let token { request.add("Authorization", "Bearer \(token)") }
        if let entityTag { request.add("If-None-Match", entityTag) }
        if let body {
            request.add("Content-Type", "application/json")
            request.body = body
        }
        do throws(HTTPClientError) {
            let response = try await HTTPClient.shared.send(request)
            let answer = try await response.collect(upTo: Self.largestAnswer)
            return Response(
                status: response.status, body: Data(answer),
                entityTag: response.first("ETag").flatMap { $0.utf8.count <= 512 ? $0 : nil },
                retryAfter: response.first("Retry-After").flatMap(Int.init).map { max(0, $0) })
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: HTTPClientError) -> MerchantClientError {
        func unreachable(_ reason: String) -> MerchantClientError {
            MerchantClientError(.unreachable, "\(reason); try again")
        }
        return switch error {
        case .cancelled: MerchantClientError(.cancelled, "the request was cancelled")
        case .bodyTooLarge:
            MerchantClientError(.badAnswer, "the merchant's response exceeds \(largestAnswer) bytes")
        case .timedOut: unreachable("the merchant did not respond in time")
        case .connectionLost: unreachable("the connection to the merchant was lost")
        case .tlsFailed: unreachable("no secure connection to the merchant can be made")
        // A gateway may have sent it.
        case .malformedResponse: unreachable("the response is not HTTP")
        case .cannotConnect, .invalidRequest, .failed: unreachable("the merchant cannot be reached")
        }
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

    /// The error for a response that is not successful. Only a 4xx status other than 401, 408 and 429 with an error of
    /// the merchant's that does not ask for a retry is permanent. Any other failure may come from an intermediary, and
    /// abandoning a purchase because of it could lose money.
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
