import Glibc
import NIOCore

/// Asks the system whether a server could listen on a port.
enum PortProbe {
    /// Binds the port and gives it back.
    ///
    /// The probe never listens. A listener that is closed lives on, for a moment, in a child process that another
    /// thread is just starting, and the server that wants the port next would be refused it.
    /// - Throws: An `IOError`: another server listens there, or this process may not have the port.
    static func bind(host: String, port: Int) throws {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        let family = address.protocol == .inet6 ? AF_INET6 : AF_INET
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        guard address.withSockAddr({ Glibc.bind(descriptor, $0, socklen_t($1)) }) == 0 else {
            throw IOError(errnoCode: errno, reason: "bind")
        }
    }
}
