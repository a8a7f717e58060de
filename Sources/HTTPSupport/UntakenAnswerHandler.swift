import NIOCore
import NIOHTTP1

/// Closes a connection whose client takes an answer too slowly.
///
/// The server waits until the client takes an answer that is larger than the system's buffers. A client that stays
/// connected and reads nothing would hold its connection and the answer for ever.
final class UntakenAnswerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let rule: StallWatch.Rule
    /// The next check of a connection on which an answer waits.
    private var look: Scheduled<Void>?
    private var watching: Task<Void, Never>?

    /// - Parameter rule: the lowest rate at which a client may take an answer. Watching begins when an answer has
    ///   waited for a window.
    init(_ rule: StallWatch.Rule) { self.rule = rule }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            watching?.cancel()
            watching = nil
        } else if look == nil {
            // Check once in each window, however often a large answer waits for a moment.
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            look = context.eventLoop.scheduleTask(in: TimeAmount(rule.window)) {
                let (handler, context) = bound.value
                handler.look = nil
                if !context.channel.isWritable { handler.watch(context) }
            }
        }
        context.fireChannelWritabilityChanged()
    }

    private func watch(_ context: ChannelHandlerContext) {
        watching?.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        watching = Task { [rule, channel = context.channel] in
            guard await StallWatch(.outgoing).stalls(channel, rule) else { return }
            channel.eventLoop.execute {
                let (handler, context) = bound.value
                // A close that passes the other handlers would wait for the bytes that the client does not take.
                if handler.watching != nil { context.close(promise: nil) }
            }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        look?.cancel()
        look = nil
        watching?.cancel()
        watching = nil
    }
}

@available(*, unavailable)
extension UntakenAnswerHandler: Sendable {}
