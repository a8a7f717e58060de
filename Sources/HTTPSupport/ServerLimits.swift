import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// The limits that the servers of a process share: on headers, on the size and time of bodies, and on connections.
public final class ServerLimits: Sendable, CustomStringConvertible {
    /// The limits that an operator can choose.
    public struct Values: Sendable, Equatable {
        /// The largest number of connections that one port holds open; further ones wait to be accepted.
        public var connections: Int
        /// The largest number of connections of one address over all ports, loopback excepted; nil for no limit, as
        /// behind a proxy, which makes all connections itself.
        public var connectionsPerAddress: Int?
        /// The largest number of bytes of bodies that all connections hold together.
        public var bodyBytes: Int
        /// How long a body may take to arrive.
        public var bodyPatience: Duration
        /// How long an answer may wait before its connection is watched, and the window in which the client then has to
        /// take 1 KiB for each second.
        public var answerPatience: Duration

        /// Creates limits.
        /// - Parameters:
        ///   - connections: nil for ``ServerLimits/mostConnections(sharedBy:databaseConnections:files:)`` of
        ///     ``ServerLimits/mostPorts``.
        ///   - connectionsPerAddress: 256, since a whole office may share one address.
        ///   - bodyBytes: 256 MiB.
        ///   - bodyPatience: 30 seconds.
        ///   - answerPatience: 60 seconds.
        public init(
            connections: Int? = nil, connectionsPerAddress: Int? = 256, bodyBytes: Int = 256 << 20,
            bodyPatience: Duration = .seconds(30), answerPatience: Duration = .seconds(60)
        ) {
            self.connections = connections ?? ServerLimits.mostConnections(sharedBy: ServerLimits.mostPorts)
            self.connectionsPerAddress = connectionsPerAddress
            self.bodyBytes = bodyBytes
            self.bodyPatience = bodyPatience
            self.answerPatience = answerPatience
        }
    }

    /// The limits.
    public let values: Values
    /// The memory budget for bodies.
    public let bodies: BodyBudget
    let table: ConnectionTable

    /// The limits as text.
    public var description: String { "\(values)" }

    /// Creates the shared limits. Use one instance for all servers of a process.
    public init(_ values: Values = Values()) {
        self.values = values
        bodies = BodyBudget(values.bodyBytes)
        table = ConnectionTable(most: values.connectionsPerAddress)
    }

    /// Builds an HTTP server with these limits. It closes a connection after 60 idle seconds (75 at most); headers have
    /// at most 16 KiB and 100 fields.
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

    /// Limits a port's open connections to ``Values/connections``; further ones wait to be accepted.
    public func connections(logger: Logger) -> any AvailableConnectionsDelegate {
        MaximumAvailableConnections(values.connections, logger: logger)
    }

    /// The most ports of a process: four of a store, its merchant's and its console's.
    public static let mostPorts = 6

    /// The number of connections that a port may hold open when several ports share the process's open files: half of
    /// the files, since a download opens a file too, less 256 for the databases and their connections to PostgreSQL.
    /// - Parameters:
    ///   - ports: the number of ports that are open.
    ///   - databaseConnections: the number of connections to PostgreSQL.
    ///   - files: the limit of open files.
    /// - Returns: 32 to 4096.
    public static func mostConnections(
        sharedBy ports: Int, databaseConnections: Int = 0, files: Int = OpenFiles.limit
    ) -> Int {
        min(max((files - 256 - databaseConnections) / 2 / max(ports, 1), 32), 4096)
    }
}
