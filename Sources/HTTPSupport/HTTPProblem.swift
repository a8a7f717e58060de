import CornerstoreEncoding
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// An error that a client may read: a status, a stable code and a sentence. Its JSON body is `{"code": …, "message": …,
/// "requestId": …}`.
public struct HTTPProblem: HTTPResponseError {
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The error's code, a stable word for programs.
    public var code: String
    /// A sentence for people: what was wrong, and what to do.
    public var message: String
    /// The error behind this one, which the body carries as `"error": {"domain": …, "code": …}`.
    public var cause: Cause?
    /// A detail for the log, which the client does not see.
    public var reason: String?
    /// The seconds after which the same request may succeed: `Retry-After`.
    public var retryAfter: Int?
    /// Further fields of the response.
    public var headers = HTTPFields()
    /// Whether the connection ends with the response.
    var closesConnection = false

    /// An error of another party, by its domain and code.
    public struct Cause: Encodable, Sendable, Equatable {
        /// The error's domain.
        public var domain: String
        /// The error's code in its domain.
        public var code: Int

        /// Creates a cause.
        public init(domain: String, code: Int) {
            self.domain = domain
            self.code = code
        }
    }

    /// Creates a problem.
    /// - Parameter retryAfter: the seconds to wait; nil means 1 for a 503, so that every 503 says when to try again.
    public init(
        _ status: HTTPResponse.Status, code: String, message: String, cause: Cause? = nil, retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter ?? (status == .serviceUnavailable ? 1 : nil)
        // The rest of a body that arrives too slowly would go on arriving as slowly.
        closesConnection = status == .requestTimeout
    }

    private struct Body: Encodable {
        var code: String
        var message: String
        var requestId: String
        var error: Cause?
    }

    /// The response to a request that failed with this problem.
    /// - Throws: `EncodingError` when the problem cannot be written as JSON.
    public func response(from request: Request, context: some RequestContext) throws -> Response {
        let requestID = context.requestID
        let body = try JSONEncoder.compact.encode(
            Body(code: code, message: message, requestId: requestID, error: cause))
        var headers = headers
        headers[.contentType] = "application/json"
        headers[.requestID] = requestID
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        // RFC 9110, section 11.6.1: a 401 names the scheme to use.
        if status == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
        if request.method == .head {
            // RFC 9110, section 9.3.2: the fields alone.
            return Response(
                status: status, headers: headers,
                body: ResponseBody(contentLength: body.count) { try await $0.finish(nil) })
        }
        let response = Response(
            status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        return closesConnection ? response.closingConnection() : response
    }

    /// A page about the problem, with the other fields of its JSON response.
    func show(_ page: Response, replacing json: Response, for request: Request) -> Response {
        var page = page
        for field in json.headers where ![.contentType, .contentLength].contains(field.name) {
            page.headers[field.name] = field.value
        }
        if request.method == .head { return page.createHeadResponse() }
        return closesConnection ? page.closingConnection() : page
    }
}

extension Response {
    /// The same response as the last of its connection: the server reads nothing more from it.
    public func closingConnection() -> Response {
        var response = self
        response.headers[.connection] = "close"
        let body = self.body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            // Hummingbird closes a connection whose answer ends in an error.
            throw ConnectionEnd()
        }
        return response
    }

    private struct ConnectionEnd: Error {}
}

extension RequestContext {
    /// The request's id in the log. Hummingbird's own `id` ends the process when the log's handler keeps no metadata.
    public var requestID: String { logger[metadataKey: "hb.request.id"]?.description ?? "unknown" }
}

extension HTTPField.Name {
    /// The `X-Request-Id` field, which identifies the request in the log.
    public static let requestID = HTTPField.Name(unchecked: "x-request-id")
}

extension HTTPField.Name {
    /// Creates a name that is written in this file and known to be valid.
    fileprivate init(unchecked name: String) { self = HTTPField.Name(name) ?? .server }
}
