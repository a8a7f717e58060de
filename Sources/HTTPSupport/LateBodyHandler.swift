import NIOCore
import NIOHTTP1

/// Closes a connection on which a request's body keeps arriving long after its answer.
///
/// An answer may be ready before the body has arrived: the request's head is refused, or its body has no meaning.
/// Hummingbird reads the rest of the body so that the next request can follow, however large and slow the body is. This
/// handler drops the rest, and closes the connection after a few seconds: by then the client has the answer. When the
/// server closes the connection in the meantime, the handler closes only the sending side and reads on (RFC 9112,
/// section 9.6). Closing a connection with unread bytes would take the answer away from a client that is still sending.
///
/// It works around Hummingbird 2.28.1: `HTTPChannelHandler.handleHTTP(asyncChannel:logger:)` reads the rest of a body
/// without a limit of time or size, and the idle timeout counts each piece of the body as activity.
/// `UpstreamTests` reproduces it, and fails when this handler can be removed.
final class LateBodyHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a body may keep arriving after its answer.
    static let patience = TimeAmount.seconds(5)

    /// The numbers of requests and of answers that have ended.
    private var (asked, answered) = (0, 0)
    private var end: Scheduled<Void>?
    /// The promises of closes that wait for the rest of the body.
    private var lingering: [EventLoopPromise<Void>?] = []
    private var isLingering: Bool { !lingering.isEmpty }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: break
        case .body where answered > asked: return
        case .body: break
        case .end:
            asked += 1
            end?.cancel()
            end = nil
            if isLingering { return closeNow(context) }
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if isLingering { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if isLingering, event as? ChannelEvent == .inputClosed { closeNow(context) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard case .all = mode, answered > asked, end != nil else { return context.close(mode: mode, promise: promise) }
        lingering.append(promise)
        guard lingering.count == 1 else { return }
        context.close(mode: .output, promise: nil)
        context.read()
    }

    private func closeNow(_ context: ChannelHandlerContext) {
        end?.cancel()
        end = nil
        let promises = lingering
        lingering = []
        let promise = context.eventLoop.makePromise(of: Void.self)
        for waiting in promises { promise.futureResult.cascade(to: waiting) }
        context.close(mode: .all, promise: promise)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            answered += 1
            if answered > asked {
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                end = context.eventLoop.scheduleTask(in: Self.patience) {
                    let (handler, context) = bound.value
                    handler.closeNow(context)
                }
            }
        }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
        for promise in lingering { promise?.succeed() }
        lingering = []
    }
}

@available(*, unavailable)
extension LateBodyHandler: Sendable {}
