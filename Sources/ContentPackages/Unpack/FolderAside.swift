import CLinux
import Foundation

/// A temporary folder beside the one that it becomes: `.NAME.unpacking`.
///
/// All names in it are made relative to its descriptor, and links last, so that no link can redirect a file.
final class FolderAside: Sendable {
    private let final: String
    private let aside: String
    private let descriptor: Int32

    /// Makes the folder, replacing one that a killed process left behind.
    init(for folder: URL) throws {
        var path = folder.path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        final = path
        aside = path[..<slash] + "." + path[slash...] + ".unpacking"
        try Self.requireNothing(at: path)
        try Self.removeLeftover(aside)
        guard mkdir(aside, 0o755) == 0 else {
            throw errno == EEXIST ? Self.busy(path) : ContentPackageError.writing(aside)
        }
        let opened = open(aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { throw errno == ENOENT ? Self.busy(path) : ContentPackageError.writing(aside) }
        // Until it is locked, another call may take the folder for a leftover and put its own in its place.
        guard flock(opened, LOCK_EX | LOCK_NB) == 0, Self.isFolder(opened, at: aside) else {
            close(opened)
            throw Self.busy(path)
        }
        // Not earlier: once every property has a value, an error runs `deinit`, which would close it a second time.
        descriptor = opened
    }

    deinit { close(descriptor) }

    private static func busy(_ path: String) -> ContentPackageError {
        ContentPackageError(.busy, "Another package is being unpacked to \(path). Wait until it is done.")
    }

    /// Refuses a location that holds anything but an empty folder.
    private static func requireNothing(at path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        guard status.st_mode & S_IFMT == S_IFDIR, names?.isEmpty == true else {
            throw ContentPackageError(.alreadyThere, "\(path) already exists; remove it first.")
        }
    }

    private static func removeLeftover(_ path: String) throws {
        let old = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard old >= 0 else { return }
        defer { close(old) }
        // A process that is still working on the folder holds its lock.
        guard flock(old, LOCK_EX | LOCK_NB) == 0, isFolder(old, at: path) else { throw busy(path) }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Whether the open folder is the one at the path. While it is locked, nobody else removes it.
    private static func isFolder(_ descriptor: Int32, at path: String) -> Bool {
        var opened = stat()
        var found = stat()
        return fstat(descriptor, &opened) == 0 && lstat(path, &found) == 0 && opened.st_dev == found.st_dev
            && opened.st_ino == found.st_ino
    }

    /// Makes the folders of the entries, including those that only occur in paths of files.
    func makeFolders(_ entries: [ContentEntry]) throws {
        // The mode does not depend on the process's file mode mask.
        guard fchmod(descriptor, 0o755) == 0 else { throw ContentPackageError.writing(aside) }
        var made: Set<[UInt8]> = []
        for entry in entries {
            let names = entry.path.utf8.split(separator: UInt8(ascii: "/"))
            for count in 1..<(names.count + 1) where count < names.count || entry.kind == .directory {
                let path = Array(names[..<count].joined(separator: [UInt8(ascii: "/")]))
                guard made.insert(path).inserted else { continue }
                let text = String(decoding: path, as: UTF8.self)
                guard mkdirat(descriptor, text, 0o755) == 0 else { throw ContentPackageError.writing(text) }
                guard fchmodat(descriptor, text, 0o755, 0) == 0 else { throw ContentPackageError.writing(text) }
            }
        }
    }

    /// Makes a file, which must not be there.
    func makeFile(_ path: String) throws -> WritableFile {
        let file = try WritableFile(path, in: descriptor)
        try file.setMode(0o644)
        return file
    }

    /// Makes the symbolic links among the entries.
    func makeLinks(_ entries: [ContentEntry]) throws {
        for entry in entries {
            guard case .symbolicLink(let target) = entry.kind else { continue }
            guard symlinkat(target, descriptor, entry.path) == 0 else { throw ContentPackageError.writing(entry.path) }
        }
    }

    /// Waits until the contents of the folder are on the disk. One call flushes the whole file system, because
    /// thousands of small files would each wait for the disk in turn.
    func flush() throws {
        guard syncfs(descriptor) == 0 else { throw ContentPackageError.writing(aside) }
    }

    /// Waits until the folder's name is on the disk.
    private func flushName() throws {
        let slash = final.lastIndex(of: "/")
        let parent = slash.map { $0 == final.startIndex ? "/" : String(final[..<$0]) } ?? "."
        let folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw ContentPackageError.writing(parent) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw ContentPackageError.writing(parent) }
    }

    /// Renames the folder to its final name.
    func becomeFinal(isDurable: Bool) throws {
        guard rename(aside, final) == 0 else {
            throw errno == ENOTEMPTY
                ? ContentPackageError(
                    .alreadyThere, "\(final) was made by something else in the meantime; remove it first.")
                : ContentPackageError.writing(final)
        }
        guard isDurable else { return }
        do { try flushName() } catch {
            try? FileManager.default.removeItem(atPath: final)
            throw error
        }
    }

    func remove() {
        guard Self.isFolder(descriptor, at: aside) else { return }
        try? FileManager.default.removeItem(atPath: aside)
    }
}
