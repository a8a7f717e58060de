import Crypto
import Foundation

/// Writes the bytes of the files one after another into a temporary file, which has no name and disappears with the
/// process.
struct HeapWriter: ~Copyable {
    private static let bufferSize = 1 << 18

    let file: WritableFile
    /// The offset from the start of the heap, after the table's checksum.
    private(set) var offset: Int64
    private let base: Int64
    private var buffer: [UInt8] = []
    private var sum = SHA256()
    private var start: Int64

    /// - Parameter path: a new file beside the package; its name is removed at once.
    init(_ path: String, base: Int) throws {
        file = try WritableFile(path, mode: 0o600)
        unlink(path)
        self.base = Int64(base)
        offset = self.base
        start = self.base
        buffer.reserveCapacity(Self.bufferSize)
    }

    /// The length of the file after flushing.
    var length: Int64 { offset - base }

    /// Starts a file, with its offset and its checksum.
    mutating func begin() {
        start = offset
        sum = SHA256()
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws {
        sum.update(bufferPointer: bytes)
        offset += Int64(bytes.count)
        if buffer.count + bytes.count > Self.bufferSize { try flush() }
        if bytes.count >= Self.bufferSize { try file.write(bytes) } else { buffer += bytes }
    }

    mutating func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    /// The location and the checksum of the bytes since ``begin()``.
    func written() -> (offset: Int64, length: Int64, sum: [UInt8]) { (start, offset - start, Array(sum.finalize())) }

    /// Discards the bytes since ``begin()``.
    mutating func goBack() throws {
        try flush()
        try file.cut(to: start - base)
        offset = start
        begin()
    }

    mutating func flush() throws {
        guard !buffer.isEmpty else { return }
        try buffer.withUnsafeBytes { try file.write($0) }
        buffer.removeAll(keepingCapacity: true)
    }
}
