import Glibc
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import StoreServer

@Suite("Asking for a port", .timeLimit(.minutes(1)))
struct PortProbeTests {
    @Test func `a port on which a server listens is refused`() throws {
        let server = try RawServer(nil)
        defer { server.close() }
        let error = #expect(throws: IOError.self) { _ = try PortProbe(host: "127.0.0.1", port: Int(server.port)) }
        #expect(error?.errnoCode == EADDRINUSE)
    }

    /// As when a child process that is just starting has a copy of the probe's socket.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a server listens on a port whose probe lives on`(_ host: String) async throws {
        let probe = try Self.probeOfFreePort(host)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: host, port: probe.port).get()
        #expect(server.localAddress?.port == probe.port)
        try await server.close()
        _ = consume probe
    }

    /// The ports are below those that Linux gives to connections and to servers that ask for any port.
    private static func probeOfFreePort(_ host: String) throws -> PortProbe {
        while true {
            let port = Int.random(in: 16_384..<32_768)
            do { return try PortProbe(host: host, port: port) } catch let error as IOError
                where error.errnoCode == EADDRINUSE
            { continue }
        }
    }
}
