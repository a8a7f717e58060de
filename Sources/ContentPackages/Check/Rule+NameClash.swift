import Foundation

extension ContentRule {
    /// No two names in a folder are the same to a file system that passes over case or Unicode form.
    static let nameClash = ContentRule { inspection in
        var seen: [[UInt8]: Int] = [:]
        var findings: [ContentFinding] = []
        for (index, entry) in inspection.entries.enumerated() {
            let key = folded(entry.path)
            guard let first = seen[key] else {
                seen[key] = index
                continue
            }
            let other = inspection.entries[first].path
            let isSame = other.utf8.elementsEqual(entry.path.utf8)
            // The folders of a clash clash in every file: the first says it.
            findings.append(
                ContentFinding(
                    .nameClash, path: entry.path,
                    isSame
                        ? "It is in the package twice."
                        : "It differs from another only by case or Unicode form: “\(other)”.",
                    "Rename one of them: a device may hold them for the same."))
        }
        return findings
    }

    /// What file systems that are least strict take a path for.
    private static func folded(_ path: String) -> [UInt8] {
        if path.utf8.allSatisfy({ $0 < 0x80 }) {
            return path.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        }
        let folded = path.decomposedStringWithCanonicalMapping.folding(options: .caseInsensitive, locale: nil)
        return Array(folded.precomposedStringWithCanonicalMapping.lowercased().utf8)
    }
}
