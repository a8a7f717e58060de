import Backups
import Foundation
import Glibc
import Store

/// The files of a store's data directory that a backup contains, and their replacement by a restore.
enum StoreFiles {
    static let databases = "databases"
    static let authority = "authority"
    static let content = "content/packages"
    /// The folder in which a restore is assembled.
    static let restoreFolder = "restore"
    /// The folder of a complete restore, whose files are moved into place. The move is repeated until it is done,
    /// whatever ends it.
    private static let restored = "restored"
    /// The files and folders with keys.
    static let keyParts = [authority, SandboxTester.fileName]
    /// The order in which they are moved.
    private static let parts = keyParts + [databases]

    /// Whether a path is one of the files with keys: the sandbox tester, or a file of the authority.
    static func isKey(_ path: String) -> Bool {
        path == SandboxTester.fileName || path.wholeMatch(of: /authority\/[A-Za-z0-9][A-Za-z0-9._-]{0,80}/) != nil
    }

    /// The files with keys that a data directory has.
    static func keys(in data: URL) -> [String] {
        let folder = data.appendingPathComponent(authority)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let paths = names.sorted().map { "\(authority)/\($0)" } + [SandboxTester.fileName]
        return paths.filter {
            isKey($0) && FileManager.default.fileExists(atPath: data.appendingPathComponent($0).path)
        }
    }

    /// Puts the contents of an assembled folder in the place of a data directory's on SQLite, all or none. Nobody may
    /// use the data directory.
    /// - Parameter onCommit: called when the folder is certain to replace the data, even if the process is killed.
    /// - Throws: ``BackupError`` `storage`.
    static func replace(in data: URL, by folder: URL, onCommit: () -> Void) throws {
        try BackupFolder.flush(folder)
        guard rename(folder.path, data.appendingPathComponent(restored).path) == 0 else {
            throw BackupError(.storage, "\(data.path) cannot be written: \(String(cString: strerror(errno))).")
        }
        try BackupFolder.flush(data)
        onCommit()
        try finish(in: data)
    }

    /// Ends a restore that was killed while it moved its files into place. Call this when the data directory is locked.
    /// - Throws: ``BackupError`` `storage`.
    static func finish(in data: URL) throws {
        let folder = data.appendingPathComponent(restored)
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        for part in parts {
            let (source, target) = (folder.appendingPathComponent(part), data.appendingPathComponent(part))
            guard FileManager.default.fileExists(atPath: source.path) else { continue }
            do {
                if FileManager.default.fileExists(atPath: target.path) {
                    try FileManager.default.removeItem(at: target)
                }
            } catch {
                throw BackupError(.storage, "\(target.path) cannot be replaced by the restored one.")
            }
            guard rename(source.path, target.path) == 0 else {
                throw BackupError(.storage, "\(target.path) cannot be written: \(String(cString: strerror(errno))).")
            }
            try BackupFolder.flush(data)
        }
        rmdir(folder.path)
    }

    /// Whether a restore has ended before all of its files were in place.
    static func isUnfinished(_ data: URL) -> Bool {
        FileManager.default.fileExists(atPath: data.appendingPathComponent(restored).path) || ReplacedKeys.isThere(data)
    }
}
