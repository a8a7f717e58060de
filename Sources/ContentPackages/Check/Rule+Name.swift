extension ContentRule {
    /// Names are text that every file system keeps.
    static let name = ContentRule(forEach: { entry in
        guard !entry.pathIsText || !ContentPath.hasGoodNames(entry.path) else { return nil }
        return ContentFinding(
            .name, path: entry.path, "A name is not UTF-8, has control characters, or is longer than 255 bytes.",
            "Rename it.")
    })
}
