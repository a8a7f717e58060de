import Foundation

/// Reads and creates files that only their owner may read.
package enum SecretFile {
    /// The largest file of keys, in bytes.
    package static let maximumSize = 256 << 10

    /// Reads a secret file.
    /// - Throws: ``BackupError`` `storage`, or `exposedSecret` when users other than the owner may read the
    ///   file.
    package static func read(_ url: URL) throws -> Data {
        // Check the file that a link leads to: mounted secrets are links.
        var status = stat()
        guard stat(url.path, &status) == 0 else {
            throw BackupError(.storage, "\(url.path) cannot be read. Check that it exists and that you own it.")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw BackupError(
                .exposedSecret,
                "\(url.path) can be read by other users. Set its mode to 0600, and replace the keys if they leaked.")
        }
        return try readPublic(url)
    }

    /// Reads a file that anyone may read.
    /// - Parameters:
    ///   - limit: the largest size, in bytes.
    ///   - kind: the kind of file, for the error.
    /// - Throws: ``BackupError`` `storage`, or `invalidConfiguration` when the file is too large.
    package static func readPublic(
        _ url: URL, limit: Int = maximumSize, _ kind: String = "file of keys"
    ) throws -> Data {
        guard let file = try? FileHandle(forReadingFrom: url) else {
            throw BackupError(
                .storage, "\(url.path) cannot be read. Check that it exists and that you may read it.")
        }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: limit + 1) else {
            throw BackupError(.storage, "\(url.path) cannot be read.")
        }
        guard data.count <= limit else {
            throw BackupError(
                .invalidConfiguration, "\(url.path) is over \(limit) bytes, more than a \(kind) may have.")
        }
        return data
    }

    /// Creates a file, mode 0600 from the first byte on. It appears whole or not at all. Returns false, and changes
    /// nothing, when the file exists.
    /// - Throws: ``BackupError`` `storage`.
    package static func create(_ url: URL, _ data: Data) throws -> Bool {
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
        // Unlike a rename, a link does not replace a file that another process made meanwhile.
        if link(aside, url.path) == 0 { return true }
        guard errno == EEXIST else { throw unwritable(url) }
        return false
    }

    private static func unwritable(_ url: URL) -> BackupError {
        BackupError(.storage, "\(url.path) cannot be written. Is the disk full?")
    }
}
