extension ContentRule {
    /// No file may have an executable bit.
    static let executableBit = ContentRule(forEach: { entry in
        guard entry.kind == .file, let mode = entry.mode, mode & 0o111 != 0 else { return nil }
        return ContentFinding(
            .executableBit, path: entry.path, "The file has an executable bit.", "Remove it: chmod a-x.")
    })
}
