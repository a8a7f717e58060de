import CornerstoreEncoding
import Crypto
import Foundation

/// Builds packages of hosted content. The same files always give the same bytes, independently of the place, the time
/// and the user.
///
/// A package is a xar archive of the tree with SHA-256 checksums only: entries sorted by the bytes of their names,
/// owner root and wheel, modes 0644 and 0755, and one fixed time. Files are packed with zlib, or stored unpacked where
/// that is no larger. A large file is stored unpacked if its beginning, middle and end do not get smaller.
public struct ContentPackageBuilder: Sendable {
    /// The contents of `ContentInfo.plist` in the package; nil for the folder's own file.
    public var info: ContentInfo?
    /// The limits of a package.
    public var limits: ContentLimits

    /// Creates a builder that uses the folder's own `ContentInfo.plist`, or one made from `info`.
    public init(info: ContentInfo? = nil, limits: ContentLimits = .hosted) {
        self.info = info
        self.limits = limits
    }

    /// Builds a package of a folder with `ContentInfo.plist` and `Contents`. The folder is checked first.
    ///
    /// The package is written beside `file` and renamed to it at the end, replacing an existing file. The call blocks,
    /// with two threads of its own, and needs less than 64 MiB of memory for any size of content.
    ///
    /// - Parameter progress: receives, often, the number of bytes of the folder's files that have been read.
    /// - Throws: ``ContentPackageError``: `refused` with all faults of the folder, `unreadable`, `unwritable`,
    ///   `diskFull`, `cancelled`. Nothing is left behind then.
    @discardableResult
    public func build(
        folder: URL, into file: URL, isCancelled: @escaping () -> Bool = { false },
        progress: @escaping (Int64) -> Void = { _ in }
    ) throws -> BuiltPackage {
        let findings = try ContentCheck.findings(inFolder: folder, info: info, limits: limits, isCancelled: isCancelled)
        guard findings.isEmpty else { throw ContentPackageError(refused: findings) }
        var root = folder.path
        while root.count > 1, root.hasSuffix("/") { root.removeLast() }
        var entries = try FolderWalk.entries(of: root, limits: limits, isCancelled: isCancelled)
        if info != nil, !entries.contains(where: { $0.path == ContentInfo.fileName }) {
            // The name sorts before “Contents” by bytes.
            entries.insert(ContentEntry(path: ContentInfo.fileName, kind: .file), at: 0)
        }
        let aside = Self.aside(file)
        unlink(aside)
        do {
            var packer = try FilePacker(
                root: root, heap: aside + ".heap", infoBytes: try info.map { [UInt8](try $0.propertyList()) },
                isCancelled: isCancelled, progress: progress)
            let stored = try packer.pack(entries.filter { $0.kind == .file }.map(\.path))
            let built = try Self.assemble(entries, stored, &packer, aside, isCancelled)
            guard built.length <= limits.packedBytes else {
                throw ContentPackageError(
                    refused: ContentRule.size.findings(
                        Inspection(entries: [], packedLength: built.length, limits: limits)))
            }
            guard rename(aside, file.path) == 0 else { throw ContentPackageError.writing(file.path) }
            return built
        } catch {
            unlink(aside)
            throw error
        }
    }

    private static func aside(_ file: URL) -> String {
        file.deletingLastPathComponent().appending(path: ".\(file.lastPathComponent).building").path
    }

    /// Writes the header, the table, its checksum and the heap.
    private static func assemble(
        _ entries: [ContentEntry], _ stored: [XarTableWriter.Stored?], _ packer: inout FilePacker, _ path: String,
        _ isCancelled: () -> Bool
    ) throws -> BuiltPackage {
        let (table, tableLength) = try table(entries, stored)
        let header = XarHeader(tableLength: table.count, unpackedTableLength: tableLength)
        let file = try WritableFile(path)
        var sum = SHA256()
        var length: Int64 = 0
        func write(_ bytes: UnsafeRawBufferPointer) throws {
            sum.update(bufferPointer: bytes)
            length += Int64(bytes.count)
            try file.write(bytes)
        }
        try header.bytes.withUnsafeBytes(write)
        try table.withUnsafeBytes(write)
        try Array(SHA256.hash(data: table)).withUnsafeBytes(write)
        try packer.readHeap { bytes in
            if isCancelled() { throw ContentPackageError.cancelled }
            try write(bytes)
        }
        let unpacked = stored.reduce(Int64(0)) { $0 + ($1?.size ?? 0) }
        return BuiltPackage(
            length: length, unpackedLength: unpacked, files: stored.count,
            sha256: Hexadecimal.encoded(sum.finalize()))
    }

    private static func table(
        _ entries: [ContentEntry], _ stored: [XarTableWriter.Stored?]
    ) throws -> (packed: [UInt8], unpackedLength: Int) {
        var writer = try XarTableWriter()
        var open: [Substring] = []
        var file = 0
        for entry in entries {
            let names = entry.path.split(separator: "/")
            while open.count >= names.count {
                writer.endFolder()
                open.removeLast()
            }
            let name = String(names.last ?? "")
            switch entry.kind {
            case .directory:
                try writer.startFolder(name)
                open.append(names.last ?? "")
            case .symbolicLink(let target): try writer.link(name, target: target)
            case .file:
                try writer.file(name, stored[file])
                file += 1
            case .special: break
            }
        }
        for _ in open { writer.endFolder() }
        return try writer.finish()
    }
}
