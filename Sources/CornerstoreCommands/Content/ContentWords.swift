import Store

/// Formats the states of hosted content for output.
enum ContentWords {
    /// Returns the name of a state, such as `Ready to Submit` for `READY_TO_SUBMIT`.
    static func state(_ word: String) -> String { ContentState(rawValue: word)?.name ?? word }
}
