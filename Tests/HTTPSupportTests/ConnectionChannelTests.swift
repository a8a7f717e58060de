import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
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

    private struct Context: RequestContext {
        var coreContext: CoreRequestContextStorage
        let channel: any Channel

        init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            channel = source.channel
        }
    }

    /// Answers `/large` with more than the system keeps for a client that reads nothing.
    private struct LargeAnswer: DirectAnswering {
        static let size = 16 << 20

        func bodyLimit(of request: DirectRequest) -> Int? { request.path == "/large" ? 0 : nil }

        func answer(
            _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
        ) -> DirectOutcome {
            .answer(DirectAnswer(contentType: "text/plain", body: ByteBuffer(repeating: 0x20, count: Self.size)))
        }
    }

    @Test func aDirectAnswerIsSentBeforeAStoppingServerClosesItsConnection() async throws {
        let accepted = Mutex<(any Channel)?>(nil)
        let router = Router(context: Context.self)
        router.get("/channel") { _, context in
            accepted.withLock { $0 = context.channel }
            return "noted"
        }
        try await LoopbackServer.with(router, server: ServerLimits().server(LargeAnswer())) { url in
            let port = UInt16(url.port ?? 0)
            let (isOpen, received) = try await RawConnection.run {
                let connection = try RawConnection(port: port, receiving: 64 << 10)
                connection.write("GET /channel HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = connection.read(until: "noted")
                connection.write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = connection.isReadable(within: 60_000)
                let channel = accepted.withLock { $0 }
                // This is how NIOExtras' ServerQuiescingHelper tells a connection that the server stops.
                channel?.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
                // The event loop has handled the event.
                try channel?.eventLoop.submit {}.wait()
                return (channel?.isActive == true, connection.readToEnd())
            }
            #expect(isOpen && received > LargeAnswer.size)
        }
    }
}
