public import NIOCore
public import NIOHTTP1

/// A whole answer of status 200, for a request that is answered on the connection's event loop.
public struct DirectAnswer: Sendable {
    public var contentType: String
    public var body: ByteBuffer

    public init(contentType: String, body: ByteBuffer) {
        self.contentType = contentType
        self.body = body
    }
}

/// What a request says that might be answered directly.
///
/// It is read from the codec's own head: turning that into Hummingbird's request costs as much as finding such an answer.
public struct DirectRequest: Sendable {
    /// `GET` or `POST`.
    public let method: HTTPMethod
    /// The request's target as it was sent.
    public let path: String
    /// The one `Authorization` field's value.
    public private(set) var authorization: String?
    /// The one `Content-Type` field's value.
    public private(set) var contentType: String?
    /// The last `X-Forwarded-For` field's value.
    public private(set) var forwardedFor: String?
    /// The one `X-Request-Id` field's value, which the answer says again.
    private(set) var id: String?

    /// Nil for what is the router's business: other methods and versions, a `Host` that has to be refused, fields that say
    /// what is to become of the connection, and fields of those above that are there twice.
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

    /// - Parameter known: in small letters.
    private static func isSame(_ name: String, _ known: String) -> Bool {
        zip(name.utf8, known.utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $0 >= UInt8(ascii: "A") }
    }
}

/// Answers the requests that make up nearly all of a busy server's load without Hummingbird's tasks, which cost more than such an answer itself.
///
/// It is a short cut and nothing else: whatever it does not answer goes to the router, which answers every request, these too. So it may decline for any
/// reason at any time, even after it began, if what it began can be repeated.
public protocol DirectAnswering: Sendable {
    /// The most bytes of a body with which a request might be answered directly; nil when it cannot be.
    func bodyLimit(of request: DirectRequest) -> Int?

    /// Answers a request whose body is there. Called on the event loop, which it must not block.
    /// - Parameter address: the other end of the connection.
    func answer(
        _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
    ) -> DirectOutcome
}

/// What came of a request that might have been answered directly.
public enum DirectOutcome {
    case answer(DirectAnswer)
    /// The answer comes later; nil declines then.
    case later(EventLoopFuture<DirectAnswer?>)
    case declined
}
