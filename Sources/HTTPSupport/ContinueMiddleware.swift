import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Sends `100 Continue` to a client that waits for it before it sends a body (`Expect: 100-continue`, RFC 9110, section
/// 10.1.1), at the moment when the handler starts to read the body. A client that is refused because of its request's
/// head, such as for a missing key or a length over the limit, need not send the body at all.
public struct ContinueMiddleware<Context: ConnectionRequestContext>: RouterMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Passes the request on, with a body that sends `100 Continue` before its first bytes are read.
    /// - Throws: the error of `next`.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return try await next(request, context) }
        let awaited = AwaitedBody(request.body, on: context.channel)
        var request = request
        request.body = RequestBody(asyncSequence: awaited)
        let response = try await next(request, context)
        // The client may now send the body or the next request, and the server cannot tell which. Close the connection.
        return awaited.isBegun ? response : response.closingConnection()
    }
}

/// A body whose sender waits for `100 Continue`.
private final class AwaitedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private let body: RequestBody
    private let channel: any Channel
    private let begun = Atomic(false)

    init(_ body: RequestBody, on channel: any Channel) {
        self.body = body
        self.channel = channel
    }

    /// Whether the body was asked for.
    var isBegun: Bool { begun.load(ordering: .relaxed) }

    private func begin() async throws {
        guard !begun.exchange(true, ordering: .relaxed) else { return }
        try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let awaited: AwaitedBody
        fileprivate var parts: RequestBody.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            try await awaited.begin()
            return try await parts.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(awaited: self, parts: body.makeAsyncIterator()) }
}
