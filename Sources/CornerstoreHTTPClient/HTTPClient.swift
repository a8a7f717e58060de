import Foundation

/// Sends requests through the system's libcurl.
///
/// The client follows no redirections, keeps no cookies, decodes no content, and uses no proxy, whatever the
/// environment says. It sends each request once: the caller decides about retries. It accepts the certificates that the
/// system trusts. Idle connections are reused.
package final class HTTPClient: Sendable {
    /// The client of this process.
    package static let shared = HTTPClient()

    private let loop: TransferLoop?

    /// Creates a client with connections of its own. After the client is deinitialized, they close once the responses
    /// under way are complete.
    ///
    /// - Parameter authorities: a PEM file of the only root certificates to trust; nil for the system's.
    init(authorities: String? = nil) { loop = TransferLoop(authorities: authorities) }

    deinit { loop?.end() }

    /// Sends a request and waits for the head of the response. Cancelling the task ends the exchange at once.
    ///
    /// - Throws: ``HTTPClientError``. Any status is a response, not an error.
    package func send(_ request: HTTPRequest) async throws(HTTPClientError) -> HTTPResponse {
        guard request.isValid else { throw .invalidRequest }
        guard !Task.isCancelled else { throw .cancelled }
        guard let loop else { throw .failed }
        let stream = ResponseStream(loop)
        loop.add(.start(request, stream))
        return HTTPResponse(try await stream.head(), stream)
    }
}
