extension ContentRule {
    /// `ContentInfo.plist` stands at the root and has its keys.
    static let info = ContentRule { inspection in
        switch inspection.info {
        case .read?: return []
        case .wrong(let findings)?: return findings
        case nil:
            // One that is there but damaged has its finding already.
            let isNamed = inspection.findings.contains { $0.path == ContentInfo.fileName }
            return isNamed ? [] : [.noInfo]
        }
    }
}
