import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import StoreWire

/// Sends requests over HTTP. One client serves the whole process.
struct HTTPTransport: StoreTransport {
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        // A redirect would send the token to another address.
        configuration.redirectConfiguration = .disallow
        // The caller decides about retries: a product request should fail at once when nothing listens at the address.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout = .init(connect: .seconds(10), read: .seconds(30))
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

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
        var http = HTTPClientRequest(url: base + request.route.path)
        http.method = .init(rawValue: request.route.method.rawValue)
        http.headers.add(name: "Accept", value: "application/json, application/octet-stream")
        if let token = request.token { http.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let body = request.body {
            http.headers.add(name: "Content-Type", value: "application/json")
            http.body = .bytes(ByteBuffer(data: body))
        }
        do {
            return try await withTimeLimit(.seconds(60), else: HTTPClientError.deadlineExceeded) { [http] in
                let response = try await Self.client.execute(http, timeout: .seconds(60))
                let body = try await response.body.collect(upTo: Self.largestAnswer)
                return StoreTransportResponse(status: Int(response.status.code), body: Data(buffer: body))
            }
        } catch {
            throw Self.cause(of: error)
        }
    }

    /// The nearest `NSURLErrorDomain` code, with the text of Apple's URL loading system.
    private static func cause(of error: any Error) -> NetworkCause {
        switch error as? HTTPClientError {
        case .cancelled: NetworkCause(code: NSURLErrorCancelled, text: "cancelled")
        case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded:
            NetworkCause(code: NSURLErrorTimedOut, text: "The request timed out.")
        case .remoteConnectionClosed:
            NetworkCause(code: NSURLErrorNetworkConnectionLost, text: "The network connection was lost.")
        case .tlsHandshakeTimeout:
            NetworkCause(
                code: NSURLErrorSecureConnectionFailed, text: "A secure connection to the server cannot be made.")
        default:
            error is CancellationError
                ? NetworkCause(code: NSURLErrorCancelled, text: "cancelled")
                : NetworkCause(code: NSURLErrorCannotConnectToHost, text: "Could not connect to the server.")
        }
    }
}
