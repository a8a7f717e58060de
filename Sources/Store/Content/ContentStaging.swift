import BlobStorage
import Foundation
import Synchronization

/// The files of what is being uploaded, named by their uploads.
final class ContentStaging: Sendable {
    /// Tells this folder from those of other processes; the same for as long as the folder is.
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

    /// Whether an upload's bytes are here.
    func has(_ upload: ContentUpload) -> Bool { upload.place == nil || upload.place == place }

    func url(_ uploadID: UUID) -> URL { folder.appendingPathComponent(uploadID.uuidString) }

    /// The file of an upload, made when it is not there.
    func file(_ uploadID: UUID) async throws -> StagedFile {
        if let file = open.withLock({ $0[uploadID] }) { return file }
        let file = try await StagedFile.open(url(uploadID))
        // Whoever opened it first at the same moment is the one who writes.
        return open.withLock { files in
            if let first = files[uploadID] { return first }
            files[uploadID] = file
            return file
        }
    }

    /// What uploads leave of the disk, which the ledger may be on too: so many bytes, or a twentieth of a small one.
    private static let reserve: Int64 = 256 << 20

    /// The bytes that uploads to a folder may still take up; nil when the system does not say.
    static let roomOnDisk: @Sendable (URL) -> Int64? = { folder in
        var status = statvfs()
        guard statvfs(folder.path, &status) == 0 else { return nil }
        let block = Int64(clamping: status.f_frsize)
        let (free, isHuge) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(by: block)
        let (all, isHuger) = Int64(clamping: status.f_blocks).multipliedReportingOverflow(by: block)
        guard !isHuge, !isHuger else { return nil }
        return max(0, free - min(reserve, all / 20))
    }

    /// - Throws: ``StoreError`` `unavailable` when so many bytes more have no room.
    func requireRoom(for bytes: Int64) throws {
        guard let room = room(folder), room < bytes else { return }
        throw StoreError(
            .unavailable,
            "The store's disk has no room for the \(bytes) bytes that are missing. Make room, and go on with the upload."
        )
    }

    /// How many bytes of an upload have arrived, without opening its file.
    func length(_ uploadID: UUID) -> Int64 {
        if let file = open.withLock({ $0[uploadID] }) { return file.length }
        let attributes = try? FileManager.default.attributesOfItem(atPath: url(uploadID).path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Removes a file. Who still writes to it writes to nothing.
    func remove(_ uploadID: UUID) {
        _ = open.withLock { $0.removeValue(forKey: uploadID) }
        try? FileManager.default.removeItem(at: url(uploadID))
    }

    /// The uploads of which there are files.
    func all() -> [UUID] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.compactMap { UUID(uuidString: $0) }
    }
}
