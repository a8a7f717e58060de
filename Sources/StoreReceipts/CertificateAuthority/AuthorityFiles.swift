import Foundation
import Synchronization

/// The directory that holds the authority's keys, with mode 0700 and files of mode 0600. Each file is written under
/// another name, flushed to the disk and renamed into place. One process at a time may use the directory.
public final class AuthorityFiles: AuthorityStorage {
    let directory: URL
    /// How many times this process has replaced files.
    private let revision = Mutex<Int64>(0)

    private static let directoryMode = 0o700
    private static let fileMode = 0o600

    /// Creates the storage in a directory, which need not exist.
    public init(directory: URL) { self.directory = directory.standardizedFileURL }

    /// Reads all files.
    /// - Throws: ``ReceiptAuthorityError``: `incomplete`, `damaged` or `exposedKey` if the directory holds anything but
    ///   a complete authority; `storage`.
    public func load() async throws -> (files: [String: String], revision: Int64)? {
        try revision.withLock { number in
            guard let files = try readAll() else { return nil }
            return (files: files, revision: number)
        }
    }

    /// Replaces files one after the other. If the process ends between two, the next call replaces the rest: names and
    /// the keys of issuers stay, so every mixture of old and new files is an authority.
    /// - Throws: ``ReceiptAuthorityError`` `storage`.
    public func replace(_ changed: [String: String], ifRevision revision: Int64) async throws -> Bool {
        try self.revision.withLock { number in
            guard number == revision else { return false }
            for (name, text) in changed { try replace(name, with: text) }
            number += 1
            return true
        }
    }

    /// Reads all files of the authority; nil if the directory is absent or empty.
    private func readAll() throws(ReceiptAuthorityError) -> [String: String]? {
        let found = try contents() ?? []
        guard !found.isEmpty else { return nil }
        let missing = AuthorityMember.all.map(\.fileName).filter { !found.contains($0) }
        guard missing.isEmpty else {
            throw ReceiptAuthorityError(
                .incomplete,
                "\(directory.path) is not a whole certificate authority: missing \(missing.joined(separator: ", ")); "
                    + "restore it from a copy, or move the directory away to begin with new keys"
            )
        }
        var files: [String: String] = [:]
        for member in AuthorityMember.all { files[member.fileName] = try read(member.fileName) }
        return files
    }

    /// The names of the directory's entries; nil if there is no directory.
    private func contents() throws(ReceiptAuthorityError) -> [String]? {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: directory.path, isDirectory: &isDirectory) else { return nil }
        guard isDirectory.boolValue else {
            throw ReceiptAuthorityError(.storage, "\(directory.path) is not a directory")
        }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path)
        } catch {
            throw ReceiptAuthorityError(.storage, "cannot read the directory \(directory.path)")
        }
    }

    /// Reads a file.
    /// - Throws: `exposedKey` if others than the owner may read it.
    private func read(_ name: String) throws(ReceiptAuthorityError) -> String {
        let path = directory.appendingPathComponent(name).path
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue else {
            throw ReceiptAuthorityError(.storage, "cannot read \(path)")
        }
        guard mode & 0o077 == 0 else {
            throw ReceiptAuthorityError(
                .exposedKey, "others can read \(path); set its mode to 0600, or replace the keys if they leaked")
        }
        guard let data = FileManager.default.contents(atPath: path), data.count <= 65_536 else {
            throw ReceiptAuthorityError(.storage, "cannot read \(path)")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw ReceiptAuthorityError(.damaged, "\(path) is not a PEM file; restore it from a copy")
        }
        return text
    }

    /// Creates the directory with all files in it, or nothing: the files go into a second directory, which is renamed
    /// when all of them are on the disk.
    /// - Throws: ``ReceiptAuthorityError`` `storage`, also when the directory is not empty.
    public func create(_ files: [String: String]) async throws -> Bool {
        let parent = directory.deletingLastPathComponent()
        // A fixed name finds the directory that a crash left behind. Nothing was ever signed with its keys.
        let aside = AuthorityFiles(directory: parent.appendingPathComponent(".\(directory.lastPathComponent).new"))
        do {
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            if FileManager.default.fileExists(atPath: aside.directory.path) {
                try FileManager.default.removeItem(at: aside.directory)
            }
            try FileManager.default.createDirectory(
                at: aside.directory, withIntermediateDirectories: false,
                attributes: [.posixPermissions: NSNumber(value: Self.directoryMode)]
            )
        } catch {
            throw ReceiptAuthorityError(.storage, "cannot make the directory \(aside.directory.path)")
        }
        for (name, text) in files { try aside.write(name, text) }
        // rename(2) replaces a directory only if it is empty, so existing keys are never lost.
        guard rename(aside.directory.path, directory.path) == 0 else {
            throw ReceiptAuthorityError(.storage, "cannot rename \(aside.directory.path) to \(directory.path)")
        }
        try AuthorityFiles(directory: parent).synchronize()
        return true
    }

    /// Replaces one file, or leaves it as it was.
    private func replace(_ name: String, with text: String) throws(ReceiptAuthorityError) {
        let aside = ".\(name).new"
        try write(aside, text)
        let target = directory.appendingPathComponent(name).path
        guard rename(directory.appendingPathComponent(aside).path, target) == 0 else {
            throw ReceiptAuthorityError(.storage, "cannot replace \(target)")
        }
        try synchronize()
    }

    private func write(_ name: String, _ text: String) throws(ReceiptAuthorityError) {
        let path = directory.appendingPathComponent(name).path
        // The file is created with its mode, so that others can never open it.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_t(Self.fileMode))
        guard descriptor >= 0 else { throw ReceiptAuthorityError(.storage, "cannot write \(path)") }
        defer { close(descriptor) }
        let octets = Array(text.utf8)
        var written = 0
        while written < octets.count {
            let count = octets.withUnsafeBytes { raw in
                unsafeWrite(descriptor, UnsafeRawBufferPointer(rebasing: raw[written...]))
            }
            guard count > 0 else { throw ReceiptAuthorityError(.storage, "cannot write \(path); is the disk full?") }
            written += count
        }
        guard fsync(descriptor) == 0 else { throw ReceiptAuthorityError(.storage, "cannot make \(path) durable") }
        try synchronize()
    }

    private func unsafeWrite(_ descriptor: Int32, _ octets: UnsafeRawBufferPointer) -> Int {
        Foundation.write(descriptor, octets.baseAddress, octets.count)
    }

    /// Flushes the directory's entries to the disk.
    private func synchronize() throws(ReceiptAuthorityError) {
        let descriptor = open(directory.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ReceiptAuthorityError(.storage, "cannot open the directory \(directory.path)")
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw ReceiptAuthorityError(.storage, "cannot make the directory \(directory.path) durable")
        }
    }
}
