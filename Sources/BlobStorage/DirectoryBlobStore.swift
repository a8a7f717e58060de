import Foundation
import Glibc

/// Keeps blobs as files in a folder, named by their digests, two levels of folders deep.
///
/// A file gets its name in one step, after its bytes are on the disk. A name in the folder therefore always belongs to
/// a whole file, whenever the process or the machine stops.
public struct DirectoryBlobStore: BlobStore {
    private let folder: URL

    /// Creates a store in a folder.
    /// - Parameters:
    ///   - folder: the folder, which is created with mode 0700 when it does not exist.
    ///   - makesFolder: false to create the folder only when the first blob is stored.
    /// - Throws: ``BlobError``.
    public init(folder: URL, makesFolder: Bool = true) throws {
        self.folder = folder
        if makesFolder { try Self.makeFolder(folder) }
    }

    private func place(_ digest: BlobDigest) -> URL {
        let name = digest.hexadecimal
        return folder.appendingPathComponent(String(name.prefix(2))).appendingPathComponent(
            String(name.dropFirst(2).prefix(2))
        ).appendingPathComponent(name)
    }

    /// Stores a file's bytes, by a second link to the file where the file system allows it.
    /// - Throws: ``BlobError``.
    public func put(_ file: URL, as digest: BlobDigest) async throws {
        let place = place(digest)
        try await BlobThreads.run {
            let size = try BlobFile(file).size
            let known = try? BlobFile(place).size
            guard known != size else { return }
            let parent = place.deletingLastPathComponent()
            try Self.makeFolder(folder)
            try Self.makeFolder(parent)
            try Self.flush(file)
            // A hard link costs nothing. The file is copied when the folder is on another file system, and when a
            // damaged file of another length has to be replaced.
            if known != nil || link(file.path, place.path) != 0 && errno != EEXIST { try Self.copy(file, to: place) }
            for folder in [parent, parent.deletingLastPathComponent(), folder] { try Self.flush(folder) }
        }
    }

    /// The size of the blob in bytes; nil when the folder does not hold it.
    /// - Throws: ``BlobError``.
    public func size(of digest: BlobDigest) async throws -> Int64? {
        let place = place(digest)
        return try await BlobThreads.run {
            do { return try BlobFile(place).size } catch let error as BlobError where error.code == .notFound {
                return nil
            }
        }
    }

    /// The bytes of a range of the blob.
    /// - Throws: ``BlobError`` `notFound` or `invalidRange`.
    public func bytes(of digest: BlobDigest, in range: Range<Int64>) async throws -> BlobBytes {
        let place = place(digest)
        return try await BlobThreads.run { try BlobFile(place).bytes(in: range) }
    }

    /// Removes the blob's file.
    /// - Throws: ``BlobError``.
    public func remove(_ digest: BlobDigest) async throws {
        let place = place(digest)
        try await BlobThreads.run {
            guard unlink(place.path) == 0 || errno == ENOENT else { throw Self.failure("removed") }
        }
    }

    /// Nil: a folder has no addresses.
    public func address(of digest: BlobDigest, seconds: Int) -> String? { nil }

    // MARK: Files

    private static func makeFolder(_ folder: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw BlobError(.unavailable, "The folder \(folder.path) cannot be created.")
        }
    }

    private static func copy(_ file: URL, to place: URL) throws {
        // The name is new each time, because several tasks and processes may store the same blob at once.
        let aside = URL(fileURLWithPath: place.path + ".\(UUID().uuidString).new")
        do {
            try FileManager.default.copyItem(at: file, to: aside)
            try flush(aside)
        } catch {
            unlink(aside.path)
            throw error is BlobError ? error : BlobError(.full, "A file cannot be copied. Is the disk full?")
        }
        guard rename(aside.path, place.path) == 0 else {
            defer { unlink(aside.path) }
            throw failure("renamed")
        }
    }

    /// Waits until a file's bytes, or a folder's entries, are on the disk.
    private static func flush(_ url: URL) throws {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("opened") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("written to the disk") }
    }

    private static func failure(_ what: String) -> BlobError {
        BlobError(
            errno == ENOSPC || errno == EDQUOT ? .full : .unavailable,
            "A file cannot be \(what): \(String(cString: strerror(errno))).")
    }
}
