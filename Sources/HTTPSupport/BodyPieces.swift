import Hummingbird
public import NIOCore

/// A body's bytes as they come. A body that ends too early fails with ``HTTPProblem`` 400; what came stays.
public struct BodyPieces: AsyncSequence, Sendable {
    public typealias Element = ByteBufferView

    fileprivate let body: RequestBody

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator()) }

    /// Goes through them once.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: RequestBody.AsyncIterator

        public mutating func next() async throws -> ByteBufferView? {
            var base = base
            defer { self.base = base }
            return try await HTTPProblem.readingBody { try await base.next()?.readableBytesView }
        }
    }
}

extension Request {
    /// The body piece by piece, for a caller that does not keep it. No deadline ends it and it takes no room; watch it
    /// with a ``StallWatch``.
    /// - Parameter channel: the connection that the request came by.
    public func pieces(on channel: any Channel) -> BodyPieces {
        channel.triggerUserOutboundEvent(StreamedBody(), promise: nil)
        return BodyPieces(body: body)
    }
}
