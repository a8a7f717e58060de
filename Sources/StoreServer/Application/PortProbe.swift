import Glibc
import NIOCore

/// Holds a port, to find out whether a server could listen on it. The port is free again when the probe is gone.
///
/// The probe never listens. A listener that is closed lives on, for a moment, in a child process that another thread is
/// just starting, and the server that wants the port next would be refused it. A probe that lives on does no harm.
struct PortProbe: ~Copyable {
    let port: Int
    private let descriptor: Int32

    /// - Throws: An `IOError`: another server listens there, or this process may not have the port.
    init(host: String, port: Int) throws {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        let family = address.protocol == .inet6 ? AF_INET6 : AF_INET
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        guard address.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0 else {
            let code = errno
            close(descriptor)
            throw IOError(errnoCode: code, reason: "bind")
        }
        self.port = port
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
