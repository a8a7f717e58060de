extension ContentRule {
    /// The root may hold only `ContentInfo.plist` and `Contents`. A path may not lead through a file.
    static let layout = ContentRule { inspection in
        var findings: [ContentFinding] = []
        var strangers: Set<String> = []
        for entry in inspection.entries {
            let top = String(decoding: ContentPath.names(entry.path)[0], as: UTF8.self)
            switch top {
            case ContentInfo.fileName:
                guard entry.path != top || entry.kind != .file else { continue }
                findings.append(.infoIsNoFile)
            case "Contents":
                guard entry.path == top, entry.kind != .directory else { continue }
                findings.append(
                    ContentFinding(.layout, path: top, "Contents is not a folder.", "Replace it with a folder."))
            case "", ".", "..":
                // Another rule covers these names.
                continue
            default:
                guard strangers.insert(top).inserted else { continue }
                findings.append(
                    ContentFinding(
                        .layout, path: top, "Only ContentInfo.plist and Contents belong at the root.",
                        "Move it into Contents, or remove it."))
            }
        }
        let files = Set(inspection.entries.filter { $0.kind != .directory }.map { Array($0.path.utf8) })
        for entry in inspection.entries {
            // All folders of the path, because a package need not have entries for the folders in between.
            guard
                let folder = ContentPath.folders(above: entry.path, limit: inspection.limits.depth)
                    .first(where: files.contains),
                folder != Array("Contents".utf8)
            else { continue }
            findings.append(
                .damaged(
                    .layout, path: entry.path,
                    "The path leads through “\(String(decoding: folder, as: UTF8.self))”, which is a file or a link."))
        }
        return findings
    }
}
