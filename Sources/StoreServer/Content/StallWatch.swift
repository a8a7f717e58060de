import NIOCore
import Synchronization

/// Closes a connection whose other end takes nothing of an answer for a while: a reader that stopped would hold it for ever.
final class StallWatch: Sendable {
    /// How long an answer may stand still.
    static let patience = Duration.seconds(60)

    private let pieces = Mutex(0)

    /// Says that a piece was taken.
    func progress() { pieces.withLock { $0 += 1 } }

    /// Watches until the task is cancelled. Between two looks it is the time of ``patience``, so that a connection closes after once or twice that.
    func run(_ channel: any Channel, patience: Duration = patience) async {
        var seen = 0
        while (try? await Task.sleep(for: patience)) != nil {
            let now = pieces.withLock { $0 }
            guard now > seen else { return channel.close(promise: nil) }
            seen = now
        }
    }
}
