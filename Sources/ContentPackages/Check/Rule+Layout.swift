extension ContentRule {
    /// At the root are `ContentInfo.plist` and `Contents`, and nothing else; what is a folder to one file is no file itself.
    static let layout = ContentRule { inspection in
        var findings: [ContentFinding] = []
        var strangers: Set<String> = []
        for entry in inspection.entries {
            let top = String(entry.path.prefix { $0 != "/" })
            switch top {
            case ContentInfo.fileName:
                guard entry.path != top || entry.kind != .file else { continue }
                findings.append(.infoIsNoFile)
            case "Contents":
                guard entry.path == top, entry.kind != .directory else { continue }
                findings.append(ContentFinding(.layout, path: top, "Contents is no folder.", "Make it one."))
            case "", ".", "..":
                // A rule of its own.
                continue
            default:
                guard strangers.insert(top).inserted else { continue }
                findings.append(
                    ContentFinding(
                        .layout, path: top, "Only ContentInfo.plist and Contents belong at the root.",
                        "Move it into Contents, or leave it out."))
            }
        }
        let files = Set(inspection.entries.filter { $0.kind != .directory }.map { Array($0.path.utf8) })
        for entry in inspection.entries {
            guard let slash = entry.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { continue }
            let folder = Array(entry.path.utf8[..<slash])
            guard files.contains(folder), folder != Array("Contents".utf8) else { continue }
            findings.append(
                .damaged(.layout, path: entry.path, "What it is in is no folder."))
        }
        return findings
    }
}
