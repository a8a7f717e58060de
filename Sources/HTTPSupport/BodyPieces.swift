import Hummingbird
public import NIOCore

/// The bytes of a body as they arrive, for ``Request/withPieces(on:_:_:)``. A body that ends too early fails with
/// ``HTTPProblem`` 400; the pieces before that are valid.
public struct BodyPieces: AsyncSequence, Sendable {
    /// A piece of the body.
    public typealias Element = ByteBufferView

    fileprivate let body: RequestBody
    fileprivate let watch: StallWatch

    /// Starts reading the body. It can be read once.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator(), watch: watch) }

    /// Reads the pieces in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: RequestBody.AsyncIterator
        fileprivate let watch: StallWatch

        /// The next piece; nil at the end of the body.
        /// - Throws: ``HTTPProblem`` 400 when the body ends too early.
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
    /// Reads the body piece by piece, for a caller that does not keep it.
    ///
    /// The body takes no part of the memory budget and has no deadline. A ``StallWatch`` closes the connection of a
    /// client that sends too slowly or stops.
    /// - Parameters:
    ///   - channel: the connection that the request arrived on.
    ///   - rule: the lowest rate at which the client may send.
    ///   - take: reads the pieces to their end.
    /// - Throws: the error of `take`.
    public func withPieces<T>(
        on channel: any Channel, _ rule: StallWatch.Rule, _ take: (BodyPieces) async throws -> T
    ) async throws -> T {
        channel.triggerUserOutboundEvent(StreamedBody(), promise: nil)
        return try await StallWatch.during(channel, .incoming, rule) { watch in
            try await take(BodyPieces(body: body, watch: watch))
        }
    }
}
