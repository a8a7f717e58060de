import Glibc
import Hummingbird
import HummingbirdCore
import Logging

/// The bounds that every server here keeps: on headers, and on connections that say nothing.
public enum ServerLimits {
    /// A connection is closed after 60 idle seconds (75 at most); headers have at most 16 KiB and 100 fields.
    /// - Parameter answering: answers some requests before the router sees them.
    public static func server(_ answering: (any DirectAnswering)? = nil) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            ConnectionChannel(
                responder: responder, answering: answering,
                configuration: .init(
                    idleTimeout: .seconds(60) + DirectRequestHandler.passesOneEvery,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 100)))
        }
    }

    /// How many connections a port may hold open; more wait to be accepted. A part of the files that the process may open, so that a flood leaves
    /// enough for the databases.
    public static func connections(sharedBy ports: Int, logger: Logger) -> any AvailableConnectionsDelegate {
        MaximumAvailableConnections(mostConnections(sharedBy: ports), logger: logger)
    }

    static func mostConnections(sharedBy ports: Int) -> Int {
        var limit = rlimit()
        let files =
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 1024
        return min(max((files - 128) / max(ports, 1), 32), 4096)
    }
}
