import NIOCore
import NIOHTTP1

/// Sends an answer's last bytes before the connection is closed.
///
/// When the server stops, Hummingbird writes the end of an answer and closes the connection at once. It also closes a
/// connection while a client takes a direct answer, which Hummingbird does not see. Bytes that the client has not taken
/// yet would be lost. This handler delays the close until they are sent, for at most a minute. A second close is not
/// delayed, and neither is the close of a connection whose last answer has no end.
///
/// Answers need no promise of their own. The close writes an empty part behind them instead: SwiftNIO fulfils its
/// promise when the system has taken everything before it.
///
/// It works around Hummingbird 2.28.1: `HTTPConnectionStateHandler.write(context:data:promise:)`, case
/// `.closeConnection`, does not wait for its `writeAndFlush` before it calls `context.close`, and SwiftNIO's close
/// fails writes that were not sent. `UpstreamTests` reproduces it. When it fails because Hummingbird waits,
/// ``DirectRequestHandler`` still needs this handler.
final class UnsentBytesHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a close waits for unsent bytes.
    static let patience = TimeAmount.seconds(60)

    /// Whether the last answer is complete, and may have bytes that the system has not taken.
    private var mayBeUnsent = false
    /// The delayed close.
    private var waiting: (promise: EventLoopPromise<Void>?, end: Scheduled<Void>)?
    private var isClosing = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head: mayBeUnsent = false
        case .body: break
        case .end: mayBeUnsent = true
        }
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard case .all = mode, mayBeUnsent, !isClosing else { return context.close(mode: mode, promise: promise) }
        isClosing = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let end = context.eventLoop.scheduleTask(in: Self.patience) {
            let (handler, context) = bound.value
            handler.close(context)
        }
        waiting = (promise, end)
        closeWhenSent(context)
    }

    /// Performs the delayed close when the system has taken everything that was written.
    private func closeWhenSent(_ context: ChannelHandlerContext) {
        mayBeUnsent = false
        let sent = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sent.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            // Another request may have been answered in the meantime.
            if handler.mayBeUnsent { handler.closeWhenSent(context) } else { handler.close(context) }
        }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: sent)
    }

    /// Performs the delayed close.
    private func close(_ context: ChannelHandlerContext) {
        guard let (promise, end) = waiting else { return }
        waiting = nil
        end.cancel()
        context.close(promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        waiting?.end.cancel()
        waiting?.promise?.succeed()
        waiting = nil
    }
}

@available(*, unavailable)
extension UnsentBytesHandler: Sendable {}
