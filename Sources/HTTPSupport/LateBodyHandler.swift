import NIOCore
import NIOHTTP1

/// Closes a connection on which a request's body goes on coming long after its answer.
///
/// An answer may be ready before the body is there: the request is refused by its head, or its body means nothing. Hummingbird takes the rest off the
/// connection, so that the next request can follow, however much and however slowly it comes. Here it is dropped, and after a few seconds the connection
/// with it: by then the other end has the answer.
final class LateBodyHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a body may go on coming after its answer.
    static let patience = TimeAmount.seconds(5)

    /// Requests that have ended, and answers that have.
    private var (asked, answered) = (0, 0)
    private var end: Scheduled<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: break
        case .body where answered > asked: return
        case .body: break
        case .end:
            asked += 1
            end?.cancel()
            end = nil
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            answered += 1
            if answered > asked {
                let channel = context.channel
                end = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
            }
        }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }
}

@available(*, unavailable)
extension LateBodyHandler: Sendable {}
