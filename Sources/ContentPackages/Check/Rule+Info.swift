extension ContentRule {
    /// `ContentInfo.plist` must be at the root and have its keys.
    static let info = ContentRule { inspection in
        switch inspection.info {
        case .read?: return []
        case .wrong(let findings)?: return findings
        case nil:
            // A file that is damaged or not a plain file already has its finding.
            let isSaid = inspection.findings.contains { $0.path == ContentInfo.fileName }
            let isThere = inspection.entries.contains { $0.path == ContentInfo.fileName && $0.kind != .file }
            return isSaid || isThere ? [] : [.noInfo]
        }
    }
}
