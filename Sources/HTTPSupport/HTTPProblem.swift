import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// An error that a client may read: a status, a stable word, and a sentence. Its JSON body is `{"code": …, "message": …, "requestID": …}`.
public struct HTTPProblem: HTTPResponseError {
    public var status: HTTPResponse.Status
    public var code: String
    public var message: String
    /// Another error that the client is told of, as `"error": {"domain": …, "code": …}`.
    public var cause: Cause?
    /// What the log says of it beside the code, and the client is not told.
    public var reason: String?
    /// In how many seconds the same request may succeed: `Retry-After`.
    public var retryAfter: Int?
    /// Whether nothing more is read of the connection.
    var closesConnection = false

    /// An error of another party, by its domain and code.
    public struct Cause: Encodable, Sendable, Equatable {
        public var domain: String
        public var code: Int

        public init(domain: String, code: Int) {
            self.domain = domain
            self.code = code
        }
    }

    /// - Parameter retryAfter: seconds; nil is 1 for a 503, so that every one of them says when to come back.
    public init(
        _ status: HTTPResponse.Status, code: String, message: String, cause: Cause? = nil, retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter ?? (status == .serviceUnavailable ? 1 : nil)
        // The rest of a body that came too slowly would go on coming as slowly.
        closesConnection = status == .requestTimeout
    }

    private struct Body: Encodable {
        var code: String
        var message: String
        var requestID: String
        var error: Cause?
    }

    public func response(from request: Request, context: some RequestContext) throws -> Response {
        let requestID = context.requestID
        let body = try JSONEncoder().encode(Body(code: code, message: message, requestID: requestID, error: cause))
        var headers: HTTPFields = [.contentType: "application/json", .requestID: requestID]
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        // RFC 9110, section 11.6.1: a 401 says by which scheme to come back.
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
}

extension Response {
    /// The same answer as the last of its connection: whatever else comes by it is not read.
    func closingConnection() -> Response {
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
    /// What finds the request in the log. Hummingbird's own `id` ends the process when the log's handler keeps no metadata.
    public var requestID: String { logger[metadataKey: "hb.request.id"]?.description ?? "unknown" }
}

extension HTTPField.Name {
    /// `X-Request-Id`, which finds the request in the log.
    public static let requestID = HTTPField.Name(unchecked: "x-request-id")
}

extension HTTPField.Name {
    /// A name that is known to be well-formed, since it stands in this file.
    fileprivate init(unchecked name: String) { self = HTTPField.Name(name) ?? .server }
}
