import Foundation

/// An open package, with all faults that did not prevent reading it.
struct PackageContents: Sendable {
    /// The form of the content in the archive.
    enum Form: Sendable {
        /// The archive contains the tree itself.
        case plain
        /// A component's cpio archive contains the tree, as Xcode and `productbuild` write it.
        case payload(XarData, path: String)
    }

    let archive: XarArchive
    var form = Form.plain
    var entries: [ContentEntry] = []
    var findings: [ContentFinding] = []
    /// The path of the content's root in the archive, such as the folder it was packed from; empty, or ends with `/`.
    var prefix = ""
    /// The bytes of `ContentInfo.plist`; nil when it is missing or unreadable.
    var info: [UInt8]?

    var unpackedLength: Int64 { entries.reduce(0) { $0 &+ $1.size } }

    /// Opens a package and reads its entries.
    /// - Throws: ``ContentPackageError`` when it cannot be read at all, is too large, or the work was cancelled.
    init(file: ReadableFile, limits: ContentLimits, isCancelled: () -> Bool) throws {
        // The package's size is known before its contents.
        guard file.length <= limits.packedBytes else {
            let inspection = Inspection(entries: [], packedLength: file.length, limits: limits)
            throw ContentPackageError(refused: ContentRule.size.findings(inspection))
        }
        archive = try XarArchive(file, limits: limits)
        if isCancelled() { throw ContentPackageError.cancelled }
        let component = try findComponent(limits)
        if let component {
            form = .payload(component.data, path: component.path)
            try scan(component.data, component.path, limits: limits, isCancelled: isCancelled)
        } else {
            try readTable(limits)
        }
        stripPrefix()
        try readInfo(limits)
    }

    // MARK: Component packages

    /// The payload of the only component; nil for a plain archive.
    private mutating func findComponent(_ limits: ContentLimits) throws -> (data: XarData, path: String)? {
        let files = archive.table.files
        let infos = Set(files.filter { $0.name == "PackageInfo" && $0.depth <= 1 }.map(\.parent))
        let payloads = files.filter { $0.name == "Payload" && $0.depth <= 1 && infos.contains($0.parent) }
        for script in files where script.name == "Scripts" && script.depth <= 1 && infos.contains(script.parent) {
            findings.append(
                ContentFinding(
                    .installerScript, path: script.path, "The package has installer scripts.",
                    "Build it without --scripts: no part of hosted content is ever run."))
        }
        guard let payload = payloads.first else { return nil }
        guard payloads.count == 1 else {
            throw ContentPackageError(refused: [
                ContentFinding(
                    .layout, "The archive has \(payloads.count) components.", "Build one package for each product.")
            ])
        }
        guard let data = payload.data else {
            throw ContentPackageError.damaged(.payload, path: payload.path, "The payload is empty.")
        }
        if let finding = archive.rangeFinding(of: data, path: payload.path) {
            throw ContentPackageError(refused: [finding])
        }
        // The archive may pack the payload once more. Besides the files' bytes it has a header with the path of each.
        let headers = Int64(limits.entries) * Int64(limits.pathBytes + 128) + Int64(CpioReader.mostPadding)
        guard data.size - headers <= limits.unpackedBytes else {
            throw ContentPackageError(refused: [.tooLarge(limits)])
        }
        return (data, payload.path)
    }

    /// Reads the whole payload once: its files and their first bytes.
    private mutating func scan(
        _ data: XarData, _ path: String, limits: ContentLimits, isCancelled: () -> Bool
    ) throws {
        let reader = CpioReader(try PayloadStream(archive, data, path: path), limits: limits)
        var shallowest = Self.deepestRoot + 1
        while let found = try reader.next() {
            if isCancelled() { throw ContentPackageError.cancelled }
            // Skips the root itself. Anything but a folder under its name is an entry, which is refused later.
            let isFolder = found.mode & Int(S_IFMT) == Int(S_IFDIR)
            guard !isFolder || (!found.path.isEmpty && found.path != ".") else { continue }
            var entry = ContentEntry(path: found.path, kind: .file, mode: found.mode & 0o7777)
            entry.pathIsText = found.pathIsText
            switch found.mode & Int(S_IFMT) {
            case Int(S_IFREG):
                entry.size = found.size
                // The property list is needed in full. The content's root is not known yet, but it contains the first
                // of the least nested files of this name.
                let isInfo = Self.isInfo(found.path) && Self.depth(found.path) < shallowest
                if isInfo { shallowest = Self.depth(found.path) }
                let wanted = isInfo ? limits.infoBytes : ContentEntry.headSize
                var head: [UInt8] = []
                while let bytes = try reader.readChunk() {
                    if isCancelled() { throw ContentPackageError.cancelled }
                    if head.count < wanted { head += bytes.prefix(wanted - head.count) }
                }
                entry.head = head
            case Int(S_IFDIR):
                entry.kind = .directory
                while entry.path.hasSuffix("/") { entry.path.removeLast() }
            case Int(S_IFLNK):
                guard found.size <= limits.pathBytes else {
                    throw ContentPackageError(refused: [.tooLong(found.path, limits)])
                }
                var target: [UInt8] = []
                while let bytes = try reader.readChunk() { target += bytes }
                entry.kind = .symbolicLink(target: String(decoding: target, as: UTF8.self))
            case Int(S_IFIFO): entry.kind = .special("pipe")
            case Int(S_IFSOCK): entry.kind = .special("socket")
            case Int(S_IFCHR), Int(S_IFBLK): entry.kind = .special("device")
            default: entry.kind = .special("file of an unknown kind")
            }
            let names = entry.path.split(separator: "/").count
            guard names <= limits.depth + (entry.kind == .directory ? 0 : 1) else {
                throw ContentPackageError(refused: [.tooDeep(limits)])
            }
            entries.append(entry)
        }
    }

    // MARK: Plain archives

    private mutating func readTable(_ limits: ContentLimits) throws {
        let files = archive.table.files
        let originals = Dictionary(
            files.filter { $0.data != nil }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for file in files {
            var entry = ContentEntry(path: file.path, kind: .file, mode: file.mode)
            entry.pathIsText = file.nameIsText
            entry.nameHasSlash = file.name?.utf8.contains(UInt8(ascii: "/")) ?? false
            entry.data = file.data
            switch file.type {
            case "file", "": break
            case "hardlink":
                // A link that does not name the original is a second copy of the file.
                if entry.data == nil, let link = file.hardLink, link != "original" {
                    guard let original = originals[link] else {
                        findings.append(
                            .damaged(
                                .table, path: file.path, "The link points to a file that the package does not contain.")
                        )
                        continue
                    }
                    entry.data = original.data
                }
            case "directory":
                entry.kind = .directory
                entry.data = nil
            case "symlink":
                entry.kind = .symbolicLink(target: file.target ?? "")
                entry.data = nil
            case "fifo": entry.kind = .special("pipe")
            case "socket": entry.kind = .special("socket")
            case "character special", "block special": entry.kind = .special("device")
            default: entry.kind = .special("file of an unknown kind")
            }
            if let data = entry.data {
                if let finding = archive.rangeFinding(of: data, path: file.path) {
                    findings.append(finding)
                    entry.data = nil
                } else {
                    entry.size = data.size
                }
            }
            entries.append(entry)
        }
        guard entries.reduce(Int64(0), { $0.addingReportingOverflow($1.size).overflow ? .max : $0 + $1.size }) < .max
        else { throw ContentPackageError(refused: [.tooLarge(limits)]) }
        try limitSharing(limits)
        findOverlaps()
    }

    /// Limits the packed bytes of all files together, because the check reads those of every file, and files may share
    /// them. The bytes of files that a tool wrote do not exceed the sum: unshared ones are in the package once, and
    /// shared ones are hardly more than the unpacked files.
    private func limitSharing(_ limits: ContentLimits) throws {
        // Files that are too large together are not read.
        guard unpackedLength <= limits.unpackedBytes else { return }
        let (sum, isTooLarge) = limits.packedBytes.addingReportingOverflow(limits.unpackedBytes)
        var rest = isTooLarge ? .max : sum
        for entry in entries {
            guard let data = entry.data else { continue }
            guard data.length <= rest else {
                throw ContentPackageError.damaged(
                    .overlap, path: entry.path, "Too many files share the same packed bytes.")
            }
            rest -= data.length
        }
    }

    /// Two files may share the same bytes, but not parts of them, and no file may share bytes with the table's
    /// checksum.
    private mutating func findOverlaps() {
        var ranges = entries.compactMap { entry in
            entry.data.flatMap {
                $0.length > 0 ? (start: $0.offset, end: $0.offset + $0.length, path: entry.path) : nil
            }
        }
        let checksum = archive.checksumRange
        if !checksum.isEmpty { ranges.append((checksum.lowerBound, checksum.upperBound, "")) }
        ranges.sort { ($0.start, $0.end) < ($1.start, $1.end) }
        guard var last = ranges.first else { return }
        for range in ranges.dropFirst() {
            if range.start < last.end, (range.start, range.end) != (last.start, last.end) {
                let path = range.path.isEmpty ? last.path : range.path
                findings.append(
                    .damaged(.overlap, path: path, "The file shares some of its bytes with another file or a checksum.")
                )
            }
            if range.end > last.end { last = range }
        }
    }

    // MARK: The root

    /// The most folders around the content's root.
    private static let deepestRoot = 4

    private static func isInfo(_ path: String) -> Bool {
        ContentPath.names(path).last?.elementsEqual(ContentInfo.fileName.utf8) == true
    }

    private static func depth(_ path: String) -> Int { path.utf8.count { $0 == UInt8(ascii: "/") } }

    /// Finds the root further down, where the package was made of a folder with its name, or contains the path of
    /// installation.
    private mutating func stripPrefix() {
        let infos = entries.filter { $0.kind == .file && Self.isInfo($0.path) }
        guard let info = infos.min(by: { Self.depth($0.path) < Self.depth($1.path) }),
            (1...Self.deepestRoot).contains(Self.depth(info.path))
        else { return }
        let folder = String(decoding: info.path.utf8.dropLast(ContentInfo.fileName.utf8.count + 1), as: UTF8.self)
        guard ContentPath.isInside(folder) else { return }
        let root = folder + "/"
        guard
            entries.allSatisfy({ entry in
                entry.path.utf8.starts(with: root.utf8)
                    || (entry.kind == .directory && root.utf8.starts(with: (entry.path + "/").utf8))
            })
        else { return }
        prefix = root
        entries = entries.compactMap { entry in
            guard entry.path.utf8.starts(with: root.utf8), entry.path.utf8.count > root.utf8.count else { return nil }
            var entry = entry
            entry.path = String(decoding: entry.path.utf8.dropFirst(root.utf8.count), as: UTF8.self)
            return entry
        }
    }

    private mutating func readInfo(_ limits: ContentLimits) throws {
        guard let index = entries.firstIndex(where: { $0.path == ContentInfo.fileName && $0.kind == .file }) else {
            return
        }
        let entry = entries[index]
        guard entry.size <= limits.infoBytes else {
            findings.append(
                ContentFinding(
                    .infoKeys, path: entry.path, "The file has more than \(limits.infoBytes) bytes.",
                    "Move content into files below Contents."))
            return
        }
        switch form {
        case .payload: info = entry.head
        case .plain:
            guard let data = entry.data else {
                info = entry.size == 0 ? [] : nil
                return
            }
            var bytes: [UInt8] = []
            let reader = XarMemberReader(archive, checksEverything: true)
            do {
                try reader.begin(data, path: entry.path)
                while let more = try reader.next() { bytes += more }
                info = bytes
            } catch let error as ContentPackageError where error.code == .refused {
                findings += error.findings
            }
        }
    }
}
