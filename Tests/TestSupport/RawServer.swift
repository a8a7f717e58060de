import Foundation
import Glibc
import Synchronization

/// A bare TCP server on a free loopback port, for what no decent server would send. It serves each connection on a
/// thread of its own.
public final class RawServer: Sendable {
    private struct Failure: Error { var code: Int32 }

    /// The port that clients connect to.
    public let port: UInt16
    private let listener: Int32
    private let accepted = Mutex(0)

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - backlog: how many connections wait to be accepted.
    ///   - serve: receives each connection and its number, from 0. The connection is closed when the call returns. Nil
    ///     for a server that accepts no connection.
    public init(backlog: Int32 = 512, _ serve: (@Sendable (RawConnection, Int) -> Void)?) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound, listen(listener, backlog) == 0 else { throw Failure(code: errno) }
        if let serve { Thread { [self] in acceptAll(serve) }.start() }
    }

    /// The address of the server, with a slash at its end.
    public var url: String { "http://127.0.0.1:\(port)/" }

    /// The number of connections so far.
    public var connections: Int { accepted.withLock { $0 } }

    /// Stops accepting connections.
    public func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func acceptAll(_ serve: @escaping @Sendable (RawConnection, Int) -> Void) {
        while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
            let number = accepted.withLock { count in
                defer { count += 1 }
                return count
            }
            Thread { serve(RawConnection(accepted: descriptor), number) }.start()
        }
        Glibc.close(listener)
    }
}
