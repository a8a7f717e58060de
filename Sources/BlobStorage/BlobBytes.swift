import AsyncHTTPClient
import NIOCore
import NIOPosix

/// An asynchronous sequence of bytes, read in pieces of at most ``pieceSize``. Only one piece is in memory at a time.
public struct BlobBytes: AsyncSequence, Sendable {
    /// A piece of the bytes.
    public typealias Element = ByteBuffer

    /// The largest piece, in bytes.
    public static let pieceSize = 256 << 10

    enum Source: Sendable {
        case file(BlobFile, Range<Int64>)
        case response(HTTPClientResponse.Body)
    }

    let source: Source

    /// Starts reading at the first byte.
    public func makeAsyncIterator() -> AsyncIterator {
        switch source {
        case .file(let file, let range): AsyncIterator(state: .file(file, range))
        case .response(let body): AsyncIterator(state: .response(body.makeAsyncIterator()))
        }
    }

    /// Reads the pieces in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        enum State {
            case file(BlobFile, Range<Int64>)
            case response(HTTPClientResponse.Body.AsyncIterator)
        }

        var state: State

        /// Reads the next piece; nil at the end.
        /// - Throws: ``BlobError`` when the source ends too early.
        public mutating func next() async throws -> ByteBuffer? {
            switch state {
            case .file(let file, let range):
                guard !range.isEmpty else { return nil }
                let count = Int(Swift.min(Int64(BlobBytes.pieceSize), range.upperBound - range.lowerBound))
                let piece = try await BlobThreads.run { try file.read(at: range.lowerBound, count: count) }
                state = .file(file, (range.lowerBound + Int64(piece.readableBytes))..<range.upperBound)
                return piece
            case .response(var iterator):
                let piece = try await iterator.next()
                state = .response(iterator)
                return piece
            }
        }
    }
}

/// The threads that read and write files, so that a disk blocks neither the event loops nor Swift's own threads.
public enum BlobThreads {
    /// Runs `body` on one of the threads and returns its result.
    /// - Throws: the error of `body`; `CancellationError` when the task is cancelled before `body` begins.
    public static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await NIOThreadPool.singleton.runIfActive(body)
    }
}
