import Hummingbird
public import NIOCore

/// A body's bytes as they come. One that ends too early fails with ``HTTPProblem`` 400; what came stays.
public struct BodyPieces: AsyncSequence, Sendable {
    public typealias Element = ByteBufferView

    fileprivate let body: RequestBody

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator()) }

    /// Goes through them once.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: RequestBody.AsyncIterator

        public mutating func next() async throws -> ByteBufferView? {
            do {
                return try await base.next()?.readableBytesView
            } catch {
                throw HTTPProblem(.badRequest, code: "invalid_request", message: "The body ended too early.")
            }
        }
    }
}

extension Request {
    /// The body, for who does not need the whole of it at once.
    public var pieces: BodyPieces { BodyPieces(body: body) }
}
