import ContentPackages
import Foundation

/// Writes and reads trees of files in tests.
enum ContentFolder {
    /// Writes files by their paths, and the folders they are in.
    static func write(_ files: [String: [UInt8]], to root: URL) throws {
        for (path, bytes) in files {
            let url = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: url)
        }
    }

    /// A folder with a good plist and the files in `Contents`.
    static func make(
        _ files: [String: [UInt8]] = ["a.txt": Array("Chapter one.".utf8)], version: String = "1.0", at root: URL
    ) throws {
        try write(["ContentInfo.plist": Array(XarForge.info(version: version).utf8)], to: root)
        try write(files, to: root.appending(path: "Contents"))
    }

    /// Everything below a folder: bytes of files, targets of links after `->`, nothing of folders.
    static func read(_ root: URL) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
            let url = root.appending(path: path)
            let kind = try FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
            switch kind {
            case .typeDirectory?: found[path + "/"] = []
            case .typeSymbolicLink?:
                found[path] = Array("-> \(try FileManager.default.destinationOfSymbolicLink(atPath: url.path))".utf8)
            default: found[path] = [UInt8](try Data(contentsOf: url))
            }
        }
        return found
    }

    /// Whether two folders hold the same.
    static func areEqual(_ first: URL, _ second: URL) throws -> Bool { try read(first) == read(second) }

    static func rules(_ findings: [ContentFinding]) -> Set<String> { Set(findings.map(\.rule.rawValue)) }
}
