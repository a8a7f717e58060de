import Foundation

/// Syncs files to disk, so that they survive a power failure.
enum FolderSync {
    /// Syncs a folder, everything in it, and its entry in the parent folder.
    ///
    /// - Throws: `POSIXError` when a sync fails.
    static func sync(_ folder: URL) throws {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL { try syncOne(file) }
        try syncOne(folder)
        try syncOne(folder.deletingLastPathComponent())
    }

    /// Syncs one file, or the names in one folder. It skips links and special files.
    ///
    /// - Throws: `POSIXError` when the sync fails.
    static func syncOne(_ file: URL) throws {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // EINVAL: the file has nothing to sync, such as a pipe.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }
}
