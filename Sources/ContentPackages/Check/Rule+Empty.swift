extension ContentRule {
    /// `Contents` must contain a file.
    static let empty = ContentRule { inspection in
        guard !inspection.entries.contains(where: { $0.kind == .file && $0.path.hasPrefix("Contents/") }) else {
            return []
        }
        return [
            ContentFinding(
                .empty, path: "Contents", "Contents has no file.", "Put the content that the customer bought there.")
        ]
    }
}
