import CBZip2
import CornerstoreEncoding
import Crypto
import Foundation

/// Compresses bytes into a file with bzip2, as `bzip2 -9` does, and takes the MD5 of the file on the way.
final class BZip2File {
    private let stream: UnsafeMutablePointer<bz_stream>
    private let file: FeedFile
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    private var digest = Insecure.MD5()
    private var length: Int64 = 0

    /// Creates the file.
    /// - Throws: ``StoreError`` `unavailable`, also when there is no memory for bzip2 (8 MiB).
    init(_ path: String) throws {
        file = try FeedFile(path)
        stream = .allocate(capacity: 1)
        stream.initialize(to: bz_stream())
        guard BZ2_bzCompressInit(stream, 9, 0, 0) == BZ_OK else {
            throw StoreError(.unavailable, "There is no memory to compress the feed. Build it again later.")
        }
    }

    deinit {
        BZ2_bzCompressEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = min(rest.count, 1 << 30)
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: rest.baseAddress?.assumingMemoryBound(to: CChar.self))
            stream.pointee.avail_in = UInt32(count)
            while stream.pointee.avail_in > 0 { _ = try step(BZ_RUN) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    /// Ends the stream and puts the file on the disk.
    /// - Returns: the file's length, and its MD5 in hexadecimal digits.
    func finish() throws -> (length: Int64, md5: String) {
        while try step(BZ_FINISH) != BZ_STREAM_END {}
        try file.close(isDurable: true)
        return (length, Hexadecimal.encoded(Array(digest.finalize())))
    }

    private func step(_ action: Int32) throws -> Int32 {
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: CChar.self)
        stream.pointee.avail_out = UInt32(output.count)
        let code = BZ2_bzCompress(stream, action)
        guard code >= 0 else { throw StoreError(.unavailable, "bzip2 cannot compress the feed (code \(code)).") }
        let made = UnsafeRawBufferPointer(rebasing: output[..<(output.count - Int(stream.pointee.avail_out))])
        try file.write(made)
        digest.update(bufferPointer: made)
        length += Int64(made.count)
        return code
    }
}
