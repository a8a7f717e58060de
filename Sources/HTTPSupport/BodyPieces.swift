import Hummingbird
public import NIOCore

/// A body's bytes as they come, in ``Request/withPieces(on:_:_:)``. A body that ends too early fails with
/// ``HTTPProblem`` 400; the pieces that came before are good.
public struct BodyPieces: AsyncSequence, Sendable {
    public typealias Element = ByteBufferView

    fileprivate let body: RequestBody
    fileprivate let watch: StallWatch

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator(), watch: watch) }

    /// Goes through them once.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: RequestBody.AsyncIterator
        fileprivate let watch: StallWatch

        public mutating func next() async throws -> ByteBufferView? {
            var base = base
            defer { self.base = base }
            let piece = try await HTTPProblem.readingBody { try await base.next()?.readableBytesView }
            watch.progress(piece?.count ?? 0)
            return piece
        }
    }
}

extension Request {
    /// Takes the body piece by piece, for a caller that does not keep it.
    ///
    /// The body takes no room and has no deadline. A ``StallWatch`` closes the connection of a client that sends too
    /// slowly or goes silent.
    /// - Parameters:
    ///   - channel: the connection that the request came by.
    ///   - rule: how slowly the client may send.
    ///   - take: reads the pieces to their end.
    public func withPieces<T>(
        on channel: any Channel, _ rule: StallWatch.Rule, _ take: (BodyPieces) async throws -> T
    ) async throws -> T {
        channel.triggerUserOutboundEvent(StreamedBody(), promise: nil)
        return try await StallWatch.during(channel, .incoming, rule) { watch in
            try await take(BodyPieces(body: body, watch: watch))
        }
    }
}
