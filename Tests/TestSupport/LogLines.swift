import Logging
import Synchronization

/// What was logged, from `info` up, for tests that look.
public final class LogLines: Sendable {
    /// A logged line.
    public struct Line: Sendable {
        /// The line's level.
        public var level: Logger.Level
        /// The message and its metadata.
        public var text: String
    }

    /// The lines as they come, for one who waits for them.
    public let arrivals: AsyncStream<Line>
    private let arrived: AsyncStream<Line>.Continuation
    private let lines = Mutex<[Line]>([])

    /// Creates an empty log.
    public init() { (arrivals, arrived) = AsyncStream.makeStream() }

    /// All lines so far.
    public var all: [Line] { lines.withLock { $0 } }

    /// A logger that writes to this log.
    public var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private func add(_ line: Line) {
        lines.withLock { $0.append(line) }
        arrived.yield(line)
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            lines.add(Line(level: event.level, text: "\(event.message) \(all)"))
        }
    }
}
