public import NIOCore
import Synchronization

/// Closes a connection whose client takes an answer, or sends a request, so slowly that it would hold the connection
/// for ever.
public final class StallWatch: Sendable {
    /// The lowest rate that a connection must keep.
    public struct Rule: Sendable {
        /// The time over which the rate is measured. The first window starts with the watch, so that a slow start does
        /// not matter.
        public var window: Duration
        /// The lowest mean rate of a window.
        public var bytesPerSecond = 1_024
        /// Waits until the next measurement; throws when the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void

        /// Creates a rule with the rate of 1,024 bytes per second.
        public init(
            window: Duration,
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        ) {
            self.window = window
            self.sleep = sleep
        }

        /// The servers' usual rule: 60 KiB in each minute.
        public static let usual = Rule(window: .seconds(60))

        /// The fewest bytes in a window, at least 1.
        var least: Int { max(Int(window / .seconds(1) * Double(bytesPerSecond)), 1) }
    }

    /// The direction of the bytes that are watched.
    public enum Direction: Sendable {
        /// From the client to the server.
        case incoming
        /// From the server to the client.
        case outgoing
    }

    private let direction: Direction
    private let bytes = Mutex(0)

    /// Creates a watch.
    public init(_ direction: Direction) { self.direction = direction }

    /// Counts bytes that arrived.
    public func progress(_ count: Int) { bytes.withLock { $0 += count } }

    /// Counts bytes that were written to the connection, and waits until its event loop has seen them.
    ///
    /// A writer is told to wait only after the event loop has looked at the connection. Without this, a busy event loop
    /// would collect a whole file in memory.
    /// - Throws: the error of the event loop when it has ended.
    public func sent(_ count: Int, on channel: any Channel) async throws {
        progress(count)
        try await channel.eventLoop.submit {}.get()
    }

    /// Watches until the task is cancelled, and closes the connection when it stalls.
    public func run(_ channel: any Channel, _ rule: Rule) async {
        if await stalls(channel, rule) { channel.close(promise: nil) }
    }

    /// Waits until the connection moves fewer bytes in a window than the rule requires. Returns false when the task is
    /// cancelled first.
    func stalls(_ channel: any Channel, _ rule: Rule) async -> Bool {
        var seen = await moved(channel)
        while (try? await rule.sleep(rule.window)) != nil {
            let now = await moved(channel)
            guard now - seen >= rule.least else { return true }
            seen = now
        }
        return false
    }

    /// The number of bytes that have moved. Bytes that were given to a connection may still be in the kernel, which
    /// buffers megabytes at once and then takes nothing for minutes. For outgoing bytes, count the client's
    /// acknowledgements where the kernel reports them.
    private func moved(_ channel: any Channel) async -> Int {
        let counted = bytes.withLock { $0 }
        guard direction == .outgoing, let options = channel as? any SocketOptionProvider,
            let told: TCPInformation = try? await options.unsafeGetSocketOption(level: .tcp, name: Self.tcpInfo).get(),
            told[Self.bytesAcknowledged] > 0
        else { return counted }
        return Int(clamping: told[Self.bytesAcknowledged])
    }

    /// `struct tcp_info` of linux/tcp.h in units of 8 bytes; older kernels leave its end zero.
    private typealias TCPInformation = SIMD32<UInt64>
    /// `TCP_INFO`
    private static let tcpInfo = NIOBSDSocket.Option(rawValue: 11)
    /// `tcpi_bytes_acked`, at 120; since Linux 4.1.
    private static let bytesAcknowledged = 15

    /// Runs `body` while a watch runs on the connection.
    /// - Throws: the error of `body`.
    public static func during<T>(
        _ channel: any Channel, _ direction: Direction, _ rule: Rule, _ body: (StallWatch) async throws -> T
    ) async throws -> T {
        let watch = StallWatch(direction)
        let watching = Task { await watch.run(channel, rule) }
        defer { watching.cancel() }
        return try await body(watch)
    }
}
