extension ContentRule {
    /// Names must be text that every file system accepts.
    static let name = ContentRule(forEach: { entry in
        // A name that leads out of the content already has its finding.
        let hasSlash = entry.nameHasSlash && ContentPath.isInside(entry.path)
        guard !entry.pathIsText || hasSlash || !ContentPath.hasGoodNames(entry.path) else { return nil }
        return ContentFinding(
            .name, path: entry.path,
            "A name is not UTF-8, has a slash or control characters, or is longer than 255 bytes.",
            "Rename it.")
    })
}
