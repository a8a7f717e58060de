public import NIOCore
import Synchronization

/// Closes a connection whose other end takes hardly anything of an answer, or sends hardly anything of a request: it would be held for ever.
public final class StallWatch: Sendable {
    /// What a connection has to keep up.
    public struct Rule: Sendable {
        /// Between two looks at it. The first is that long after the beginning, so that a slow start is no matter.
        public var window: Duration
        /// On the mean of each window.
        public var bytesPerSecond = 1_024
        /// Waits until the next look; throws when the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void

        public init(
            window: Duration,
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        ) {
            self.window = window
            self.sleep = sleep
        }

        /// What servers here demand: 60 KiB in each minute.
        public static let usual = Rule(window: .seconds(60))

        /// Bytes in a window, at least one.
        var least: Int { max(Int(window / .seconds(1) * Double(bytesPerSecond)), 1) }
    }

    /// Which way the bytes go that are watched.
    public enum Direction: Sendable {
        case incoming
        case outgoing
    }

    private let direction: Direction
    private let bytes = Mutex(0)

    public init(_ direction: Direction) { self.direction = direction }

    /// Says that so many bytes came, or were given to the connection.
    public func progress(_ count: Int) { bytes.withLock { $0 += count } }

    /// Watches until the task is cancelled, and closes the connection when it stalls.
    public func run(_ channel: any Channel, _ rule: Rule) async {
        if await stalls(channel, rule) { channel.close(promise: nil) }
    }

    /// Waits until the connection moves less in a window than it has to. False when the task was cancelled before.
    func stalls(_ channel: any Channel, _ rule: Rule) async -> Bool {
        var seen = await moved(channel)
        while (try? await rule.sleep(rule.window)) != nil {
            let now = await moved(channel)
            guard now - seen >= rule.least else { return true }
            seen = now
        }
        return false
    }

    /// How many bytes have passed. What was given to a connection may lie in the kernel, which takes in megabytes at once and then nothing for minutes:
    /// of that the other end's acknowledgements tell, where the kernel knows them.
    private func moved(_ channel: any Channel) async -> Int {
        let counted = bytes.withLock { $0 }
        guard direction == .outgoing, let options = channel as? any SocketOptionProvider,
            let told: TCPInformation = try? await options.unsafeGetSocketOption(level: .tcp, name: Self.tcpInfo).get(),
            told[Self.bytesAcknowledged] > 0
        else { return counted }
        return Int(clamping: told[Self.bytesAcknowledged])
    }

    /// `struct tcp_info` of linux/tcp.h, by eights of its bytes; older kernels leave the end of it zero.
    private typealias TCPInformation = SIMD32<UInt64>
    /// `TCP_INFO`
    private static let tcpInfo = NIOBSDSocket.Option(rawValue: 11)
    /// `tcpi_bytes_acked`, at 120; since Linux 4.1.
    private static let bytesAcknowledged = 15

    /// Runs `body` while somebody watches the connection.
    public static func during<T>(
        _ channel: any Channel, _ direction: Direction, _ rule: Rule, _ body: (StallWatch) async throws -> T
    ) async throws -> T {
        let watch = StallWatch(direction)
        let watching = Task { await watch.run(channel, rule) }
        defer { watching.cancel() }
        return try await body(watch)
    }
}
