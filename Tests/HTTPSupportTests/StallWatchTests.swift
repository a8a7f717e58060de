import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct StallWatchTests {
    @Test func aConnectionThatTakesNothingIsClosed() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        // Returns by closing the connection, and only so.
        await StallWatch(.outgoing).run(channel, StallWatch.Rule(window: .milliseconds(1)))
        try await channel.closeFuture.get()
    }

    @Test func aWriterWaitsForTheEventLoop() async throws {
        let channel = NIOAsyncTestingChannel()
        let watch = StallWatch(.outgoing)
        let hasSent = Mutex(false)
        let order = Mutex<[String]>([])
        channel.eventLoop.execute { order.withLock { $0.append("written") } }
        async let sent: Void = {
            try await watch.sent(1, on: channel)
            order.withLock { $0.append("sent") }
            hasSent.withLock { $0 = true }
        }()
        try await until {
            await channel.testingEventLoop.run()
            return hasSent.withLock { $0 }
        }
        try await sent
        #expect(order.withLock { $0 } == ["written", "sent"])
    }

    /// The bytes of each minute, and after how many minutes the connection is closed.
    static let minutes: [([Int], Int)] = [
        ([61_440, 61_440, 61_439, 61_440], 3), ([61_439], 1), ([0], 1), ([1 << 30, 60], 2),
        ([61_440, 61_440, 61_440, 61_440, 0], 5),
    ]

    @Test(arguments: minutes) func aConnectionThatMovesTooLittleIsClosed(_ bytes: [Int], _ end: Int) async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        let watch = StallWatch(.incoming)
        let looks = Mutex(0)
        var rule = StallWatch.Rule.usual
        rule.sleep = { window in
            #expect(window == .seconds(60) && channel.isActive)
            let minute = looks.withLock { looks in
                looks += 1
                return looks - 1
            }
            // A byte now and then.
            for _ in 0..<10 { watch.progress(bytes[minute] / 10) }
            watch.progress(bytes[minute] % 10)
        }
        await watch.run(channel, rule)
        try await channel.closeFuture.get()
        #expect(looks.withLock { $0 } == end)
    }

    @Test func itEndsWithItsTask() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        let watching = Task { await StallWatch(.incoming).run(channel, StallWatch.Rule(window: .seconds(3600))) }
        watching.cancel()
        await watching.value
        #expect(channel.isActive)
        try await channel.close()
    }
}
