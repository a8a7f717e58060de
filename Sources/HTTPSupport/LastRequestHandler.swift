import NIOCore
import NIOHTTP1

/// Marks each request that is its connection's last with `Connection: close`.
///
/// An HTTP/1.0 client means it when it sends no `Connection` at all. An HTTP/1.1 client may write `Close`, or name
/// other options beside it (RFC 9112, section 9.3). Without the mark, each would wait for the end of the connection
/// until the server considers it idle. The handler also removes `Expect` from HTTP/1.0 requests, whose clients cannot
/// understand `100 Continue` (RFC 9110, section 10.1.1).
///
/// It works around Hummingbird 2.28.1: `HTTPChannelHandler.handleHTTP(asyncChannel:logger:)` ends a connection only if
/// `request.headers[.connection] == "close"`, where SwiftNIO's `HTTPRequestHead.isKeepAlive` knows every form.
/// `UpstreamTests` reproduces it, and fails when this handler can be removed.
final class LastRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The numbers of requests that have begun and of answers that have ended.
    private var (asked, answered) = (0, 0)
    /// The number of the last request. Earlier requests may still wait for their answers.
    private var last: Int?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        asked += 1
        let isLast = !head.isKeepAlive
        let isOld = head.version == .http1_0
        guard isLast || isOld else { return context.fireChannelRead(data) }
        if isOld {
            head.headers.remove(name: "Expect")
            // HTTP/1.0 has no Host. An empty one says that the client named none.
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
