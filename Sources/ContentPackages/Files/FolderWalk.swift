import Foundation

/// Lists a folder recursively without following links, in the order of the bytes of the names.
enum FolderWalk {
    /// - Throws: ``ContentPackageError`` `unreadable`, and `refused` when the folder exceeds a limit.
    static func entries(of folder: String, limits: ContentLimits, isCancelled: () -> Bool) throws -> [ContentEntry] {
        var entries: [ContentEntry] = []
        try walk(folder, "", 0, &entries, limits, isCancelled)
        return entries
    }

    private static func walk(
        _ root: String, _ path: String, _ depth: Int, _ entries: inout [ContentEntry], _ limits: ContentLimits,
        _ isCancelled: () -> Bool
    ) throws {
        guard depth <= limits.depth else { throw ContentPackageError(refused: [.tooDeep(limits)]) }
        let place = path.isEmpty ? root : root + "/" + path
        for (name, isText) in try names(in: place, limits) {
            if isCancelled() { throw ContentPackageError.cancelled }
            guard entries.count < limits.entries else { throw ContentPackageError(refused: [.tooMany(limits)]) }
            let path = path.isEmpty ? name : path + "/" + name
            guard path.utf8.count <= limits.pathBytes else {
                throw ContentPackageError(refused: [.tooLong(path, limits)])
            }
            var entry = ContentEntry(path: path, kind: .file)
            entry.pathIsText = isText
            guard isText else {
                entries.append(entry)
                continue
            }
            var status = stat()
            guard lstat(root + "/" + path, &status) == 0 else { throw ContentPackageError.reading(root + "/" + path) }
            entry.mode = Int(status.st_mode & 0o7777)
            entry.kind = try kind(status, root + "/" + path)
            if entry.kind == .file { entry.size = Int64(status.st_size) }
            entries.append(entry)
            if entry.kind == .directory { try walk(root, path, depth + 1, &entries, limits, isCancelled) }
        }
    }

    private static func kind(_ status: stat, _ place: String) throws -> ContentEntry.Kind {
        switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        case S_IFLNK: .symbolicLink(target: try target(of: place))
        case S_IFIFO: .special("pipe")
        case S_IFSOCK: .special("socket")
        default: .special("device")
        }
    }

    private static func target(of link: String) throws -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink(link, $0, text.count) } ?? -1
            }
        }
        guard count >= 0 else { throw ContentPackageError.reading(link) }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// The names in the order of their bytes, and whether each is valid UTF-8.
    private static func names(in folder: String, _ limits: ContentLimits) throws -> [(String, Bool)] {
        guard let stream = opendir(folder) else { throw ContentPackageError.reading(folder) }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        errno = 0
        while let found = readdir(stream) {
            let name = withUnsafePointer(to: &found.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { text in
                    UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
                }
            }
            guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
            guard names.count <= limits.entries else { throw ContentPackageError(refused: [.tooMany(limits)]) }
            names.append(name)
        }
        guard errno == 0 else { throw ContentPackageError.reading(folder) }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.map { name in
            (String(decoding: name, as: UTF8.self), String(validating: name, as: UTF8.self) != nil)
        }
    }
}
