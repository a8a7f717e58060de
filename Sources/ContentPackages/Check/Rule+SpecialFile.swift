extension ContentRule {
    /// The content may contain only files, folders and links.
    static let specialFile = ContentRule(forEach: { entry in
        guard case .special(let what) = entry.kind else { return nil }
        return ContentFinding(
            .specialFile, path: entry.path, "The file is a \(what).",
            "Remove it: content consists of files, folders and links.")
    })
}
