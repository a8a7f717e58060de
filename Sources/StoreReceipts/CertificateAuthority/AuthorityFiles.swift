import Foundation

/// The directory that holds the authority's keys, with mode 0700 and files of mode 0600. Each file is written under
/// another name, flushed to the disk and renamed into place.
struct AuthorityFiles {
    let directory: URL

    private static let directoryMode = 0o700
    private static let fileMode = 0o600

    /// The names of the directory's entries; nil if there is no directory.
    func contents() throws(ReceiptAuthorityError) -> [String]? {
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
    func read(_ name: String) throws(ReceiptAuthorityError) -> String {
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
    func create(_ files: [String: String]) throws(ReceiptAuthorityError) {
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
    }

    /// Replaces one file, or leaves it as it was.
    func replace(_ name: String, with text: String) throws(ReceiptAuthorityError) {
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
