import Store

/// How hosted content's states are shown.
enum ContentWords {
    /// `READY_TO_SUBMIT` as `Ready to Submit`.
    static func state(_ word: String) -> String { ContentState(rawValue: word)?.name ?? word }
}
