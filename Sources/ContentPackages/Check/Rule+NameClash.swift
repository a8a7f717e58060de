import Foundation

extension ContentRule {
    /// No two names in a folder may be equal on a file system that ignores case or Unicode form. This includes folders
    /// that occur only as parts of paths.
    static let nameClash = ContentRule { inspection in
        var seen: [[UInt8]: Int] = [:]
        var findings: [ContentFinding] = []
        for (index, entry) in inspection.entries.enumerated() {
            let key = folded(entry.path)
            guard let first = seen[key] else {
                seen[key] = index
                continue
            }
            // Clashing folders would be reported for every file in them; only the first is.
            findings.append(clash(entry.path, with: inspection.entries[first].path))
        }
        return findings + folderClashes(inspection, seen.mapValues { inspection.entries[$0].path })
    }

    /// Compares the folders that have no entry with all entries (`seen`, by folded path) and with one another.
    private static func folderClashes(_ inspection: Inspection, _ seen: [[UInt8]: String]) -> [ContentFinding] {
        var seen = seen
        var known: Set<[UInt8]> = []
        var findings: [ContentFinding] = []
        for entry in inspection.entries {
            let folders = ContentPath.folders(above: entry.path, limit: inspection.limits.depth)
            for folder in folders where known.insert(folder).inserted {
                let path = String(decoding: folder, as: UTF8.self)
                let key = folded(path)
                guard let other = seen[key] else {
                    seen[key] = path
                    continue
                }
                guard !other.utf8.elementsEqual(folder) else { continue }
                findings.append(clash(path, with: other))
            }
        }
        return findings
    }

    private static func clash(_ path: String, with other: String) -> ContentFinding {
        ContentFinding(
            .nameClash, path: path,
            other.utf8.elementsEqual(path.utf8)
                ? "The name is in the package twice."
                : "The name differs only by case or Unicode form from “\(other)”.",
            "Rename one of them: a device may treat them as the same name.")
    }

    /// The path in the form in which the least strict file systems compare it.
    private static func folded(_ path: String) -> [UInt8] {
        if path.utf8.allSatisfy({ $0 < 0x80 }) {
            return path.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        }
        let folded = path.decomposedStringWithCanonicalMapping.folding(options: .caseInsensitive, locale: nil)
        return Array(folded.precomposedStringWithCanonicalMapping.lowercased().utf8)
    }
}
