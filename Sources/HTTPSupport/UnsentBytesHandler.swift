import NIOCore
import NIOHTTP1

/// Sends an answer's last bytes before the connection is closed.
///
/// When the server stops, Hummingbird writes the end of an answer and closes the connection at once. It also closes a
/// connection while a client takes a direct answer, which Hummingbird does not see. Bytes that the client has not taken
/// yet would be lost. This handler delays the close until all complete answers are sent, for at most a minute. A second
/// close is not delayed, and the close does not wait for an answer without an end.
///
/// The ends of answers need no promise. The next part behind them has one instead, the head of another answer or an
/// empty part that the close writes: SwiftNIO fulfils its promise when the system has taken everything before it.
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
    /// The number of parts behind complete answers that the system may not have taken.
    private var markers = 0
    /// The delayed close.
    private var waiting: (promise: EventLoopPromise<Void>?, end: Scheduled<Void>)?
    private var isClosing = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var promise = promise
        switch unwrapOutboundIn(data) {
        // An informational head belongs to the answer that follows.
        case .head(let head) where mayBeUnsent && head.status.code >= 200:
            let sent = promise ?? context.eventLoop.makePromise()
            mark(sent.futureResult, context)
            promise = sent
        case .head, .body: break
        case .end: mayBeUnsent = true
        }
        context.write(data, promise: promise)
    }

    /// Notes that a part is written behind complete answers.
    private func mark(_ sent: EventLoopFuture<Void>, _ context: ChannelHandlerContext) {
        mayBeUnsent = false
        markers += 1
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sent.hop(to: context.eventLoop).whenComplete { _ in
            let (handler, context) = bound.value
            handler.markers -= 1
            if handler.waiting != nil { handler.closeWhenSent(context) }
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard case .all = mode, mayBeUnsent || markers > 0, !isClosing else {
            return context.close(mode: mode, promise: promise)
        }
        isClosing = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let end = context.eventLoop.scheduleTask(in: Self.patience) {
            let (handler, context) = bound.value
            handler.close(context)
        }
        waiting = (promise, end)
        closeWhenSent(context)
    }

    /// Performs the delayed close when the system has taken all complete answers, also one to another request in the
    /// meantime.
    private func closeWhenSent(_ context: ChannelHandlerContext) {
        guard mayBeUnsent else {
            return markers == 0 ? close(context) : context.flush()
        }
        let sent = context.eventLoop.makePromise(of: Void.self)
        mark(sent.futureResult, context)
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
