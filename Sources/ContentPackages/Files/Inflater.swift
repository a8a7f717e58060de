import CZlib

/// Unpacks a deflate stream, piece by piece.
final class Inflater {
    /// The format that wraps the stream.
    enum Wrapping {
        /// The zlib format of RFC 1950, which xar calls `application/x-gzip`.
        case zlib
        /// The gzip format of RFC 1952.
        case gzip
    }

    /// The result of one step.
    struct Step {
        var consumed: Int
        var produced: Int
        var isAtEnd: Bool
    }

    /// The stream is not deflate, or is damaged.
    struct Damage: Error {}

    // zlib stores the address of its state in the state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: ``ContentPackageError`` when memory cannot be allocated.
    init(_ wrapping: Wrapping) throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let bits = wrapping == .gzip ? MAX_WBITS + 16 : MAX_WBITS
        guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            // The error runs `deinit`, which frees the stream.
            throw ContentPackageError(.unreadable, "Memory for unpacking cannot be allocated.")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Starts another stream.
    func reset() { inflateReset(stream) }

    /// Unpacks until the input ends or the output is full.
    /// - Throws: ``Damage``.
    func step(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws -> Step {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(output.count)
        let result = inflate(stream, Z_NO_FLUSH)
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else { throw Damage() }
        return Step(
            consumed: input.count - Int(stream.pointee.avail_in),
            produced: output.count - Int(stream.pointee.avail_out), isAtEnd: result == Z_STREAM_END)
    }
}
