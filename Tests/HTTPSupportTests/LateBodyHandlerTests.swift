import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct LateBodyHandlerTests {
    private let ownEnd = OwnEnd()
    private let channel: EmbeddedChannel

    init() { channel = EmbeddedChannel(handlers: [ownEnd, LateBodyHandler()]) }

    /// Keeps what closes the server's own end alone, which the channel takes for a whole close.
    private final class OwnEnd: ChannelOutboundHandler {
        typealias OutboundIn = Any
        var isClosed = false

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard case .output = mode else { return context.close(mode: mode, promise: promise) }
            isClosed = true
            promise?.succeed()
        }
    }

    private func read(_ part: HTTPServerRequestPart) throws { try channel.writeInbound(part) }

    private func readHead() throws { try read(.head(.init(version: .http1_1, method: .POST, uri: "/"))) }

    private func readBody() throws { try read(.body(ByteBuffer(string: "x"))) }

    private func answer() throws {
        try channel.writeOutbound(HTTPServerResponsePart.head(.init(version: .http1_1, status: .unauthorized)))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    /// How many parts of requests have come through.
    private func passed() throws -> Int {
        var count = 0
        while try channel.readInbound(as: HTTPServerRequestPart.self) != nil { count += 1 }
        return count
    }

    private func pass(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

    private func connect() throws {
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    @Test func aBodyThatComesForEverEndsItsConnection() throws {
        try connect()
        try readHead()
        try readBody()
        #expect(try passed() == 2)
        try answer()
        for _ in 0..<4 {
            try readBody()
            pass(.seconds(1))
        }
        // What comes is for nobody.
        #expect(try passed() == 0 && channel.isActive)
        pass(.seconds(1))
        #expect(!channel.isActive)
    }

    @Test func aBodyThatEndsInTimeLeavesTheConnection() throws {
        try connect()
        for _ in 0..<3 {
            try readHead()
            try readBody()
            try answer()
            pass(.seconds(4))
            try readBody()
            try read(.end(nil))
            #expect(try passed() == 3)
        }
        pass(.seconds(60))
        #expect(channel.isActive)
    }

    @Test func oneThatIsReadBeforeItsAnswerTakesItsTime() throws {
        try connect()
        try readHead()
        for _ in 0..<9 {
            try readBody()
            pass(.seconds(10))
        }
        try read(.end(nil))
        // The next one may have begun when the answer to the first is written.
        try readHead()
        try answer()
        for _ in 0..<9 {
            try readBody()
            pass(.seconds(10))
        }
        #expect(try passed() == 21 && channel.isActive)
        try answer()
        pass(.seconds(5))
        #expect(!channel.isActive)
    }

    /// Closes what the server closes itself while a body is still coming.
    @Test(arguments: [true, false]) func aCloseWaitsForTheRestOfTheBody(_ comes: Bool) throws {
        try connect()
        try readHead()
        try readBody()
        try answer()
        let closing = channel.close()
        pass(.seconds(4))
        #expect(channel.isActive && ownEnd.isClosed)
        if comes { try read(.end(nil)) } else { pass(.seconds(1)) }
        #expect(!channel.isActive)
        try closing.wait()
    }

    @Test func aCloseWithNothingUnreadWaitsForNothing() throws {
        try connect()
        try readHead()
        try read(.end(nil))
        try answer()
        try channel.close().wait()
        #expect(!channel.isActive)
    }
}
