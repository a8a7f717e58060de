import CornerstoreCCurl

/// The reason why a response did not arrive, or not completely. No value contains an address, a header field or text
/// from the network.
package enum HTTPClientError: Error, Sendable, Equatable {
    /// The task was cancelled.
    case cancelled
    /// A time of ``HTTPLimits`` has passed.
    case timedOut
    /// No connection to the server could be made.
    case cannotConnect
    /// TLS could not be agreed on, or the server's certificate is not trusted.
    case tlsFailed
    /// The connection ended before the response was complete. The server may have performed the request.
    case connectionLost
    /// The response is not HTTP, or its head is too large.
    case malformedResponse
    /// The body has more bytes than the caller takes.
    case bodyTooLarge
    /// The request cannot be sent, for example because its address is not an `http` or `https` URL.
    case invalidRequest
    /// Anything else, such as a lack of memory.
    case failed

    init(_ code: CURLcode) {
        self =
            switch code {
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .cannotConnect
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_INVALIDCERTSTATUS:
                .tlsFailed
            // ``Exchange`` aborts a request that curl would send again after the connection was lost.
            case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_PARTIAL_FILE,
                CURLE_ABORTED_BY_CALLBACK:
                .connectionLost
            // The scheme of an address was checked: the response has another protocol or version.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
                CURLE_FILESIZE_EXCEEDED:
                .malformedResponse
            case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED: .invalidRequest
            default: .failed
            }
    }
}
