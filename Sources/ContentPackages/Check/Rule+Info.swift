extension ContentRule {
    /// `ContentInfo.plist` stands at the root and has its keys.
    static let info = ContentRule { inspection in
        switch inspection.info {
        case .read?: return []
        case .wrong(let findings)?: return findings
        case nil:
            // One that is there but damaged, or no file, has its finding already.
            let isSaid = inspection.findings.contains { $0.path == ContentInfo.fileName }
            let isThere = inspection.entries.contains { $0.path == ContentInfo.fileName && $0.kind != .file }
            return isSaid || isThere ? [] : [.noInfo]
        }
    }
}
