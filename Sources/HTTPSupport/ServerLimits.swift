import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// The bounds that the servers of a process keep together: on headers, on bodies and their time, and on connections.
public final class ServerLimits: Sendable, CustomStringConvertible {
    /// The numbers that an operator may choose.
    public struct Values: Sendable, Equatable {
        /// Connections that one port holds open at the same time; more wait to be accepted.
        public var connections: Int
        /// Connections of one address over all ports, but not of this machine's own; nil for no bound, as behind a
        /// proxy, from whose address all come.
        public var connectionsPerAddress: Int?
        /// Bytes of bodies that all connections hold together.
        public var bodyBytes: Int
        /// How long a body may take to arrive.
        public var bodyPatience: Duration
        /// How long an answer may wait before it is watched, and the window in which a client has to take 1 KiB for
        /// each second then.
        public var answerPatience: Duration

        /// - Parameters:
        ///   - connections: nil for ``ServerLimits/mostConnections(sharedBy:)`` of four ports, as the store and its
        ///     merchant have.
        ///   - connectionsPerAddress: a whole office may stand behind one.
        ///   - bodyBytes: 256 MiB.
        ///   - bodyPatience: 30 seconds.
        ///   - answerPatience: 60 seconds.
        public init(
            connections: Int? = nil, connectionsPerAddress: Int? = 256, bodyBytes: Int = 256 << 20,
            bodyPatience: Duration = .seconds(30), answerPatience: Duration = .seconds(60)
        ) {
            self.connections = connections ?? ServerLimits.mostConnections(sharedBy: 4)
            self.connectionsPerAddress = connectionsPerAddress
            self.bodyBytes = bodyBytes
            self.bodyPatience = bodyPatience
            self.answerPatience = answerPatience
        }
    }

    public let values: Values
    /// The room for bodies.
    public let bodies: BodyBudget
    let table: ConnectionTable

    public var description: String { "\(values)" }

    /// - Parameter values: what is not said is bounded as ``Values`` does.
    public init(_ values: Values = Values()) {
        self.values = values
        bodies = BodyBudget(values.bodyBytes)
        table = ConnectionTable(most: values.connectionsPerAddress)
    }

    /// A connection is closed after 60 idle seconds (75 at most); headers have at most 16 KiB and 100 fields.
    /// - Parameter answering: answers some requests before the router sees them.
    public func server(_ answering: (any DirectAnswering)? = nil) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            ConnectionChannel(
                responder: responder, answering: answering, limits: self,
                configuration: .init(
                    idleTimeout: .seconds(60) + DirectRequestHandler.passesOneEvery,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 100)))
        }
    }

    /// Lets a port hold as many connections open as it may; more wait to be accepted.
    public func connections(logger: Logger) -> any AvailableConnectionsDelegate {
        MaximumAvailableConnections(values.connections, logger: logger)
    }

    /// How many connections a port may hold open when so many share the files that the process may open: the half of
    /// them, since a download opens a file as well, without those that the databases need.
    /// - Returns: 32 to 4096.
    public static func mostConnections(sharedBy ports: Int) -> Int {
        min(max((OpenFiles.limit - 256) / 2 / max(ports, 1), 32), 4096)
    }
}
