import CornerstoreEncoding
import Crypto
import Foundation

/// The bytes that have arrived so far, with their running SHA-256. They are in a file beside the location of the
/// complete file.
///
/// A second file says what the part belongs to: it holds the digest of the complete file and the server's entity tag,
/// without which the rest cannot be requested. A part with another digest is never continued.
final class PartFile {
    /// The size of the portions that are read from the disk, in bytes.
    private static let portion = 1 << 20

    private let place: URL
    private let descriptor: Int32
    private let digest: String
    private(set) var length: Int64 = 0
    private(set) var entityTag: String?
    private var hasher = SHA256()
    private var isClosed = false

    /// Opens the part of the file at `place`, or creates it.
    ///
    /// - Throws: ``ContentDownloadError``.
    init(of place: URL, digest: String, limit: Int64) throws(ContentDownloadError) {
        self.place = place
        self.digest = digest
        descriptor = open(Self.part(of: place).path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system("cannot open", Self.part(of: place)) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close()
            throw ContentDownloadError(.fileUnusable, "\(Self.part(of: place).path) is not a plain file; remove it")
        }
        let tag = Self.readTag(Self.tag(of: place))
        guard let tag, tag.digest == digest, status.st_size > 0, status.st_size <= limit else {
            do { try restart() } catch {
                close()
                throw error
            }
            return
        }
        entityTag = tag.entityTag
        length = Int64(status.st_size)
    }

    deinit { close() }

    static func part(of place: URL) -> URL { place.appendingPathExtension("part") }
    static func tag(of place: URL) -> URL { place.appendingPathExtension("part-of") }

    /// The number of bytes of a file that have arrived; 0 when there is no part.
    static func length(of place: URL) -> Int64 {
        var status = stat()
        return lstat(part(of: place).path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            ? Int64(status.st_size) : 0
    }

    static func remove(_ place: URL) {
        unlink(part(of: place).path)
        unlink(tag(of: place).path)
    }

    /// Adds the bytes on the disk to the digest.
    func rehash(isCancelled: () -> Bool) throws(ContentDownloadError) {
        hasher = SHA256()
        guard length > 0 else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.portion, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            guard !isCancelled() else { throw ContentDownloadError.wasCancelled }
            let count = pread(descriptor, buffer.baseAddress, min(Self.portion, Int(length - offset)), off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("cannot read", Self.part(of: place)) }
            hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        guard lseek(descriptor, off_t(length), SEEK_SET) >= 0 else {
            throw .system("cannot read", Self.part(of: place))
        }
    }

    /// Discards all bytes.
    func restart() throws(ContentDownloadError) {
        unlink(Self.tag(of: place).path)
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) >= 0 else {
            throw .system("cannot empty", Self.part(of: place))
        }
        length = 0
        entityTag = nil
        hasher = SHA256()
    }

    /// Records the digest and the entity tag before the first byte arrives.
    func begin(entityTag: String?) throws(ContentDownloadError) {
        try restart()
        let file = Self.tag(of: place)
        do {
            try Data("\(digest)\n\(entityTag ?? "")".utf8).write(to: file, options: .atomic)
        } catch {
            throw Self.isNoSpace(error)
                ? .noSpace(file)
                : ContentDownloadError(.fileUnusable, "cannot write \(file.path): \(error.localizedDescription)")
        }
        self.entityTag = entityTag
    }

    private static func isNoSpace(_ error: any Error) -> Bool {
        let error = error as NSError
        if error.domain == NSCocoaErrorDomain, error.code == CocoaError.fileWriteOutOfSpace.rawValue { return true }
        if error.domain == NSPOSIXErrorDomain, [Int(ENOSPC), Int(EDQUOT)].contains(error.code) { return true }
        return (error.userInfo[NSUnderlyingErrorKey] as? any Error).map(isNoSpace) ?? false
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(ContentDownloadError) {
        try Self.write(bytes, to: descriptor, Self.part(of: place))
        hasher.update(bufferPointer: bytes)
        length += Int64(bytes.count)
    }

    /// Writes all bytes.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ file: URL) throws(ContentDownloadError) {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(descriptor, start, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("cannot write", file) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// The SHA-256 of all bytes in hexadecimal. No bytes can be added afterwards.
    func finalDigest() -> String { Hexadecimal.encoded(hasher.finalize()) }

    /// Flushes the bytes to the disk and gives the file its name.
    func commit() throws(ContentDownloadError) {
        let part = Self.part(of: place)
        guard fsync(descriptor) == 0 else { throw .system("cannot sync", part) }
        guard rename(part.path, place.path) == 0 else { throw .system("cannot rename to", place) }
        unlink(Self.tag(of: place).path)
        let folder = open(place.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            Glibc.close(folder)
        }
        close()
    }

    func close() {
        guard !isClosed, descriptor >= 0 else { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    private static func readTag(_ file: URL) -> (digest: String, entityTag: String?)? {
        guard let bytes = FileManager.default.contents(atPath: file.path), bytes.count <= 2048 else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 2 else { return nil }
        return (String(lines[0]), lines[1].isEmpty ? nil : String(lines[1]))
    }
}

extension ContentDownloadError {
    /// The error of the last system call.
    static func system(_ what: String, _ file: URL) -> ContentDownloadError {
        let number = errno
        if number == ENOSPC || number == EDQUOT { return noSpace(file) }
        return ContentDownloadError(.fileUnusable, "\(what) \(file.path): \(String(cString: strerror(number)))")
    }

    static func noSpace(_ file: URL) -> ContentDownloadError {
        ContentDownloadError(
            .noSpace, "no space is left for \(file.path); make room, and start the download again")
    }

    static var wasCancelled: ContentDownloadError { ContentDownloadError(.cancelled, "the download was cancelled") }
}
