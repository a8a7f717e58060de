import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct UnsentBytesHandlerTests {
    /// A system that takes nothing before it is told to.
    private final class SlowSystem: ChannelOutboundHandler {
        typealias OutboundIn = Any
        typealias OutboundOut = Any
        var promises: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { promises.append(promise) }
        }
    }

    private let system = SlowSystem()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handlers: [system, UnsentBytesHandler()])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func begin(_ status: HTTPResponseStatus = .ok) {
        channel.writeAndFlush(HTTPServerResponsePart.head(.init(version: .http1_1, status: status)), promise: nil)
    }

    private func answer() {
        begin()
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    @Test func aCloseWaitsForTheLastBytes() {
        answer()
        #expect(system.promises.isEmpty, "only a close needs to know when the bytes are sent")
        channel.close(promise: nil)
        #expect(channel.isActive)
        for promise in system.promises { promise.succeed() }
        #expect(!channel.isActive)
    }

    @Test func aCloseWaitsForAnAnswerThatIsWrittenMeanwhile() {
        answer()
        channel.close(promise: nil)
        answer()
        system.promises[0].succeed()
        #expect(channel.isActive && system.promises.count == 2)
        system.promises[1].succeed()
        #expect(!channel.isActive)
    }

    @Test func aSecondCloseDoesNotWait() {
        answer()
        channel.close(promise: nil)
        channel.close(promise: nil)
        #expect(!channel.isActive)
        for promise in system.promises { promise.fail(ChannelError.ioOnClosedChannel) }
    }

    @Test func whoTakesNothingIsClosedAfterAMinute() {
        answer()
        channel.close(promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
        for promise in system.promises { promise.fail(ChannelError.ioOnClosedChannel) }
    }

    @Test(arguments: [false, true]) func withoutACompleteAnswerItClosesAtOnce(isBegun: Bool) {
        if isBegun {
            answer()
            begin()
            // The system has taken the first answer.
            for promise in system.promises { promise.succeed() }
        }
        channel.close(promise: nil)
        #expect(!channel.isActive && system.promises.count == (isBegun ? 1 : 0))
    }

    @Test func `a close waits for an earlier answer and not for the one that is begun behind it`() {
        answer()
        begin(.continue)
        begin()
        channel.close(promise: nil)
        #expect(channel.isActive && system.promises.count == 1)
        system.promises[0].succeed()
        #expect(!channel.isActive)
    }

    @Test func `a close after an informational head waits for the answer before it`() {
        answer()
        begin(.continue)
        channel.close(promise: nil)
        #expect(channel.isActive && system.promises.count == 1)
        system.promises[0].succeed()
        #expect(!channel.isActive)
    }

    @Test func `a close waits for the last of two answers`() {
        answer()
        answer()
        channel.close(promise: nil)
        #expect(system.promises.count == 2)
        system.promises[0].succeed()
        #expect(channel.isActive)
        system.promises[1].succeed()
        #expect(!channel.isActive)
    }
}
