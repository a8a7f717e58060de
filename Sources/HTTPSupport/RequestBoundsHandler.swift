import NIOCore
import NIOHTTP1

/// Why the rest of a body is not taken.
enum BodyRefusal: Error, Equatable {
    /// The body did not arrive in time.
    case late
    /// The bodies of other requests take all the room that there is.
    case noRoom
}

/// Says that the body of the request that is being answered is taken piece by piece and not kept. It needs no room, and
/// a ``StallWatch`` stands in for the deadline.
struct StreamedBody: Sendable {}

/// Bounds how long a request's body may take to arrive and how much room the bodies of all connections take, and
/// notices when the client has left.
///
/// It stands right behind HTTP's decoder, so that every body is bounded in the same way: also of a request that is
/// answered on the event loop, and of one that waits behind another. A body that breaks a bound ends in a
/// ``BodyRefusal``, and nothing more of its connection is taken.
final class RequestBoundsHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Body {
        var count = 0
        /// The room that it takes.
        var room = 0
        var isWhole = false
        var isStreamed = false
        /// Whether the client waits for `100 Continue` before it sends the body.
        var isAwaited = false

        /// Whether the client has to send more of it within the time.
        var isDue: Bool { !isWhole && !isStreamed && !isAwaited }
    }

    private let budget: BodyBudget
    private let patience: TimeAmount
    let presence: ClientPresence
    /// The bodies of the requests that are not answered yet, oldest first. Only the last may be incomplete.
    private var bodies: [Body] = []
    private var deadline: Scheduled<Void>?
    /// Since when the server has not read, being busy with what it has; nil while it reads. That time is not the
    /// client's, and is known only while a body is due.
    private var pause: NIODeadline?
    /// How long such pauses have lasted since the deadline was set.
    private var paused = TimeAmount.zero
    private var isRefused = false

    /// - Parameter patience: how long a body may take, while the server reads.
    init(budget: BodyBudget, patience: TimeAmount, presence: ClientPresence = ClientPresence()) {
        self.budget = budget
        self.patience = patience
        self.presence = presence
    }

    // MARK: What comes in

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The answer to what was refused is on its way, and the connection ends with it.
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): bodies.append(Body(isAwaited: head.awaitsContinue))
        case .body(let bytes):
            // A client need not wait to be told.
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

    /// False when there is no room for so many bytes more.
    private func count(_ bytes: Int) -> Bool {
        // What comes after the answer is dropped by a later handler.
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
            // The client's time goes on when the server reads again.
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
            // Only now the client begins to send.
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
        // A client that closes its end cannot be told from one that only sends no more; none that waits for an answer
        // does that.
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
