public import NIOCore
public import NIOHTTP1

/// A complete answer of status 200 to a request that is answered on the connection's event loop.
public struct DirectAnswer: Sendable {
    /// The value of `Content-Type`.
    public var contentType: String
    /// Further fields, beside `Content-Length`, `Date` and `X-Request-Id`.
    public var fields: [(name: String, value: String)]
    /// The answer's body.
    public var body: ByteBuffer

    /// Creates an answer.
    public init(contentType: String, fields: [(name: String, value: String)] = [], body: ByteBuffer) {
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }
}

/// The parts of a request that decide whether it can be answered directly.
///
/// They come from the head that NIO's codec decoded. Converting this head to Hummingbird's request would cost as much
/// as the answer itself.
public struct DirectRequest: Sendable {
    /// `GET` or `POST`.
    public let method: HTTPMethod
    /// The request's target as the client sent it.
    public let path: String
    /// The value of the only `Authorization` field.
    public private(set) var authorization: String?
    /// The value of the only `Content-Type` field.
    public private(set) var contentType: String?
    /// The value of the last `X-Forwarded-For` field.
    public private(set) var forwardedFor: String?
    /// The value of the only `X-Request-Id` field, which the answer repeats.
    private(set) var id: String?

    /// Returns nil for requests that only the router answers: another method or version, a missing or invalid `Host`,
    /// an `Expect` or `Connection` field, an invalid request id, or a repeated field that may occur only once.
    init?(_ head: HTTPRequestHead) {
        guard head.method == .GET || head.method == .POST, head.version == .http1_1 else { return nil }
        (method, path) = (head.method, head.uri)
        var hasHost = false
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where Self.isSame(name, "host"):
                guard !hasHost, HostField.isGood(value) else { return nil }
                hasHost = true
            case 6 where Self.isSame(name, "expect"), 10 where Self.isSame(name, "connection"): return nil
            case 12 where Self.isSame(name, "content-type"):
                guard contentType == nil else { return nil }
                contentType = value
            case 12 where Self.isSame(name, "x-request-id"):
                guard id == nil, RequestIDText.isGood(value) else { return nil }
                id = value
            case 13 where Self.isSame(name, "authorization"):
                guard authorization == nil else { return nil }
                authorization = value
            case 15 where Self.isSame(name, "x-forwarded-for"): forwardedFor = value
            default: break
            }
        }
        guard hasHost else { return nil }
    }

    /// - Parameter known: the name in lower-case letters.
    private static func isSame(_ name: String, _ known: String) -> Bool {
        zip(name.utf8, known.utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $0 >= UInt8(ascii: "A") }
    }
}

/// Answers the most frequent requests of a busy server without Hummingbird's tasks, which cost more than the answer
/// itself.
///
/// This is only a shortcut: the router can answer every request, and answers each one that is declined here. An
/// implementation may decline a request for any reason, even after it began, if its work so far can be repeated.
public protocol DirectAnswering: Sendable {
    /// The largest body, in bytes, with which a request may be answered directly; nil when the request cannot be.
    func bodyLimit(of request: DirectRequest) -> Int?

    /// Answers a request whose body has arrived. Called on the event loop, which it must not block.
    /// - Parameter address: the address of the connection's peer.
    func answer(
        _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
    ) -> DirectOutcome
}

/// The result of answering a request directly.
public enum DirectOutcome {
    /// The request is answered.
    case answer(DirectAnswer)
    /// The future's value is the answer. Nil declines the request.
    case later(EventLoopFuture<DirectAnswer?>)
    /// The router answers the request.
    case declined
}
