extension ContentRule {
    /// `Contents` must contain a file.
    static let empty = ContentRule { inspection in
        guard !inspection.entries.contains(where: { $0.kind == .file && $0.path.hasPrefix("Contents/") }) else {
            return []
        }
        return [
            ContentFinding(
                .empty, path: "Contents", "There is no file in Contents.", "Put what the customer bought there.")
        ]
    }
}
