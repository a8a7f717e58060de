extension ContentRule {
    /// No entry may have the name of a bundle or library with code.
    static let codeBundle = ContentRule { inspection in
        var seen: Set<String> = []
        return inspection.entries.compactMap { entry in
            guard let path = bundle(in: entry), seen.insert(path).inserted else { return nil }
            return ContentFinding(
                .codeBundle, path: path, "The name is that of a bundle or library with code.",
                "Remove it, or rename it if it has no code.")
        }
    }

    private static let folders: Set<String> = [
        "app", "appex", "framework", "kext", "mdimporter", "plugin", "prefpane", "qlgenerator", "saver", "xcframework",
        "xpc",
    ]
    private static let files: Set<String> = ["a", "dll", "dylib", "exe", "ko", "o", "so", "swiftmodule", "tbd"]

    /// The outermost folder whose name is that of a bundle, or the file itself.
    private static func bundle(in entry: ContentEntry) -> String? {
        let names = ContentPath.names(entry.path).map { String(decoding: $0, as: UTF8.self) }
        for (index, name) in names.enumerated() {
            let isLast = index == names.count - 1
            guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { continue }
            let suffix = name[name.index(after: dot)...].lowercased()
            if folders.contains(suffix), !isLast || entry.kind == .directory {
                return names[...index].joined(separator: "/")
            }
            if isLast, entry.kind == .file, files.contains(suffix) { return entry.path }
        }
        return nil
    }
}
