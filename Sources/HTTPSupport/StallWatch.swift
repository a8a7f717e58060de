import NIOCore
import Synchronization

/// Closes a connection whose other end takes nothing of an answer, or sends nothing of a request, for a while: it would be held for ever.
public final class StallWatch: Sendable {
    /// How long an answer or a request may stand still.
    public static let patience = Duration.seconds(60)

    private let pieces = Mutex(0)

    public init() {}

    /// Says that a piece was taken.
    public func progress() { pieces.withLock { $0 += 1 } }

    /// Watches until the task is cancelled. Between two looks it is the time of ``patience``, so that a connection closes after once or twice that.
    public func run(_ channel: any Channel, patience: Duration = patience) async {
        var seen = 0
        while (try? await Task.sleep(for: patience)) != nil {
            let now = pieces.withLock { $0 }
            guard now > seen else { return channel.close(promise: nil) }
            seen = now
        }
    }

    /// Runs `body` while somebody watches the connection.
    public static func during<T>(
        _ channel: any Channel, patience: Duration = patience, _ body: (StallWatch) async throws -> T
    ) async throws -> T {
        let watch = StallWatch()
        let watching = Task { await watch.run(channel, patience: patience) }
        defer { watching.cancel() }
        return try await body(watch)
    }
}
