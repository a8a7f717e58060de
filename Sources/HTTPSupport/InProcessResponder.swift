import HTTPTypes
public import Hummingbird
import HummingbirdCore
public import Logging
public import NIOCore
import Synchronization

/// Answers requests with a server's routes and without a connection, for another part of the same process.
public struct InProcessResponder: Sendable {
    /// An answer with its whole body.
    public struct Answer: Sendable {
        /// The status, such as 200.
        public var status: Int
        /// The body.
        public var body: ByteBuffer
    }

    private let respond: @Sendable (Request, any Channel, Logger) async throws -> Response

    /// Creates a responder with a router's routes.
    public init<Context: ConnectionRequestContext>(_ router: Router<Context>)
    where Context.Source == ApplicationRequestContextSource {
        let responder = router.buildResponder()
        respond = { request, channel, logger in
            try await responder.respond(
                to: request, context: Context(source: ApplicationRequestContextSource(channel: channel, logger: logger))
            )
        }
    }

    /// Answers a request.
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: the path and query.
    ///   - body: the body; nil for none.
    ///   - type: the body's media type.
    ///   - token: the bearer token; nil for none.
    ///   - headers: further fields.
    ///   - channel: the connection on whose behalf this process asks. Rate limits count its address.
    ///   - logger: the logger of the request on whose behalf this process asks.
    ///   - limit: the largest body of an answer, in bytes.
    /// - Throws: the error of a handler, or ``Oversize``.
    public func answer(
        _ method: String, _ path: String, body: [UInt8]?, type: String = "application/json", token: String? = nil,
        headers: [String: String] = [:], on channel: any Channel, logger: Logger, limit: Int = 16 << 20
    ) async throws -> Answer {
        let collector = BodyCollector(limit)
        let response = try await respond(Self.request(method, path, body, type, token, headers), channel, logger)
        try await response.body.write(collector)
        return Answer(status: response.status.code, body: collector.whole)
    }

    /// Answers a `GET` with a body that is still to be written, such as a stream of events.
    /// - Throws: the error of a handler.
    public func response(
        _ path: String, headers: [String: String] = [:], on channel: any Channel, logger: Logger
    ) async throws -> Response {
        try await respond(Self.request("GET", path, nil, "", nil, headers), channel, logger)
    }

    private static func request(
        _ method: String, _ path: String, _ body: [UInt8]?, _ type: String, _ token: String?,
        _ fields: [String: String]
    ) -> Request {
        var headers: HTTPFields = [:]
        for (name, value) in fields { if let name = HTTPField.Name(name) { headers[name] = value } }
        if let body {
            headers[.contentType] = type
            headers[.contentLength] = String(body.count)
        }
        if let token { headers[.authorization] = "Bearer \(token)" }
        return Request(
            head: HTTPRequest(
                method: HTTPRequest.Method(rawValue: method) ?? .get, scheme: "http", authority: "localhost",
                path: path, headerFields: headers),
            body: RequestBody(buffer: body.map { ByteBuffer(bytes: $0) } ?? ByteBuffer()))
    }

    /// An answer over the limit of its reader.
    public struct Oversize: Error {}
}

/// Collects a body.
private final class BodyCollector: ResponseBodyWriter, Sendable {
    private let pieces = Mutex(ByteBuffer())
    private let limit: Int

    init(_ limit: Int) { self.limit = limit }

    var whole: ByteBuffer { pieces.withLock { $0 } }

    func write(_ buffer: ByteBuffer) async throws {
        try pieces.withLock { whole in
            guard whole.readableBytes + buffer.readableBytes <= limit else { throw InProcessResponder.Oversize() }
            whole.writeImmutableBuffer(buffer)
        }
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
