import BlobStorage
import Crypto
import Foundation
import Glibc

/// A file in a backup's folder, as the backup's manifest lists it.
package struct BackupFile: Codable, Equatable, Sendable {
    /// The path below the backup's folder.
    package var name: String
    /// The size in bytes.
    package var size: Int64
    /// The SHA-256, hexadecimal.
    package var sha256: String

    /// The size and digest of a file as it is now; nil when it does not exist or is not a regular file.
    package static func of(_ folder: URL, _ name: String) async throws -> BackupFile? {
        let url = folder.appendingPathComponent(name)
        guard let file = try? await BlobThreads.run({ try BlobFile(url) }) else { return nil }
        var hash = SHA256()
        for try await piece in try file.bytes(in: 0..<file.size) {
            piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        }
        return BackupFile(name: name, size: file.size, sha256: BlobDigest(hash.finalize()).hexadecimal)
    }
}

/// Content that a backup's database names.
package struct BackupContent: Codable, Hashable, Sendable {
    /// The SHA-256, hexadecimal.
    package var sha256: String
    /// The size in bytes.
    package var size: Int64

    /// Names content by its digest.
    package init(sha256: String, size: Int64) {
        self.sha256 = sha256
        self.size = size
    }
}

/// The folder of a backup while it is written.
package enum BackupFolder {
    /// Fills a folder that appears whole or not at all.
    /// - Parameters:
    ///   - folder: the folder to create; it may exist if it is empty.
    ///   - fill: writes the contents into a folder beside it.
    /// - Throws: ``BackupError`` `storage`; the errors of `fill`.
    package static func create<T>(_ folder: URL, _ fill: (URL) async throws -> T) async throws -> T {
        let known = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        guard known == [] || known == nil && !FileManager.default.fileExists(atPath: folder.path) else {
            throw BackupError(.storage, "\(folder.path) exists already. Name a folder that does not exist.")
        }
        let staging: StagingFolder
        do {
            let parent = folder.deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            staging = try StagingFolder(
                beside: parent, name: ".\(folder.lastPathComponent).\(UUID().uuidString).new", where: isLeft)
        } catch {
            throw BackupError(.storage, "\(folder.path) cannot be created.")
        }
        // Keep the folder locked while it is filled.
        defer { withExtendedLifetime(staging) {} }
        let result = try await fill(staging.url)
        guard rename(staging.url.path, folder.path) == 0 else {
            throw BackupError(.storage, "\(folder.path) cannot be created: \(String(cString: strerror(errno))).")
        }
        try? flush(folder.deletingLastPathComponent())
        return result
    }

    /// Whether a folder was left by a killed backup. Only a folder that has not changed for a day counts, because the
    /// lock of a backup on another machine may not be visible here.
    private static func isLeft(_ folder: URL) -> Bool {
        let name = folder.lastPathComponent
        guard name.hasPrefix("."), name.hasSuffix(".new"), UUID(uuidString: String(name.dropLast(4).suffix(36))) != nil,
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path),
            let changed = attributes[.modificationDate] as? Date
        else { return false }
        return changed.timeIntervalSinceNow < -86_400
    }

    /// Waits until a folder's entries, or a file's bytes, are on the disk.
    /// - Throws: ``BackupError`` `storage`.
    package static func flush(_ folder: URL) throws {
        let descriptor = open(folder.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError(.storage, "\(folder.path) cannot be read.") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw BackupError(.storage, "\(folder.path) cannot be written.") }
    }
}
