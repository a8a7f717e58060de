import Glibc
import Synchronization

/// A port of this machine for a server that is stopped and started again.
///
/// A socket has the port for as long as the object lives, and does not listen: while the server is stopped, connections
/// are refused, and nobody else gets the port. A server that asks for this port gets it (`SO_REUSEADDR`).
public final class ReservedPort: Sendable {
    /// No port is free.
    public struct NoneFree: Error {}

    /// Below the ports that Linux gives to connections and to servers that ask for any port (32768 and up).
    private static let range = 12_000..<32_768
    private static let last = Mutex(Int.random(in: range))

    /// The port's number.
    public let number: Int
    private let descriptor: Int32

    /// Reserves a free port that this process has not used for thousands of calls.
    /// - Throws: ``NoneFree``.
    public init() throws { (number, descriptor) = try Self.reserve() }

    deinit { close(descriptor) }

    private static func reserve() throws -> (number: Int, descriptor: Int32) {
        for _ in range {
            let number = last.withLock { last in
                last = last + 1 < range.upperBound ? last + 1 : range.lowerBound
                return last
            }
            if let descriptor = socket(having: number) { return (number, descriptor) }
        }
        throw NoneFree()
    }

    /// A socket that has a port; nil when another one has it.
    private static func socket(having port: Int) -> Int32? {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            return nil
        }
        // Only now: sockets that do not listen share a port when all of them have this option.
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }
}
