import Foundation
import HTTPSupport
import Hummingbird
import HummingbirdCore

/// Serves a router's routes on a free port of this machine.
public enum LoopbackServer {
    private struct NoPort: Error {}

    /// Serves as the product does, for as long as `body` runs, which is given the server's address.
    public static func with(
        _ router: Router<some InitializableFromSource<ApplicationRequestContextSource> & RequestContext>,
        limits: ServerLimits = ServerLimits(), _ body: @Sendable (URL) async throws -> Void
    ) async throws {
        try await with(router, server: limits.server(), body)
    }

    /// Serves through `server` for as long as `body` runs.
    public static func with(
        _ router: Router<some InitializableFromSource<ApplicationRequestContextSource> & RequestContext>,
        server: HTTPServerBuilder, _ body: @Sendable (URL) async throws -> Void
    ) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router, server: server,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: .silent)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            var iterator = ports.makeAsyncIterator()
            let number = await iterator.next() ?? 0
            guard let url = URL(string: "http://127.0.0.1:\(number)/") else { throw NoPort() }
            let result = await Result.catching { try await body(url) }
            group.cancelAll()
            try result.get()
        }
    }
}
