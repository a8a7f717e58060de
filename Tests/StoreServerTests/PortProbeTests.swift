import Foundation
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import StoreServer

@Suite("Asking for a port")
struct PortProbeTests {
    @Test func `a port on which a server listens is refused`() throws {
        let server = try RawServer(nil)
        defer { server.close() }
        let error = #expect(throws: IOError.self) {
            try PortProbe.bind(host: "127.0.0.1", port: Int(server.port))
        }
        #expect(error?.errnoCode == EADDRINUSE)
    }

    /// A probe that listens would, and a child process that is just starting could keep its listener for a moment.
    @Test func `a port that is only probed accepts no connection`() async throws {
        let port = try Self.freePort()
        let probes = Task.detached { for _ in 0..<5_000 { try PortProbe.bind(host: "127.0.0.1", port: port) } }
        let connections = Task.detached {
            var count = 0
            while !Task.isCancelled { if (try? RawConnection(port: UInt16(port))) != nil { count += 1 } }
            return count
        }
        let result = await probes.result
        connections.cancel()
        #expect(await connections.value == 0)
        try result.get()
    }

    /// A free port below those that Linux gives to connections, which could otherwise meet themselves on it.
    private static func freePort() throws -> Int {
        while true {
            let port = Int.random(in: 16_384..<32_768)
            do {
                try PortProbe.bind(host: "127.0.0.1", port: port)
                return port
            } catch let error as IOError where error.errnoCode == EADDRINUSE { continue }
        }
    }
}
