import Foundation

/// The feeds as partners see them: every path that exists. Requests are looked up here, and nothing of a request's path
/// becomes part of a file's name.
public struct FeedShelf: Sendable {
    /// A file that partners download.
    public struct File: Sendable {
        /// The place.
        public var url: URL
        /// The length in bytes.
        public var length: Int64
        /// The entity tag, without quotation marks.
        public var tag: String
        /// The feed's day.
        public var day: FeedDay
    }

    /// The folder or file at a path.
    public enum Entry: Sendable {
        /// A folder with the names in it; those of folders end with a slash.
        case folder([String])
        /// A file.
        case file(File)
    }

    private var folders: [String: Set<String>] = [:]
    private var files: [String: File] = [:]

    /// The paths under which everything is.
    public static let root = "/feeds/"

    init(_ folder: FeedFolder) {
        for path in ["epf/v3/full/", "epf/v4/full/", "epf/v5/", "epf-flat/v1/full/"] { makeFolder(Self.root + path) }
        for build in folder.builds where build.mode == .full {
            let isCurrent = build == folder.current
            add(build, folder, Self.places(build.day, isCurrent: isCurrent), incremental: nil)
            let incrementals = folder.incrementals(of: build)
            for incremental in incrementals {
                add(
                    incremental, folder, Self.places(build.day, isCurrent: isCurrent),
                    incremental: [incremental.day.description] + (incremental == incrementals.last ? ["current"] : []))
            }
        }
    }

    /// The entry at a path, such as `/feeds/epf/v5/current/`; nil for an unknown path. Folders end with a slash.
    public subscript(path: String) -> Entry? {
        if let names = folders[path] { return .folder(names.sorted()) }
        return files[path].map { .file($0) }
    }

    /// All files by their paths.
    var all: [String: File] { files }

    /// The folders in which a full feed is found, by layout.
    private static func places(_ day: FeedDay, isCurrent: Bool) -> [FeedLayout: [String]] {
        var (groups, tables) = (["epf/v3/full/\(day)/"], ["epf/v4/full/\(day)/"])
        guard isCurrent else { return [.groups: groups, .tables: tables] }
        groups.append("epf/v3/full/current/")
        tables += ["epf/v4/full/current/", "epf/v4/current/current/", "epf/v5/current/"]
        return [.groups: groups, .tables: tables, .flat: ["epf-flat/v1/full/"]]
    }

    private mutating func add(
        _ build: FeedBuild, _ folder: FeedFolder, _ places: [FeedLayout: [String]], incremental: [String]?
    ) {
        for file in build.manifest.files {
            let parts = file.path.split(separator: "/", maxSplits: 1)
            guard parts.count == 2, let layout = FeedLayout(rawValue: String(parts[0])) else { continue }
            let entry = File(
                url: folder.location(build, file.path), length: file.length, tag: file.tag, day: build.day)
            for place in places[layout] ?? [] {
                for name in incremental?.map({ "incremental/\($0)/" }) ?? [""] {
                    let path = Self.root + place + name + parts[1]
                    files[path] = entry
                    if let slash = path.lastIndex(of: "/") {
                        makeFolder(String(path[...slash]))
                        folders[String(path[...slash]), default: []].insert(String(path[path.index(after: slash)...]))
                    }
                }
            }
        }
    }

    /// Makes a folder and those above it.
    private mutating func makeFolder(_ path: String) {
        guard folders[path] == nil else { return }
        folders[path] = []
        guard path != Self.root, let slash = path.dropLast().lastIndex(of: "/") else { return }
        makeFolder(String(path[...slash]))
        folders[String(path[...slash])]?.insert(String(path[path.index(after: slash)...]))
    }
}
