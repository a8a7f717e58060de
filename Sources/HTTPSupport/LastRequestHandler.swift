import NIOCore
import NIOHTTP1

/// Says of every request that is its connection's last that it is, in the one way that Hummingbird looks for: `Connection: close`.
///
/// A client of HTTP/1.0 means it when it says nothing, and one of HTTP/1.1 may write `Close`, or name other options beside it (RFC 9112, section 9.3).
/// Each would wait for the connection's end until the server takes it for idle. And what a client of HTTP/1.0 expects is nothing that it could understand
/// (RFC 9110, section 10.1.1): no later handler sees it.
final class LastRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Requests that have begun, and answers that have ended.
    private var (asked, answered) = (0, 0)
    /// Which request is the last: those before it may still be waiting for their answers.
    private var last: Int?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        asked += 1
        let isLast = !head.isKeepAlive
        let isOld = head.version == .http1_0
        guard isLast || isOld else { return context.fireChannelRead(data) }
        if isOld {
            head.headers.remove(name: "Expect")
            // HTTP/1.0 knows no Host; an empty one says that none was named.
            if !head.headers.contains(name: "Host") { head.headers.add(name: "Host", value: "") }
        }
        if isLast {
            if last == nil { last = asked }
            head.headers.replaceOrAdd(name: "Connection", value: "close")
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where answered + 1 == last && head.status.code >= 200:
            head.headers.replaceOrAdd(name: "Connection", value: "close")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end: answered += 1
        case .head, .body: break
        }
        context.write(data, promise: promise)
    }
}

@available(*, unavailable)
extension LastRequestHandler: Sendable {}
