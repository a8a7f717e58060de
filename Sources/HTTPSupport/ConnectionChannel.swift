import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Synchronization

/// Hummingbird's HTTP/1 connections, of which one may be dropped before it is served.
///
/// A server that stops right while a connection is taken up drops it unserved, and NIO ends the process when a `NIOAsyncChannel` goes away whose
/// writer was not finished ("Deinited NIOAsyncWriter without calling finish()"). Here such a connection is closed instead.
struct ConnectionChannel: ServerChildChannel {
    private let http: HTTP1Channel
    private let answering: (any DirectAnswering)?

    /// - Parameter answering: answers some requests before Hummingbird sees them.
    init(
        responder: @escaping HTTPChannelHandler.Responder, answering: (any DirectAnswering)? = nil,
        configuration: HTTP1Channel.Configuration
    ) {
        http = HTTP1Channel(responder: responder, configuration: configuration)
        self.answering = answering
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { [answering] asyncChannel in
            let connection = Connection(asyncChannel)
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            if let answering {
                try pipeline.addHandler(DirectRequestHandler(answering), position: .before(codec))
            }
            try pipeline.addHandler(UnsentBytesHandler(), position: .before(codec))
            try pipeline.addHandler(LateBodyHandler(), position: .before(codec))
            try pipeline.addHandler(LastRequestHandler(), position: .before(codec))
            return connection
        }
    }

    func handle(value connection: Connection, logger: Logger) async {
        guard let asyncChannel = connection.take() else { return }
        await http.handle(value: asyncChannel, logger: logger)
    }

    /// A connection that waits to be served; one that nobody takes is finished and closed.
    final class Connection: ServerChildChannelValue {
        private let asyncChannel: HTTP1Channel.Value
        private let isTaken = Atomic(false)

        init(_ asyncChannel: HTTP1Channel.Value) {
            self.asyncChannel = asyncChannel
        }

        var channel: any Channel { asyncChannel.channel }

        /// The connection, once.
        func take() -> HTTP1Channel.Value? {
            isTaken.exchange(true, ordering: .relaxed) ? nil : asyncChannel
        }

        deinit {
            guard !isTaken.load(ordering: .relaxed) else { return }
            Task { [asyncChannel] in try? await asyncChannel.executeThenClose { _, _ in } }
        }
    }
}
