import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct RequestBoundsHandlerTests {
    /// A connection whose server reads whenever something has arrived, as a real one does.
    private struct Line {
        let budget: BodyBudget
        let presence = ClientPresence()
        let channel: EmbeddedChannel
        var isServerReading = true

        init(budget: BodyBudget = BodyBudget(1 << 20)) throws {
            self.budget = budget
            channel = EmbeddedChannel(
                handler: RequestBoundsHandler(budget: budget, patience: .seconds(30), presence: presence))
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        /// What one read brings.
        func receive(_ parts: HTTPServerRequestPart...) {
            for part in parts { channel.pipeline.fireChannelRead(part) }
            channel.pipeline.fireChannelReadComplete()
            if isServerReading { channel.pipeline.read() }
        }

        func pass(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

        func answer() throws {
            try channel.writeOutbound(HTTPServerResponsePart.head(.init(version: .http1_1, status: .ok)))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }

        /// Why a body was refused; nil when none was.
        var refusal: BodyRefusal? {
            do {
                try channel.throwIfErrorCaught()
                return nil
            } catch {
                return error as? BodyRefusal
            }
        }

        /// How many parts have come through.
        var passed: Int {
            var count = 0
            while (try? channel.readInbound(as: HTTPServerRequestPart.self)) ?? nil != nil { count += 1 }
            return count
        }
    }

    private static let head = HTTPServerRequestPart.head(.init(version: .http1_1, method: .POST, uri: "/"))
    private static let end = HTTPServerRequestPart.end(nil)

    private static func body(_ count: Int) -> HTTPServerRequestPart { .body(ByteBuffer(repeating: 0x20, count: count)) }

    // MARK: Time

    @Test(arguments: [0, 1, 6 << 20]) func aBodyOfWhichNothingMoreComesIsRefusedInTime(_ count: Int) throws {
        let line = try Line(budget: BodyBudget(64 << 20))
        line.receive(Self.head, Self.body(count))
        line.pass(.seconds(29))
        #expect(line.refusal == nil)
        line.pass(.seconds(1))
        #expect(line.refusal == .late)
        // Nothing of it is passed on any more.
        #expect(line.passed == 2)
        line.receive(Self.body(10), Self.end, Self.head, Self.end)
        #expect(line.passed == 0)
        // Its room is free as soon as it was answered.
        try line.answer()
        #expect(line.budget.bytes == 0)
    }

    @Test func aBodyThatTricklesIsRefusedInTime() throws {
        let line = try Line()
        line.receive(Self.head)
        for _ in 0..<29 {
            line.pass(.seconds(1))
            line.receive(Self.body(1))
        }
        #expect(line.refusal == nil)
        line.pass(.seconds(1))
        #expect(line.refusal == .late)
    }

    @Test func aBodyThatIsThereInTimeIsNotRefusedHoweverLongItsAnswerTakes() throws {
        let line = try Line()
        for _ in 0..<3 {
            line.receive(Self.head)
            line.pass(.seconds(20))
            line.receive(Self.body(5), Self.end)
            line.pass(.seconds(300))
            try line.answer()
            line.receive(Self.head, Self.body(5), Self.end)
            line.pass(.seconds(300))
            try line.answer()
        }
        #expect(line.refusal == nil && line.passed == 18 && line.channel.isActive)
    }

    @Test func theServersOwnDelayIsNotTheClients() throws {
        var line = try Line()
        line.isServerReading = false
        line.receive(Self.head, Self.body(5))
        line.pass(.seconds(90))
        #expect(line.refusal == nil)
        line.channel.pipeline.read()
        line.pass(.seconds(30))
        #expect(line.refusal == .late)
    }

    /// The server reads for five seconds, then not until the time is nearly over, and then again.
    @Test(arguments: [29, 31, 300]) func aPauseOfTheServerIsNotCounted(_ end: Int64) throws {
        var line = try Line()
        line.receive(Self.head, Self.body(5))
        line.pass(.seconds(5))
        line.isServerReading = false
        line.receive(Self.body(5))
        line.pass(.seconds(end - 5))
        #expect(line.refusal == nil)
        line.channel.pipeline.read()
        line.pass(.seconds(24))
        #expect(line.refusal == nil)
        line.pass(.seconds(1))
        #expect(line.refusal == .late)
    }

    @Test func severalPausesAreNotCounted() throws {
        var line = try Line()
        line.receive(Self.head)
        for _ in 0..<29 {
            line.isServerReading = false
            line.pass(.seconds(1))
            line.receive(Self.body(1))
            line.pass(.seconds(3))
            line.channel.pipeline.read()
        }
        #expect(line.refusal == nil)
        line.pass(.milliseconds(999))
        #expect(line.refusal == nil)
        line.pass(.milliseconds(1))
        #expect(line.refusal == .late)
    }

    private static func expecting(_ version: HTTPVersion = .http1_1) -> HTTPServerRequestPart {
        .head(.init(version: version, method: .POST, uri: "/", headers: ["Expect": "100-Continue"]))
    }

    @Test func theTimeOfAClientThatWaitsForContinueBeginsThere() throws {
        let line = try Line()
        line.receive(Self.expecting())
        line.pass(.seconds(300))
        #expect(line.refusal == nil)
        try line.channel.writeOutbound(HTTPServerResponsePart.head(.init(version: .http1_1, status: .continue)))
        line.pass(.seconds(29))
        #expect(line.refusal == nil)
        line.pass(.seconds(1))
        #expect(line.refusal == .late)
    }

    /// It waits behind another request, whose answer takes long.
    @Test func aClientThatWaitsForContinueBehindAnotherHasItsTime() throws {
        let line = try Line()
        line.receive(Self.head, Self.end, Self.expecting())
        line.pass(.seconds(300))
        try line.answer()
        line.pass(.seconds(300))
        try line.channel.writeOutbound(HTTPServerResponsePart.head(.init(version: .http1_1, status: .continue)))
        line.pass(.seconds(29))
        #expect(line.refusal == nil)
        line.pass(.seconds(1))
        #expect(line.refusal == .late)
    }

    /// A client need not wait for long, and one of HTTP/1.0 is never told.
    @Test func whoeverDoesNotWaitForContinueHasTheUsualTime() throws {
        let line = try Line()
        line.receive(Self.expecting())
        line.pass(.seconds(100))
        line.receive(Self.body(1))
        line.pass(.seconds(29))
        #expect(line.refusal == nil)
        line.pass(.seconds(1))
        #expect(line.refusal == .late)
        let old = try Line()
        old.receive(Self.expecting(.http1_0))
        old.pass(.seconds(30))
        #expect(old.refusal == .late)
    }

    @Test func whatIsAnsweredBeforeItsBodyIsThereIsOthersBusiness() throws {
        let line = try Line()
        line.receive(Self.head, Self.body(100_000))
        try line.answer()
        #expect(line.budget.bytes == 0)
        line.receive(Self.body(100_000))
        line.pass(.seconds(60))
        #expect(line.refusal == nil && line.budget.bytes == 0)
    }

    // MARK: Room

    @Test func bodiesTakeRoomUntilTheyAreAnswered() throws {
        let line = try Line()
        // A small one takes none.
        line.receive(Self.head, Self.body(16 << 10), Self.end)
        #expect(line.budget.bytes == 0)
        line.receive(Self.head, Self.body(16 << 10), Self.body(1), Self.end)
        #expect(line.budget.bytes == 64 << 10)
        line.receive(Self.head, Self.body(200_000))
        #expect(line.budget.bytes == (64 << 10) + (256 << 10))
        try line.answer()
        #expect(line.budget.bytes == (64 << 10) + (256 << 10))
        try line.answer()
        #expect(line.budget.bytes == 256 << 10)
        // A client that goes away leaves its room.
        _ = try line.channel.finish(acceptAlreadyClosed: true)
        #expect(line.budget.bytes == 0)
    }

    @Test func whatDoesNotFitIsRefusedAndSmallBodiesAreNot() throws {
        let budget = BodyBudget(1 << 20)
        let (first, second, third) = (try Line(budget: budget), try Line(budget: budget), try Line(budget: budget))
        first.receive(Self.head, Self.body(900_000))
        #expect(first.refusal == nil)
        second.receive(Self.head, Self.body(100_000), Self.body(100_000))
        #expect(second.refusal == .noRoom && second.passed == 2)
        third.receive(Self.head, Self.body(10_000), Self.end)
        #expect(third.refusal == nil && third.passed == 3)
        try second.answer()
        try first.answer()
        #expect(budget.bytes == 0)
        third.receive(Self.head, Self.body(1 << 20), Self.end)
        #expect(third.refusal == nil && budget.bytes == 1 << 20)
    }

    @Test func aBodyThatIsStreamedTakesNoRoomAndItsOwnTime() throws {
        let line = try Line(budget: BodyBudget(1 << 20))
        line.receive(Self.head, Self.body(500_000))
        #expect(line.budget.bytes == 512 << 10)
        line.channel.triggerUserOutboundEvent(StreamedBody(), promise: nil)
        line.channel.embeddedEventLoop.run()
        #expect(line.budget.bytes == 0)
        for _ in 0..<10 {
            line.receive(Self.body(1 << 20))
            line.pass(.seconds(30))
        }
        line.receive(Self.end)
        #expect(line.refusal == nil && line.budget.bytes == 0 && line.passed == 13)
        try line.answer()
        // The next one is bounded again.
        line.receive(Self.head, Self.body(100_000))
        #expect(line.budget.bytes == 128 << 10)
        line.pass(.seconds(30))
        #expect(line.refusal == .late)
    }

    // MARK: Leaving

    @Test(arguments: [true, false]) func whoeverListensHearsThatTheClientHasLeft(_ onlyItsEnd: Bool) throws {
        let line = try Line()
        let heard = Mutex(0)
        let id = line.presence.whenLeft { heard.withLock { $0 += 1 } }
        let forgotten = line.presence.whenLeft { heard.withLock { $0 += 100 } }
        line.presence.forget(forgotten)
        #expect(id != nil && heard.withLock { $0 } == 0)
        if onlyItsEnd {
            line.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            _ = try line.channel.finish(acceptAlreadyClosed: true)
        }
        #expect(heard.withLock { $0 } == 1)
        // One that comes later hears it at once.
        #expect(line.presence.whenLeft { heard.withLock { $0 += 1 } } == nil)
        #expect(heard.withLock { $0 } == 2)
    }
}
