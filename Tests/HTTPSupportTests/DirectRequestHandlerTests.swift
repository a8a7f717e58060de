import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct DirectRequestHandlerTests {
    /// Answers `/now` at once with its body, `/later` when told, declines `/no`, and never wants anything else.
    private final class Echo: DirectAnswering {
        let promises = Mutex<[EventLoopPromise<DirectAnswer?>]>([])

        func bodyLimit(of request: DirectRequest) -> Int? { request.path == "/other" ? nil : 8 }

        func answer(
            _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
        ) -> DirectOutcome {
            switch request.path {
            case "/now": return .answer(DirectAnswer(contentType: "text/plain", body: body))
            case "/later":
                let promise = eventLoop.makePromise(of: DirectAnswer?.self)
                promises.withLock { $0.append(promise) }
                return .later(promise.futureResult)
            default: return .declined
            }
        }

        func succeed(_ text: String?) {
            let promise = promises.withLock { $0.removeFirst() }
            promise.succeed(text.map { DirectAnswer(contentType: "text/plain", body: ByteBuffer(string: $0)) })
        }
    }

    private struct Line {
        let echo = Echo()
        let channel: EmbeddedChannel
        private let counter = ReadCounter()
        /// How often more was read.
        var reads: Int { counter.count }

        init() throws {
            channel = EmbeddedChannel(handlers: [counter, DirectRequestHandler(echo)])
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        func head(_ path: String, _ fields: HTTPHeaders = [:]) throws {
            try channel.writeInbound(Line.head(path, fields))
        }

        func body(_ text: String) throws {
            try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: text)))
        }
        func end(_ trailers: HTTPHeaders? = nil) throws {
            try channel.writeInbound(HTTPServerRequestPart.end(trailers))
        }

        /// `writeInbound` ends each part's burst; a burst of several goes through the pipeline by hand.
        func burst(_ parts: [HTTPServerRequestPart]) {
            for part in parts { channel.pipeline.fireChannelRead(part) }
            channel.pipeline.fireChannelReadComplete()
        }

        func request(_ path: String, _ text: String, _ fields: HTTPHeaders = [:]) {
            burst([Line.head(path, fields), .body(ByteBuffer(string: text)), .end(nil)])
        }

        static func head(_ path: String, _ fields: HTTPHeaders = [:], version: HTTPVersion = .http1_1)
            -> HTTPServerRequestPart
        {
            var fields = fields
            if !fields.contains(name: "Host") { fields.add(name: "Host", value: "localhost:8080") }
            return .head(HTTPRequestHead(version: version, method: .POST, uri: path, headers: fields))
        }

        /// What reached the router, in short: a path, the bytes of a body, or `end`.
        func passed() throws -> [String] {
            var found: [String] = []
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                switch part {
                case .head(let request): found.append(request.uri)
                case .body(let bytes): found.append(String(buffer: bytes))
                case .end: found.append("end")
                }
            }
            return found
        }

        /// What was written, in short: a status, the bytes of a body, or `end`.
        func written() throws -> [String] {
            var found: [String] = []
            while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
                switch part {
                case .head(let response): found.append("\(response.status.code)")
                case .body(.byteBuffer(let bytes)): found.append(String(buffer: bytes))
                case .body(.fileRegion): found.append("file")
                case .end: found.append("end")
                }
            }
            return found
        }

        /// The router answers the request that it has.
        func routerAnswers(_ text: String) throws {
            try channel.writeOutbound(
                HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .accepted)))
            try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }
    }

    @Test func whatCanBeAnsweredIsAnsweredAndNotPassed() throws {
        let line = try Line()
        line.burst([Line.head("/now"), .body(ByteBuffer(string: "ab")), .body(ByteBuffer(string: "c")), .end(nil)])
        guard case .head(let response) = try line.channel.readOutbound(as: HTTPServerResponsePart.self) else {
            Issue.record("no head")
            return
        }
        #expect(response.status == .ok)
        #expect(response.headers["Content-Length"] == ["3"])
        #expect(response.headers["Content-Type"] == ["text/plain"])
        #expect(response.headers["Date"].first?.hasSuffix(" GMT") == true)
        #expect(try line.written() == ["abc", "end"])
        #expect(try line.passed() == [])
    }

    /// Answers that nobody takes would fill the memory.
    @Test func nothingMoreIsReadWhileTheClientDoesNotTakeItsAnswers() throws {
        let line = try Line()
        let before = line.reads
        line.channel.isWritable = false
        line.channel.pipeline.fireChannelWritabilityChanged()
        line.request("/now", "abc")
        line.channel.pipeline.read()
        #expect(try line.written() == ["200", "abc", "end"] && line.reads == before)
        line.channel.isWritable = true
        line.channel.pipeline.fireChannelWritabilityChanged()
        #expect(line.reads == before + 1)
        // Nothing is read twice for it.
        line.channel.pipeline.fireChannelWritabilityChanged()
        #expect(line.reads == before + 1)
    }

    @Test func aLaterAnswerThatTheClientDoesNotTakeLetsNothingBeRead() throws {
        let line = try Line()
        let before = line.reads
        line.request("/later", "a")
        line.request("/now", "b")
        line.channel.pipeline.read()
        line.channel.isWritable = false
        line.channel.pipeline.fireChannelWritabilityChanged()
        line.echo.succeed("A")
        #expect(try line.written() == ["200", "A", "end", "200", "b", "end"] && line.reads == before)
        line.channel.isWritable = true
        line.channel.pipeline.fireChannelWritabilityChanged()
        #expect(line.reads == before + 1)
    }

    /// The router looks after its own answers, and may wait for the rest of a body.
    @Test func whileTheRouterAnswersItIsReadOn() throws {
        let line = try Line()
        line.request("/no", "abc")
        let before = line.reads
        line.channel.isWritable = false
        line.channel.pipeline.fireChannelWritabilityChanged()
        line.channel.pipeline.read()
        #expect(line.reads == before + 1)
    }

    @Test(arguments: [("/no", "abc"), ("/other", "abc"), ("/now", "123456789")])
    func whatCannotPassesUntouched(path: String, body: String) throws {
        let line = try Line()
        line.request(path, body)
        #expect(try line.passed() == [path, body, "end"])
        #expect(try line.written() == [])
    }

    @Test func aBodyInTwoBurstsPassesSinceTheRouterBoundsItsTime() throws {
        let line = try Line()
        try line.head("/now")
        try line.body("ab")
        try line.body("cd")
        try line.end()
        #expect(try line.passed() == ["/now", "ab", "cd", "end"])
        #expect(try line.written() == [])
    }

    @Test func aBodyThatGrowsOverTheLimitPassesWithAllOfItsParts() throws {
        let line = try Line()
        line.burst([
            Line.head("/now"), .body(ByteBuffer(string: "12345")), .body(ByteBuffer(string: "6789")), .end(nil),
        ])
        #expect(try line.passed() == ["/now", "12345", "6789", "end"])
    }

    @Test(
        arguments: [
            ["Connection": "close"], ["expect": "100-continue"], ["EXPECT": "x"],
            ["Authorization": "a", "authorization": "b"], ["Content-Type": "a", "CONTENT-TYPE": "a"],
            ["Host": "a", "host": "a"], ["Host": "a b"], ["Host": "user@a"],
        ] as [HTTPHeaders])
    func fieldsThatChangeTheConnectionOrAreThereTwiceAreTheRoutersBusiness(fields: HTTPHeaders) throws {
        let line = try Line()
        line.request("/now", "a", fields)
        #expect(try line.passed() == ["/now", "a", "end"])
    }

    @Test func anOlderVersionIsTheRoutersBusinessSinceItsConnectionCloses() throws {
        let line = try Line()
        line.burst([Line.head("/now", version: .http1_0), .body(ByteBuffer(string: "a")), .end(nil)])
        #expect(try line.passed() == ["/now", "a", "end"])
    }

    @Test(
        arguments: [
            (
                ["AUTHORIZATION": "Bearer x", "content-TYPE": "a/b", "Authorizatio-": "y", "Content_Type": "z"],
                "Bearer x", "a/b"
            ),
            (["X-Authorization": "Bearer x", "x-Forwarded-for": "1.2.3.4", "X-Forwarded-For": "::1"], nil, nil),
            (["Authorizatiom": "y", "Kontent-Type": "z"], nil, nil),
        ] as [(HTTPHeaders, String?, String?)])
    func whatARequestSaysIsFoundInAnySpelling(headers: HTTPHeaders, authorization: String?, type: String?) throws {
        var headers = headers
        headers.add(name: "hOST", value: "[::1]:80")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/a?b", headers: headers)
        let request = try #require(DirectRequest(head))
        #expect(request.forwardedFor == headers["X-Forwarded-For"].last)
        #expect(request.path == "/a?b" && request.authorization == authorization && request.contentType == type)
    }

    @Test(arguments: [HTTPMethod.PUT, .HEAD, .OPTIONS, .CONNECT, .RAW(value: "get")])
    func otherMethodsAreTheRoutersBusiness(method: HTTPMethod) {
        #expect(
            DirectRequest(HTTPRequestHead(version: .http1_1, method: method, uri: "/", headers: ["Host": "a"])) == nil)
    }

    @Test func aRequestWithoutHostIsTheRoutersBusiness() {
        #expect(DirectRequest(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["Host": ""])) != nil)
        #expect(DirectRequest(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")) == nil)
    }

    @Test func trailersAreTheRoutersBusiness() throws {
        let line = try Line()
        line.burst([Line.head("/now"), .body(ByteBuffer(string: "a")), .end(["Date": "x"])])
        #expect(try line.passed() == ["/now", "a", "end"])
    }

    @Test func answersKeepTheOrderOfTheRequests() throws {
        let line = try Line()
        line.request("/other", "1")
        line.request("/now", "2")
        #expect(try line.passed() == ["/other", "1", "end", "/now", "2", "end"])
        #expect(try line.written() == [])
        try line.routerAnswers("one")
        line.request("/now", "3")
        #expect(try line.passed() == ["/now", "3", "end"], "the second still waits for the router")
        try line.routerAnswers("two")
        try line.routerAnswers("three")
        line.request("/now", "4")
        #expect(
            try line.written() == ["202", "one", "end", "202", "two", "end", "202", "three", "end", "200", "4", "end"])
    }

    @Test func whatComesWhileALaterAnswerIsAwaitedIsKeptInOrder() throws {
        let line = try Line()
        line.request("/later", "1")
        line.request("/now", "2")
        line.request("/later", "3")
        line.request("/other", "4")
        #expect(try line.written() == [])
        line.echo.succeed("one")
        #expect(try line.written() == ["200", "one", "end", "200", "2", "end"])
        #expect(try line.passed() == [])
        line.echo.succeed("three")
        #expect(try line.written() == ["200", "three", "end"])
        #expect(try line.passed() == ["/other", "4", "end"])
    }

    @Test func aLaterAnswerThatDoesNotComePasses() throws {
        let line = try Line()
        line.request("/later", "1")
        line.request("/now", "2")
        line.echo.succeed(nil)
        #expect(try line.passed() == ["/later", "1", "end", "/now", "2", "end"])
        #expect(try line.written() == [])
    }

    @Test func aFailedLaterAnswerPasses() throws {
        struct Failure: Error {}
        let line = try Line()
        line.request("/later", "1")
        line.echo.promises.withLock { $0.removeFirst() }.fail(Failure())
        #expect(try line.passed() == ["/later", "1", "end"])
    }

    @Test func onlyOneReadMoreIsDoneWhileALaterAnswerIsAwaited() throws {
        let line = try Line()
        let before = line.reads
        for isSecond in [false, true] {
            line.burst([Line.head("/later"), .end(nil)])
            line.channel.pipeline.read()
            #expect(line.reads == before + 1, "the read that may bring something to be kept: \(isSecond)")
        }
        line.echo.succeed("x")
        #expect(line.reads == before + 1, "the second is being answered now")
        line.echo.succeed("y")
        #expect(line.reads == before + 2)
    }

    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = HTTPServerResponsePart
        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    @Test func oneRequestInFifteenSecondsPassesSoThatTheConnectionIsNotTakenForIdle() throws {
        let line = try Line()
        line.request("/now", "1")
        line.channel.embeddedEventLoop.advanceTime(by: .seconds(14))
        line.request("/now", "2")
        #expect(try line.passed() == [])
        line.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        line.request("/now", "3")
        #expect(try line.passed() == ["/now", "3", "end"])
        try line.routerAnswers("three")
        line.request("/now", "4")
        #expect(try line.passed() == [])
        #expect(
            try line.written() == ["200", "1", "end", "200", "2", "end", "202", "three", "end", "200", "4", "end"])
    }

    @Test(arguments: [ChannelShouldQuiesceEvent(), ChannelEvent.inputClosed] as [any Sendable])
    func theConnectionIsToldToCloseAfterTheAnswersThatAreUnderWay(event: any Sendable) throws {
        final class Quiesced: ChannelInboundHandler {
            typealias InboundIn = HTTPServerRequestPart
            var isTold = false
            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { isTold = true }
        }
        let echo = Echo()
        let quiesced = Quiesced()
        let channel = EmbeddedChannel(handlers: [DirectRequestHandler(echo), quiesced])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.pipeline.fireChannelRead(Line.head("/later"))
        channel.pipeline.fireChannelRead(HTTPServerRequestPart.end(nil))
        channel.pipeline.fireChannelRead(Line.head("/later"))
        channel.pipeline.fireChannelRead(HTTPServerRequestPart.end(nil))
        channel.pipeline.fireUserInboundEventTriggered(event)
        #expect(!quiesced.isTold)
        echo.succeed("x")
        #expect(!quiesced.isTold, "a second request came before")
        echo.succeed("y")
        #expect(quiesced.isTold)
    }

    @Test func whatIsMalformedFailsItsRequestInItsTurn() throws {
        struct Malformed: Error {}
        let line = try Line()
        line.channel.pipeline.fireChannelRead(Line.head("/now"))
        line.channel.pipeline.fireErrorCaught(Malformed())
        #expect(try line.passed() == ["/now"], "the router hears of the request before it hears of the error")
        #expect(throws: Malformed.self) { try line.channel.throwIfErrorCaught() }

        let other = try Line()
        other.request("/later", "1")
        other.channel.pipeline.fireErrorCaught(Malformed())
        try other.channel.throwIfErrorCaught()
        other.echo.succeed("one")
        #expect(try other.written() == ["200", "one", "end"])
        #expect(throws: Malformed.self) { try other.channel.throwIfErrorCaught() }
    }

    @Test func anAnswerForAConnectionThatIsGoneIsDropped() throws {
        let line = try Line()
        line.request("/later", "1")
        _ = try line.channel.finish()
        line.echo.succeed("x")
        #expect(try line.written() == [])
    }

    @Test func datesAreThoseOfHTTP() {
        // The example of RFC 9110, section 5.6.7.
        #expect(HTTPDate.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(of: 1_709_164_800) == "Thu, 29 Feb 2024 00:00:00 GMT")
    }
}
