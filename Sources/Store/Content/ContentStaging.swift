import BlobStorage
import Foundation
import Synchronization

/// The files of what is being uploaded, named by their uploads.
final class ContentStaging: Sendable {
    private let folder: URL
    private let open = Mutex<[UUID: StagedFile]>([:])

    init(folder: URL) { self.folder = folder }

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

    /// Removes the files of uploads that are no more.
    func removeAll(but kept: Set<UUID>) async {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names {
            guard let uploadID = UUID(uuidString: name), !kept.contains(uploadID) else { continue }
            remove(uploadID)
        }
    }
}
