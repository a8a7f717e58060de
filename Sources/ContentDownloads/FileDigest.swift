import CornerstoreEncoding
import Crypto
import Foundation

/// Computes the SHA-256 of files, read in portions.
enum FileDigest {
    private static let portion = 1 << 20

    /// The digest in lower-case hexadecimal.
    static func sha256(of file: URL, isCancelled: () -> Bool) throws(ContentDownloadError) -> String {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .system("cannot open", file) }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: portion, alignment: 16)
        defer { buffer.deallocate() }
        var hasher = SHA256()
        while true {
            guard !isCancelled() else { throw .wasCancelled }
            let count = read(descriptor, buffer.baseAddress, portion)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system("cannot read", file) }
            guard count > 0 else { return Hexadecimal.encoded(hasher.finalize()) }
            hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
