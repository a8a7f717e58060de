/// A moment in the downloads' work at which a test may end the process.
enum DownloadStep: Sendable, Equatable {
    /// Right before an action is performed.
    case action(DownloadStateMachine.Action)
    /// The store has granted the content, and nothing was made of it.
    case granted
    /// The package is whole and right, under its name.
    case downloaded
    /// The content is in its place, and nobody knows.
    case unpacked
}
