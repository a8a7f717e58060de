import BlobStorage
import Foundation
import Synchronization

/// The files of open uploads, named by the uploads' identifiers.
final class ContentStaging: Sendable {
    /// The identifier of this folder, which distinguishes it from the folders of other processes. It is stored in the
    /// folder.
    let place: String
    private let folder: URL
    private let room: @Sendable (URL) -> Int64?
    private let open = Mutex<[UUID: StagedFile]>([:])

    /// - Throws: ``StoreError`` `unavailable` when the folder cannot be written.
    init(folder: URL, room: @escaping @Sendable (URL) -> Int64?) throws {
        self.folder = folder
        self.room = room
        let file = folder.appendingPathComponent("place")
        if let known = UUID(uuidString: (try? String(contentsOf: file, encoding: .utf8)) ?? "") {
            place = known.uuidString
            return
        }
        let new = UUID().uuidString
        do { try Data(new.utf8).write(to: file, options: .atomic) } catch {
            throw StoreError(.unavailable, "The folder of uploads, \(folder.path), cannot be written.")
        }
        place = new
    }

    /// Whether an upload's bytes are in this folder.
    func has(_ upload: ContentUpload) -> Bool { upload.place == nil || upload.place == place }

    func url(_ uploadID: UUID) -> URL { folder.appendingPathComponent(uploadID.uuidString) }

    /// The file of an upload, created when it does not exist.
    func file(_ uploadID: UUID) async throws -> StagedFile {
        if let file = open.withLock({ $0[uploadID] }) { return file }
        let file = try await StagedFile.open(url(uploadID))
        // When two requests open the file at once, both use the first one's handle.
        return open.withLock { files in
            if let first = files[uploadID] { return first }
            files[uploadID] = file
            return file
        }
    }

    /// The bytes that uploads leave free on the disk, which may also hold the ledger; at most a twentieth of the disk.
    private static let reserve: Int64 = 256 << 20

    /// The bytes that uploads to a folder may still take; nil when the system does not tell.
    static let roomOnDisk: @Sendable (URL) -> Int64? = { folder in
        var status = statvfs()
        guard statvfs(folder.path, &status) == 0 else { return nil }
        let block = Int64(clamping: status.f_frsize)
        let (free, isHuge) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(by: block)
        let (all, isHuger) = Int64(clamping: status.f_blocks).multipliedReportingOverflow(by: block)
        guard !isHuge, !isHuger else { return nil }
        return max(0, free - min(reserve, all / 20))
    }

    /// Checks that the disk has room for more bytes.
    /// - Throws: ``StoreError`` `unavailable` when it does not.
    func requireRoom(for bytes: Int64) throws {
        guard let room = room(folder), room < bytes else { return }
        throw StoreError(
            .unavailable,
            "The store's disk has no room for the remaining \(bytes) bytes. Free some space and continue the upload."
        )
    }

    /// The number of bytes of an upload that have arrived, without opening its file.
    func length(_ uploadID: UUID) -> Int64 {
        if let file = open.withLock({ $0[uploadID] }) { return file.length }
        let attributes = try? FileManager.default.attributesOfItem(atPath: url(uploadID).path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Deletes an upload's file. Later writes through an open handle have no effect.
    func remove(_ uploadID: UUID) {
        _ = open.withLock { $0.removeValue(forKey: uploadID) }
        try? FileManager.default.removeItem(at: url(uploadID))
    }

    // MARK: Items' files

    private var itemFiles: URL { folder.appendingPathComponent("items", isDirectory: true) }

    /// A new place for the copy of an item's file, beside the uploads.
    /// - Throws: ``StoreError`` `unavailable` when the folder cannot be made.
    func placeOfItemFile() throws -> URL {
        do {
            try FileManager.default.createDirectory(
                at: itemFiles, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.unavailable, "The folder of uploads, \(folder.path), cannot be written.")
        }
        return itemFiles.appendingPathComponent(UUID().uuidString)
    }

    /// Deletes the copies of a process that was killed.
    func removeItemFiles() { try? FileManager.default.removeItem(at: itemFiles) }

    /// The identifiers of all uploads that have a file.
    func all() -> [UUID] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.compactMap { UUID(uuidString: $0) }
    }
}
