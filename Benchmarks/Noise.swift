import Foundation

/// Bytes that cannot be compressed, the same each time.
enum Noise {
    /// Writes about this number of bytes, in whole mebibytes, to a new file.
    static func write(_ bytes: Int, to file: URL) throws {
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let handle = try FileHandle(forWritingTo: file)
        // xorshift64.
        var state: UInt64 = 42
        var piece = [UInt64](repeating: 0, count: 1 << 17)
        for _ in 0..<max(1, bytes >> 20) {
            for index in piece.indices {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                piece[index] = state
            }
            try handle.write(contentsOf: piece.withUnsafeBytes { Data($0) })
        }
        try handle.close()
    }
}
