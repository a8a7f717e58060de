import Glibc
import NIOCore
import NIOHTTP1

/// Answers the requests that a ``DirectAnswering`` can answer. The handler is directly behind HTTP's decoder and
/// encoder, before Hummingbird's own handlers and tasks.
///
/// All other requests pass through unchanged and in order: requests that the ``DirectAnswering`` declines, requests
/// whose body does not arrive in the same read as the head (the router limits the time of a body), and every request
/// that arrives before the router has answered an earlier one.
final class DirectRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that may be answered here, and its head to pass on if it is not. A class, because each part of the
    /// request copies it.
    private final class Held: Sendable {
        let request: DirectRequest
        let head: HTTPRequestHead

        init(request: DirectRequest, head: HTTPRequestHead) {
            self.request = request
            self.head = head
        }
    }

    /// The interval at which one request passes through to Hummingbird. Hummingbird does not see the requests that are
    /// answered here, and would close a busy connection as idle.
    static let passesOneEvery = TimeAmount.seconds(15)

    private enum State {
        case idle
        case collecting(Held, ByteBuffer, limit: Int)
        /// An answer is awaited; the parts that arrive meanwhile are kept.
        case answering
    }

    private let answering: any DirectAnswering
    private var state = State.idle
    /// The number of requests that were passed on and have no answer yet.
    private var passed = 0
    private var lastPassed = NIODeadline.uptimeNanoseconds(0)
    private var kept: [HTTPServerRequestPart] = []
    private var keptError: (any Error)?
    private var keptRead = false
    /// The kept events, for which a later handler would close the connection: the client has stopped sending, or the
    /// server is stopping.
    private var keptEvents: [Any] = []
    private var date = HTTPDate()

    init(_ answering: any DirectAnswering) { self.answering = answering }

    func handlerAdded(context: ChannelHandlerContext) { lastPassed = context.eventLoop.now }

    // MARK: Incoming parts

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        take(unwrapInboundIn(data), context)
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch state {
        case .idle:
            if case .head(let head) = part, passed == 0, context.eventLoop.now - lastPassed < Self.passesOneEvery,
                let request = DirectRequest(head), let limit = answering.bodyLimit(of: request)
            {
                state = .collecting(Held(request: request, head: head), ByteBuffer(), limit: limit)
            } else {
                pass(part, context)
            }
        case .collecting(let request, var body, let limit):
            switch part {
            case .body(var bytes) where body.readableBytes + bytes.readableBytes <= limit:
                // Let go of the state's reference first, or the buffer would be copied.
                state = .idle
                if body.readableBytes == 0 { body = bytes } else { body.writeBuffer(&bytes) }
                state = .collecting(request, body, limit: limit)
            case .end(nil):
                answer(request, body, context)
            case .head, .body, .end:
                decline(request, body, isWhole: false, context)
                pass(part, context)
            }
        case .answering:
            kept.append(part)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        giveUpCollecting(context)
        context.fireChannelReadComplete()
    }

    /// Keeps a decoder's error until the requests before it are answered.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .answering = state {
            keptError = error
            return
        }
        giveUpCollecting(context)
        context.fireErrorCaught(error)
    }

    /// Passes on a request whose body is not complete; the router waits for the rest.
    private func giveUpCollecting(_ context: ChannelHandlerContext) {
        guard case .collecting(let request, let body, _) = state else { return }
        decline(request, body, isWhole: false, context)
    }

    // MARK: Answering

    private func answer(_ request: Held, _ body: ByteBuffer, _ context: ChannelHandlerContext) {
        // The channel caches the address; the context would ask the kernel each time.
        let outcome = answering.answer(
            request.request, body: body, from: context.channel.remoteAddress, on: context.eventLoop)
        switch outcome {
        case .answer(let answer):
            state = .idle
            write(answer, to: request.request, context)
        case .declined:
            decline(request, body, isWhole: true, context)
        case .later(let future):
            state = .answering
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            future.whenComplete { result in
                let (handler, context) = bound.value
                handler.answered(request, body, try? result.get(), context)
            }
        }
    }

    private func answered(
        _ request: Held, _ body: ByteBuffer, _ answer: DirectAnswer?, _ context: ChannelHandlerContext
    ) {
        // The connection may have closed in the meantime.
        guard case .answering = state, context.channel.isActive else { return }
        if let answer {
            state = .idle
            write(answer, to: request.request, context)
        } else {
            decline(request, body, isWhole: true, context)
            // The read that brought the request completed long ago. The handlers behind this one act only on a
            // completed read.
            context.fireChannelReadComplete()
        }
        let parts = kept
        kept = []
        for part in parts { take(part, context) }
        if case .answering = state { return }
        giveUpCollecting(context)
        if !parts.isEmpty { context.fireChannelReadComplete() }
        if let error = keptError {
            keptError = nil
            context.fireErrorCaught(error)
        }
        let events = keptEvents
        keptEvents = []
        for event in events { context.fireUserInboundEventTriggered(event) }
        readIfKept(context)
    }

    private func write(_ answer: DirectAnswer, to request: DirectRequest, _ context: ChannelHandlerContext) {
        var headers: HTTPHeaders = [
            "Content-Type": answer.contentType, "Content-Length": String(answer.body.readableBytes),
            "Date": date.now(),
        ]
        if let id = request.id { headers.add(name: "X-Request-Id", value: id) }
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Passes on the parts of a request that were held back.
    private func decline(_ request: Held, _ body: ByteBuffer, isWhole: Bool, _ context: ChannelHandlerContext) {
        state = .idle
        pass(.head(request.head), context)
        if body.readableBytes > 0 { pass(.body(body), context) }
        if isWhole { pass(.end(nil), context) }
    }

    // MARK: Passing through

    private func pass(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        if case .head = part {
            passed += 1
            lastPassed = context.eventLoop.now
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { passed -= 1 }
        context.write(data, promise: promise)
    }

    func read(context: ChannelHandlerContext) {
        if mayRead(context) { context.read() } else { keptRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        readIfKept(context)
        context.fireChannelWritabilityChanged()
    }

    /// Whether the handler may read more from the connection.
    ///
    /// While an answer is awaited, the handler reads only once more, which bounds the parts that it keeps. For a client
    /// that waits for its answers, as nearly all do, the events that the selector watches then never change.
    ///
    /// The handler reads nothing while the client does not take the answers that were given here, because further
    /// answers would fill the memory. It always reads while the router has a request to answer: the router bounds its
    /// own answers, and may wait for the rest of a body.
    private func mayRead(_ context: ChannelHandlerContext) -> Bool {
        if case .answering = state, !kept.isEmpty { return false }
        return passed > 0 || context.channel.isWritable
    }

    private func readIfKept(_ context: ChannelHandlerContext) {
        guard keptRead, mayRead(context) else { return }
        keptRead = false
        context.read()
    }

    /// Holds back an event that would close the connection while a request is being answered here.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .answering = state, event is ChannelShouldQuiesceEvent || event as? ChannelEvent == .inputClosed {
            keptEvents.append(event)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        state = .idle
        kept = []
        keptEvents = []
        context.fireChannelInactive()
    }
}

@available(*, unavailable)
extension DirectRequestHandler: Sendable {}

/// The `Date` header (RFC 9110, section 5.6.7), formatted once a second.
struct HTTPDate {
    private var second = time_t(-1)
    private var text = ""

    /// The current date.
    mutating func now() -> String {
        let second = time(nil)
        if second != self.second {
            self.second = second
            text = Self.text(of: second)
        }
        return text
    }

    static func text(of second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
        return
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}
