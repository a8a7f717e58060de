import Foundation

/// Has the system write files out, so that a loss of power does not undo them.
enum FolderSync {
    /// A folder with all that is in it.
    static func sync(_ folder: URL) {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL { syncOne(file) }
        syncOne(folder)
        syncOne(folder.deletingLastPathComponent())
    }

    /// One file, or the names in one folder. Links and what is no file are passed over.
    static func syncOne(_ file: URL) {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
