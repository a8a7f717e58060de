import NIOCore
import NIOHTTP1

/// Why the rest of a body is not taken.
enum BodyRefusal: Error, Equatable {
    /// The body did not arrive in time.
    case late
    /// The bodies of other requests take all the room that there is.
    case noRoom
}

/// Says that the body of the request that is being answered is taken piece by piece and not kept: it needs no room, and
/// is watched by a ``StallWatch`` instead of a deadline.
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
    }

    private let budget: BodyBudget
    private let patience: TimeAmount
    let presence: ClientPresence
    /// The bodies of the requests that are not answered yet, oldest first. Only the last may be incomplete.
    private var bodies: [Body] = []
    private var deadline: Scheduled<Void>?
    /// Whether more may come: the server does not read while it is busy with what it has, and that is not the client's
    /// fault.
    private var isReading = false
    private var isRefused = false

    /// - Parameter patience: how long a body may take.
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
        case .head: bodies.append(Body())
        case .body(let bytes):
            guard count(bytes.readableBytes) else { return refuse(.noRoom, context) }
        case .end:
            cancelDeadline()
            if let last = bodies.indices.last { bodies[last].isWhole = true }
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        // Most bodies arrive together with their heads and need no timer.
        if deadline == nil, !isRefused, let last = bodies.last, !last.isWhole, !last.isStreamed { setDeadline(context) }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        isReading = true
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

    private func setDeadline(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: patience) {
            let (handler, context) = bound.value
            handler.deadline = nil
            if handler.isReading { handler.refuse(.late, context) } else { handler.setDeadline(context) }
        }
    }

    private func cancelDeadline() {
        deadline?.cancel()
        deadline = nil
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status == .continue && deadline != nil:
            // Only now the client begins to send.
            cancelDeadline()
            setDeadline(context)
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

@available(*, unavailable)
extension RequestBoundsHandler: Sendable {}
