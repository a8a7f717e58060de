import CornerstoreHTTPClient
import Foundation
import StoreWire

/// Sends requests over HTTP.
struct HTTPTransport: StoreTransport {
    /// The largest response in bytes. An app receipt of about ten thousand purchases fits.
    static let largestAnswer = 16 << 20

    private let base: String

    /// Nil when the URL is not an `http` or `https` address with a host.
    init?(store: URL) {
        guard let scheme = store.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = store.host, !host.isEmpty, store.user == nil, store.query == nil, store.fragment == nil
        else { return nil }
        var base = store.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
    }

    func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse {
        var http = HTTPRequest(
            request.route.method.rawValue, base + request.route.path, limits: HTTPLimits(whole: .seconds(60)))
        http.add("Accept", "application/json, application/octet-stream")
        if let token = request.token { http.add("Authorization", "Bearer \(token)") }
        if let body = request.body {
            http.add("Content-Type", "application/json")
            http.body = body
        }
        do throws(HTTPClientError) {
            let response = try await HTTPClient.shared.send(http)
            let body = try await response.collect(upTo: Self.largestAnswer)
            return StoreTransportResponse(status: response.status, body: Data(body))
        } catch {
            throw Self.cause(of: error)
        }
    }

    /// The nearest `NSURLErrorDomain` code, with the text of Apple's URL loading system.
    private static func cause(of error: HTTPClientError) -> NetworkCause {
        switch error {
        case .cancelled: NetworkCause(code: NSURLErrorCancelled, text: "cancelled")
        case .timedOut: NetworkCause(code: NSURLErrorTimedOut, text: "The request timed out.")
        case .connectionLost:
            NetworkCause(code: NSURLErrorNetworkConnectionLost, text: "The network connection was lost.")
        case .tlsFailed:
            NetworkCause(
                code: NSURLErrorSecureConnectionFailed, text: "A secure connection to the server cannot be made.")
        case .malformedResponse, .bodyTooLarge: .badAnswer
        case .cannotConnect, .invalidRequest, .failed:
            NetworkCause(code: NSURLErrorCannotConnectToHost, text: "Could not connect to the server.")
        }
    }
}
