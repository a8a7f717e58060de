/// A moment in the work of the downloads at which a test may end the process.
enum DownloadStep: Sendable, Equatable {
    /// Right before an action is performed.
    case action(DownloadStateMachine.Action)
    /// The store has granted the content. The grant is not recorded yet.
    case granted
    /// The package is complete and verified, under its final name.
    case downloaded
    /// The content is in its folder, but not yet recorded as finished.
    case unpacked
}
