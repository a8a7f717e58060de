import AsyncHTTPClient
import NIOCore
import NIOPosix

/// Bytes as they are read, in pieces of at most ``pieceSize``; one piece is in memory at a time.
public struct BlobBytes: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    /// The most bytes of one piece.
    public static let pieceSize = 256 << 10

    enum Source: Sendable {
        case file(BlobFile, Range<Int64>)
        case response(HTTPClientResponse.Body)
    }

    let source: Source

    public func makeAsyncIterator() -> AsyncIterator {
        switch source {
        case .file(let file, let range): AsyncIterator(state: .file(file, range))
        case .response(let body): AsyncIterator(state: .response(body.makeAsyncIterator()))
        }
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        enum State {
            case file(BlobFile, Range<Int64>)
            case response(HTTPClientResponse.Body.AsyncIterator)
        }

        var state: State

        /// The next piece; nil at the end.
        /// - Throws: ``BlobError`` when the place gives no more before the end.
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

/// Where files are read and written, so that neither event loops nor Swift's own threads wait for a disk.
public enum BlobThreads {
    /// Runs `body` there and gives its result.
    public static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await NIOThreadPool.singleton.runIfActive(body)
    }
}
