extension ContentRule {
    /// The content may contain only files, folders and links.
    static let specialFile = ContentRule(forEach: { entry in
        guard case .special(let what) = entry.kind else { return nil }
        return ContentFinding(
            .specialFile, path: entry.path, "It is a \(what).", "Leave it out: content is files, folders and links.")
    })
}
