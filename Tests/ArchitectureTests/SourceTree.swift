import Foundation

/// The project's files on disk, found from where this file was compiled.
enum SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Paths relative to ``root`` of all regular files below `folder`, sorted; what is built or made by running
    /// (`.build`, `.cornerstore`) and git's own aside.
    static func files(below folder: String = "") -> [String] {
        let base = folder.isEmpty ? root : root.appending(path: folder)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: base.path)) ?? []
        return names.sorted().flatMap { name -> [String] in
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: root.appending(path: path).path, isDirectory: &isFolder) else {
                return []
            }
            guard isFolder.boolValue else { return name == ".git" || name == "Package.resolved" ? [] : [path] }
            let isMade = name.hasPrefix(".") && ![".ci", ".github"].contains(name)
            return isMade ? [] : files(below: path)
        }
    }

    static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    /// The Swift files that are shipped or shown: everything but tests.
    static func sources() throws -> [SwiftSource] { try readSources.get() }

    /// The Swift files of the tests.
    static func tests() throws -> [SwiftSource] { try read(["Tests"]) }

    /// Read once: several tests look at all of them.
    private static let readSources = Result { try read(["Sources", "Examples", "Benchmarks"]) }

    private static func read(_ folders: [String]) throws -> [SwiftSource] {
        try folders.flatMap { files(below: $0) }.filter { $0.hasSuffix(".swift") }
            .map { SwiftSource(path: $0, text: try text(of: $0)) }
    }
}
