import NIOCore
import NIOHTTP1

/// Sends an answer's last bytes before the connection is closed.
///
/// When the server stops, Hummingbird writes the end of an answer and closes the connection at once. Bytes that the
/// client has not taken yet would be lost. This handler delays the close until they are sent, for at most a minute. A
/// second close is not delayed.
///
/// It works around Hummingbird 2.28.1: `HTTPConnectionStateHandler.write(context:data:promise:)`, case
/// `.closeConnection`, does not wait for its `writeAndFlush` before it calls `context.close`, and SwiftNIO's close
/// fails writes that were not sent. `UpstreamTests` reproduces it, and fails when this handler can be removed.
final class UnsentBytesHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a close waits for unsent bytes.
    static let patience = TimeAmount.seconds(60)

    /// The numbers of answers whose end was written, and whose end the system has taken.
    private var (written, sent) = (0, 0)
    private var waiting: (mode: CloseMode, promise: EventLoopPromise<Void>?, end: Scheduled<Void>)?
    private var isClosing = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        written += 1
        let promise = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            handler.sent += 1
            if handler.sent == handler.written { handler.close(context) }
        }
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard case .all = mode, written > sent, !isClosing else { return context.close(mode: mode, promise: promise) }
        isClosing = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let end = context.eventLoop.scheduleTask(in: Self.patience) {
            let (handler, context) = bound.value
            handler.close(context)
        }
        waiting = (mode, promise, end)
    }

    /// Performs the delayed close.
    private func close(_ context: ChannelHandlerContext) {
        guard let (mode, promise, end) = waiting else { return }
        waiting = nil
        end.cancel()
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        waiting?.end.cancel()
        waiting?.promise?.succeed()
        waiting = nil
    }
}

@available(*, unavailable)
extension UnsentBytesHandler: Sendable {}
