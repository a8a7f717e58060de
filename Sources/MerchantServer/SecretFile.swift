import Foundation

/// A file that only its owner may read.
enum SecretFile {
    /// More than any file of keys needs.
    static let maximumSize = 256 << 10

    /// The file's bytes.
    /// - Throws: ``MerchantServerError`` `storage`, or `exposedSecret` when others than the owner may read it.
    static func read(_ url: URL) throws -> Data {
        // Of the file that a link leads to: mounted secrets are links.
        var status = stat()
        guard stat(url.path, &status) == 0 else {
            throw MerchantServerError(.storage, "\(url.path) cannot be read. Is it there, and yours?")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw MerchantServerError(
                .exposedSecret, "\(url.path) may be read by others. Make it 0600, and replace the keys if they leaked.")
        }
        return try readPublic(url)
    }

    /// The bytes of a file that may be anyone's to read.
    /// - Parameters:
    ///   - limit: the most bytes that it may have.
    ///   - kind: what it is, for words.
    /// - Throws: ``MerchantServerError`` `storage`, `invalidConfiguration` when it is too large.
    static func readPublic(_ url: URL, limit: Int = maximumSize, _ kind: String = "file of keys") throws -> Data {
        guard let file = try? FileHandle(forReadingFrom: url) else {
            throw MerchantServerError(.storage, "\(url.path) cannot be read. Is it there, and yours?")
        }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: limit + 1) else {
            throw MerchantServerError(.storage, "\(url.path) cannot be read.")
        }
        guard data.count <= limit else {
            throw MerchantServerError(
                .invalidConfiguration, "\(url.path) is over \(limit) bytes, more than a \(kind) may have.")
        }
        return data
    }

    /// Makes the file, mode 0600 from the first byte on; it appears whole or not at all. False when it is there already, which then stays as it is.
    /// - Throws: ``MerchantServerError`` `storage`.
    static func create(_ url: URL, _ data: Data) throws -> Bool {
        var generator = SystemRandomNumberGenerator()
        let aside = url.path + ".\(UInt64.random(in: .min ... .max, using: &generator)).new"
        let file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw unwritable(url) }
        defer { unlink(aside) }
        let bytes = Array(data)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.write(file, $0.baseAddress.map { $0 + written }, bytes.count - written)
            }
            guard count > 0 else {
                close(file)
                throw unwritable(url)
            }
            written += count
        }
        guard fsync(file) == 0, close(file) == 0 else { throw unwritable(url) }
        // A link, unlike a renaming, does not replace what another process made meanwhile.
        if link(aside, url.path) == 0 { return true }
        guard errno == EEXIST else { throw unwritable(url) }
        return false
    }

    private static func unwritable(_ url: URL) -> MerchantServerError {
        MerchantServerError(.storage, "\(url.path) cannot be written. Is the disk full?")
    }
}
