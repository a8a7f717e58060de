import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Synchronization

/// Hummingbird's HTTP/1 connections, except that a connection may be dropped before it is served.
///
/// A server that stops while it accepts a connection drops that connection unserved, and NIO ends the process when a
/// `NIOAsyncChannel` is released whose writer was not finished ("Deinited NIOAsyncWriter without calling finish()").
/// This type closes such a connection instead.
struct ConnectionChannel: ServerChildChannel {
    private let http: HTTP1Channel
    private let answering: (any DirectAnswering)?
    private let limits: ServerLimits

    /// - Parameters:
    ///   - answering: answers some requests before Hummingbird sees them.
    ///   - limits: the limits that all connections share.
    init(
        responder: @escaping HTTPChannelHandler.Responder, answering: (any DirectAnswering)? = nil,
        limits: ServerLimits = ServerLimits(), configuration: HTTP1Channel.Configuration
    ) {
        http = HTTP1Channel(responder: responder, configuration: configuration)
        self.answering = answering
        self.limits = limits
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { [self] asyncChannel in
            let isRefused = !enter(channel, logger)
            let connection = Connection(asyncChannel, isRefused: isRefused)
            guard !isRefused else { return connection }
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(
                RequestBoundsHandler(budget: limits.bodies, patience: TimeAmount(limits.values.bodyPatience)),
                position: .before(codec))
            try pipeline.addHandler(
                UntakenAnswerHandler(StallWatch.Rule(window: limits.values.answerPatience)), position: .before(codec))
            // In front of the direct answers, which must be sent before a close as well.
            try pipeline.addHandler(UnsentBytesHandler(), position: .before(codec))
            if let answering {
                try pipeline.addHandler(DirectRequestHandler(answering), position: .before(codec))
            }
            try pipeline.addHandler(LateBodyHandler(), position: .before(codec))
            try pipeline.addHandler(LastRequestHandler(), position: .before(codec))
            return connection
        }
    }

    /// Counts the connection for its address. Returns false when the address has reached its limit.
    private func enter(_ channel: any Channel, _ logger: Logger) -> Bool {
        let address = NetworkAddress(channel.remoteAddress)
        switch limits.table.enter(address) {
        case .free: break
        case .counted: channel.closeFuture.whenComplete { [limits] _ in limits.table.leave(address) }
        case .refused(let isToldOf):
            if isToldOf {
                logger.warning(
                    "connections refused: the address has reached its limit of open connections",
                    metadata: [
                        "address": .string(channel.remoteAddress?.ipAddress ?? "unknown"),
                        "most": .stringConvertible(limits.table.most ?? 0),
                    ])
            }
            return false
        }
        return true
    }

    func handle(value connection: Connection, logger: Logger) async {
        guard let asyncChannel = connection.take() else { return }
        guard !connection.isRefused else {
            try? await asyncChannel.executeThenClose { _, _ in }
            return
        }
        await http.handle(value: asyncChannel, logger: logger)
    }

    /// A connection that waits to be served. A connection that is never taken is finished and closed.
    final class Connection: ServerChildChannelValue {
        private let asyncChannel: HTTP1Channel.Value
        private let isTaken = Atomic(false)
        /// Whether the connection is closed without an answer.
        let isRefused: Bool

        init(_ asyncChannel: HTTP1Channel.Value, isRefused: Bool = false) {
            self.asyncChannel = asyncChannel
            self.isRefused = isRefused
        }

        var channel: any Channel { asyncChannel.channel }

        /// Takes the connection; returns nil the second time.
        func take() -> HTTP1Channel.Value? {
            isTaken.exchange(true, ordering: .relaxed) ? nil : asyncChannel
        }

        deinit {
            guard !isTaken.load(ordering: .relaxed) else { return }
            Task { [asyncChannel] in try? await asyncChannel.executeThenClose { _, _ in } }
        }
    }
}
