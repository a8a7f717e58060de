import NIOCore
import NIOHTTP1

/// The reason why the server does not take the rest of a body.
enum BodyRefusal: Error, Equatable {
    /// The body did not arrive in time.
    case late
    /// The bodies of other requests use the whole memory budget.
    case noRoom
}

/// An event that marks the body of the request being answered as read piece by piece and not kept. Such a body takes no
/// part of the memory budget, and a ``StallWatch`` replaces its deadline.
struct StreamedBody: Sendable {}

/// Limits how long a request's body may take to arrive and how much memory the bodies of all connections take, and
/// notices when the client has left.
///
/// It is directly behind HTTP's decoder, so that every body has the same limits, including those of requests that are
/// answered on the event loop or that wait behind another. A body that exceeds a limit ends in a ``BodyRefusal``, and
/// nothing more of its connection is passed on.
final class RequestBoundsHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Body {
        var count = 0
        /// The share of the budget that the body takes.
        var room = 0
        var isWhole = false
        var isStreamed = false
        /// Whether the client waits for `100 Continue` before it sends the body.
        var isAwaited = false

        /// Whether the client must send more of the body before the deadline.
        var isDue: Bool { !isWhole && !isStreamed && !isAwaited }
    }

    private let budget: BodyBudget
    private let patience: TimeAmount
    let presence: ClientPresence
    /// The bodies of the requests without an answer, oldest first. Only the last may be incomplete.
    private var bodies: [Body] = []
    private var deadline: Scheduled<Void>?
    /// The moment since when the server has not read because it is busy; nil while it reads. This time does not count
    /// against the client, and is measured only while a body is due.
    private var pause: NIODeadline?
    /// The total length of such pauses since the deadline was set.
    private var paused = TimeAmount.zero
    private var isRefused = false

    /// - Parameter patience: how long a body may take to arrive, not counting pauses of the server.
    init(budget: BodyBudget, patience: TimeAmount, presence: ClientPresence = ClientPresence()) {
        self.budget = budget
        self.patience = patience
        self.presence = presence
    }

    // MARK: Incoming parts

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The refusal is being answered, and the connection ends with it.
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): bodies.append(Body(isAwaited: head.awaitsContinue))
        case .body(let bytes):
            // A client may send the body without waiting for `100 Continue`.
            if let last = bodies.indices.last { bodies[last].isAwaited = false }
            guard count(bytes.readableBytes) else { return refuse(.noRoom, context) }
        case .end:
            cancelDeadline()
            if let last = bodies.indices.last { bodies[last].isWhole = true }
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most bodies arrive together with their heads and need no timer.
        if deadline == nil, pause == nil, !isRefused, bodies.last?.isDue == true { setDeadline(patience, context) }
        if deadline != nil, pause == nil { pause = context.eventLoop.now }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if let pause {
            self.pause = nil
            if deadline == nil {
                setDeadline(paused, context)
            } else {
                paused = paused + (context.eventLoop.now - pause)
            }
        }
        context.read()
    }

    /// Counts bytes of the last body. Returns false when the budget has no room for them.
    private func count(_ bytes: Int) -> Bool {
        // A later handler drops bytes that arrive after the answer.
        guard let last = bodies.indices.last, !bodies[last].isWhole, !bodies[last].isStreamed else { return true }
        bodies[last].count += bytes
        let room = BodyBudget.room(for: bodies[last].count)
        guard room > bodies[last].room else { return true }
        guard budget.take(room - bodies[last].room) else { return false }
        bodies[last].room = room
        return true
    }

    private func refuse(_ refusal: BodyRefusal, _ context: ChannelHandlerContext) {
        isRefused = true
        cancelDeadline()
        context.fireErrorCaught(refusal)
    }

    // MARK: The deadline

    private func setDeadline(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        paused = .zero
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: time) {
            let (handler, context) = bound.value
            handler.deadlineReached(context)
        }
    }

    private func deadlineReached(_ context: ChannelHandlerContext) {
        deadline = nil
        if let pause {
            // The client's time continues when the server reads again.
            paused = paused + (context.eventLoop.now - pause)
        } else if paused > .zero {
            setDeadline(paused, context)
        } else {
            refuse(.late, context)
        }
    }

    private func cancelDeadline() {
        deadline?.cancel()
        deadline = nil
        pause = nil
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status == .continue && !bodies.isEmpty:
            // The client begins to send only now.
            bodies[0].isAwaited = false
            if bodies.count == 1, bodies[0].isDue {
                cancelDeadline()
                setDeadline(patience, context)
            }
        case .end where !bodies.isEmpty:
            let body = bodies.removeFirst()
            budget.giveBack(body.room)
            if !body.isWhole { cancelDeadline() }
        case .head, .body, .end: break
        }
        context.write(data, promise: promise)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is StreamedBody else { return context.triggerUserOutboundEvent(event, promise: promise) }
        if !bodies.isEmpty {
            budget.giveBack(bodies[0].room)
            bodies[0].room = 0
            bodies[0].isStreamed = true
            if bodies.count == 1 { cancelDeadline() }
        }
        promise?.succeed()
    }

    // MARK: The end

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that closes its sending side looks the same as one that has left. No client that waits for an answer
        // does so.
        if event as? ChannelEvent == .inputClosed { presence.leave() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        presence.leave()
        cancelDeadline()
        for body in bodies { budget.giveBack(body.room) }
        bodies = []
    }
}

extension HTTPRequestHead {
    /// Whether the client may wait for `100 Continue`, which HTTP/1.0 does not know (RFC 9110, section 10.1.1).
    fileprivate var awaitsContinue: Bool {
        version == .http1_1 && headers["Expect"].map { $0.lowercased() } == ["100-continue"]
    }
}

@available(*, unavailable)
extension RequestBoundsHandler: Sendable {}
