import Foundation

/// Has the system write files out, so that a loss of power does not undo them.
enum FolderSync {
    /// A folder with all that is in it, and its name.
    ///
    /// - Throws: `POSIXError` when the disk does not take them.
    static func sync(_ folder: URL) throws {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL { try syncOne(file) }
        try syncOne(folder)
        try syncOne(folder.deletingLastPathComponent())
    }

    /// One file, or the names in one folder. Links and what is no file are passed over.
    ///
    /// - Throws: `POSIXError` when the disk does not take it.
    static func syncOne(_ file: URL) throws {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // EINVAL: nothing to be written out, such as a pipe.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }
}
