extension ContentRule {
    /// Every path must stay within the content.
    static let outsidePath = ContentRule(forEach: { entry in
        guard !ContentPath.isInside(entry.path) else { return nil }
        return .damaged(.outsidePath, path: entry.path, "The path is absolute, or has “..” or an empty name in it.")
    })
}
