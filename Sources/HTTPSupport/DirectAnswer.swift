public import HTTPTypes
public import NIOCore

/// A whole answer of status 200, for a request that is answered on the connection's event loop.
public struct DirectAnswer: Sendable {
    public var contentType: String
    public var body: ByteBuffer

    public init(contentType: String, body: ByteBuffer) {
        self.contentType = contentType
        self.body = body
    }
}

/// Answers the requests that make up nearly all of a busy server's load without Hummingbird's tasks, which cost more than such an answer itself.
///
/// It is a short cut and nothing else: whatever it does not answer goes to the router, which answers every request, these too. So it may decline for any
/// reason at any time, even after it began, if what it began can be repeated.
public protocol DirectAnswering: Sendable {
    /// The most bytes of a body with which a request might be answered directly; nil when it cannot be.
    func bodyLimit(of request: HTTPRequest) -> Int?

    /// Answers a request whose body is there. Called on the event loop, which it must not block.
    /// - Parameter address: the other end of the connection.
    func answer(
        _ request: HTTPRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
    ) -> DirectOutcome
}

/// What came of a request that might have been answered directly.
public enum DirectOutcome {
    case answer(DirectAnswer)
    /// The answer comes later; nil declines then.
    case later(EventLoopFuture<DirectAnswer?>)
    case declined
}
