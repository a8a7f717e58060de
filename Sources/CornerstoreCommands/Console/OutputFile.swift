import Foundation

/// A file that a command is to write in the end.
enum OutputFile {
    /// Looks whether it can be written, before there is something to lose.
    /// - Throws: ``CommandError`` `failed` that says why it cannot.
    static func check(_ file: URL) throws {
        let folder = file.deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandError(.failed, "\(file.path) cannot be written: there is no folder \(folder).")
        }
        guard !FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) || !isFolder.boolValue else {
            throw CommandError(.failed, "\(file.path) cannot be written: it is a folder.")
        }
        // The file is written beside its name and moved there.
        guard access(folder, W_OK | X_OK) == 0 else {
            throw CommandError(
                .failed, "\(file.path) cannot be written: \(folder): \(String(cString: strerror(errno))).")
        }
    }
}
