import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPSupport

@Suite struct StallWatchTests {
    @Test func aConnectionThatTakesNothingIsClosed() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        // Returns by closing the connection, and only so.
        await StallWatch().run(channel, patience: .milliseconds(1))
        try await channel.closeFuture.get()
    }

    @Test func itEndsWithItsTask() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        let watching = Task { await StallWatch().run(channel, patience: .seconds(3600)) }
        watching.cancel()
        await watching.value
        #expect(channel.isActive)
        try await channel.close()
    }
}
