import Foundation

/// A file or a new folder that a command writes when it completes.
enum OutputFile {
    /// Checks that it can be written, before the command does work that would be lost.
    /// - Throws: ``CommandError`` `failed` with the reason when it cannot be written.
    static func check(_ file: URL) throws {
        let folder = file.deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandError(.failed, "Cannot write \(file.path): the folder \(folder) does not exist.")
        }
        guard !FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) || !isFolder.boolValue else {
            throw CommandError(.failed, "Cannot write \(file.path): it is a folder.")
        }
        // It is written under a temporary name in the same folder and then renamed.
        guard access(folder, W_OK | X_OK) == 0 else {
            throw CommandError(
                .failed, "Cannot write \(file.path): \(folder): \(String(cString: strerror(errno))).")
        }
    }
}
