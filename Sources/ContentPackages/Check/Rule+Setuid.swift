extension ContentRule {
    /// No file may run as another user.
    static let setuid = ContentRule(forEach: { entry in
        guard let mode = entry.mode, mode & 0o7000 != 0, entry.kind == .file || mode & 0o6000 != 0 else { return nil }
        return ContentFinding(
            .setuid, path: entry.path, "The mode has setuid, setgid or the sticky bit.",
            "Remove them: chmod u-s,g-s,-t.")
    })
}
