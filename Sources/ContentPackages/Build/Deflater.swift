import CZlib
import Foundation

/// Packs blocks of files with deflate. The blocks of a file are packed independently of one another, each with the end
/// of the one before as its dictionary. Several threads can therefore work on one file, and the result does not depend
/// on their number.
final class Deflater {
    /// The compression level, which is also bsdtar's default.
    static let level: Int32 = 6
    /// The size of deflate's window, in bytes.
    static let window = 1 << 15
    /// The first bytes of a zlib stream (RFC 1950): 32 KiB window, default level.
    static let streamHeader: [UInt8] = [0x78, 0x9C]

    // zlib stores the address of its state in the state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: ``ContentPackageError`` when memory cannot be allocated.
    init() throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // A negative window makes zlib write deflate only. The header and the checksum of the stream are written around
        // all blocks.
        let result = deflateInit2_(
            stream, Self.level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        // The error runs `deinit`, which frees the stream.
        guard result == Z_OK else { throw Self.noMemory }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    private static let noMemory = ContentPackageError(.unwritable, "Memory for packing cannot be allocated.")

    /// Packs the block. Every block but the last ends at a whole byte.
    func pack(_ block: [UInt8], dictionary: [UInt8], isLast: Bool) throws -> [UInt8] {
        deflateReset(stream)
        if !dictionary.isEmpty {
            dictionary.withUnsafeBufferPointer { bytes in
                _ = deflateSetDictionary(stream, bytes.baseAddress, UInt32(bytes.count))
            }
        }
        // Room beyond the bound of deflate, for the empty block that fills the last byte.
        let bound = Int(deflateBound(stream, UInt(block.count))) + 64
        return try [UInt8](unsafeUninitializedCapacity: bound) { output, filled in
            try block.withUnsafeBufferPointer { input in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                let result = deflate(stream, isLast ? Z_FINISH : Z_SYNC_FLUSH)
                guard result == (isLast ? Z_STREAM_END : Z_OK), stream.pointee.avail_in == 0 else {
                    throw Self.noMemory
                }
                filled = output.count - Int(stream.pointee.avail_out)
            }
        }
    }

    /// The checksum of RFC 1950 over a block.
    static func adler(_ block: [UInt8]) -> UInt {
        block.withUnsafeBufferPointer { adler32(1, $0.baseAddress, UInt32($0.count)) }
    }

    /// The checksum over two consecutive ranges of bytes, from the checksum of each.
    static func adler(_ first: UInt, _ second: UInt, secondLength: Int) -> UInt {
        adler32_combine(first, second, secondLength)
    }
}
