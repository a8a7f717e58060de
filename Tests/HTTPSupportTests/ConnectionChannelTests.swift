import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct ConnectionChannelTests {
    /// NIO ends the process when such a connection goes away with its writer unfinished.
    @Test func aConnectionThatNobodyServesIsClosed() async throws {
        let connections = ConnectionChannel(responder: { _, _, _ in }, configuration: .init())
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        do {
            let connection = try await channel.testingEventLoop.executeInContext {
                connections.setup(channel: channel, logger: Logger.silent)
            }.get()
            // With this NIO leaves the writer to whoever holds the connection.
            channel.pipeline.fireChannelActive()
            #expect(connection.channel.isActive)
        }
        try await channel.closeFuture.get()
        #expect(!channel.isActive)
    }
}
