import Foundation

/// Excludes a folder from backups. Linux has no single mechanism, so this type uses the three that backup programs
/// know:
///
/// - a `CACHEDIR.TAG` (Cache Directory Tagging Specification): tar, borg, restic, duplicity and others, with an option;
/// - the no-dump attribute, which files created in the folder inherit: dump, borg;
/// - the extended attribute `user.xdg.robots.backup` with the value `false` (freedesktop.org,
///   CommonExtendedAttributes).
public enum BackupExclusion {
    /// The first line of a `CACHEDIR.TAG`.
    public static let signature = "Signature: 8a477f597d28d172789f06886806bc55"
    /// The name of the extended attribute.
    public static let attribute = "user.xdg.robots.backup"

    /// A mechanism that excludes a folder from backups: a `CACHEDIR.TAG`, the no-dump attribute or the extended
    /// attribute.
    public enum Mark: String, Sendable, CaseIterable {
        case cacheTag, noDump, extendedAttribute
    }

    /// Marks `folder`, which must exist.
    ///
    /// - Returns: the marks that the folder has now. Some file systems do not support all of them; that is not an
    ///   error.
    @discardableResult
    public static func exclude(_ folder: URL) -> Set<Mark> {
        var marks: Set<Mark> = []
        if tag(folder) { marks.insert(.cacheTag) }
        if setNoDump(folder) { marks.insert(.noDump) }
        if setAttribute(folder) { marks.insert(.extendedAttribute) }
        return marks
    }

    private static func setAttribute(_ folder: URL) -> Bool {
        // Foundation's key has no public name.
        let key = FileAttributeKey("NSFileExtendedAttributes")
        return
            (try? FileManager.default.setAttributes(
                [key: [attribute: Data("false".utf8)]], ofItemAtPath: folder.path)) != nil
    }

    private static func tag(_ folder: URL) -> Bool {
        let name = "CACHEDIR.TAG"
        let file = folder.appendingPathComponent(name)
        // Even when the tag exists: another process that wrote it at the same time may have been killed.
        BoundedFile.removeLeftovers(in: folder, of: name)
        if let bytes = BoundedFile.read(file, limit: 1 << 16) { return bytes.starts(with: Data(signature.utf8)) }
        let text = """
            \(signature)
            # What is in this folder can be downloaded again: backups may leave it out.
            # See https://bford.info/cachedir/

            """
        return (try? BoundedFile.write(Data(text.utf8), to: file, mode: 0o644)) != nil
    }

    // The numbers of <linux/fs.h>, which Swift does not import: _IOR('f', 1, long), _IOW('f', 2, long), FS_NODUMP_FL.
    private static let getFlags: UInt = 2 << 30 | UInt(MemoryLayout<Int>.size) << 16 | 0x66 << 8 | 1
    private static let setFlags: UInt = 1 << 30 | UInt(MemoryLayout<Int>.size) << 16 | 0x66 << 8 | 2
    private static let noDumpFlag: Int32 = 0x40

    private static func setNoDump(_ folder: URL) -> Bool {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Despite the numbers' `long`, the kernel reads and writes an int.
        var flags: Int32 = 0
        guard ioctl(descriptor, getFlags, &flags) == 0 else { return false }
        if flags & noDumpFlag != 0 { return true }
        flags |= noDumpFlag
        return ioctl(descriptor, setFlags, &flags) == 0
    }
}
