import Foundation
import TestSupport

/// Runs the example of `Documentation/SeveralProcesses.md` as it stands there, but on one machine, with other
/// addresses, ports and paths, and without TLS.
public enum DocumentedRun {
    /// Starts PostgreSQL and its standby, nginx, two stores and two merchants, and uses them.
    /// - Returns: what is wrong, one sentence each.
    public static func run(_ programs: Programs) async throws -> [String] {
        try await TemporaryDirectory.with { directory in
            try await PostgreSQLPair.with(programs, isSynchronous: true, directory: directory.url) { pair in
                try await use(try await DocumentedPlace(programs, folder: directory.url, pair: pair))
            }
        }
    }

    private static func use(_ place: DocumentedPlace) async throws -> [String] {
        let proxy = try await place.startProxy()
        var servers: [ServerProcess] = []
        let result: Result<[String], any Error>
        do {
            // The merchants read the roots that the stores write.
            for name in ["store", "merchant"] {
                let (started, failure) = await ServerProcess.startTogether(DocumentedPlace.machines) {
                    try await place.start(name, at: $0)
                }
                servers += started
                if let failure { throw failure }
            }
            result = .success(try await DocumentedUse(place).run())
        } catch {
            result = .failure(KillTestError("\(error)\n\(place.logs)"))
        }
        for server in servers { _ = await server.stop(SIGKILL) }
        await proxy.stop()
        return try result.get()
    }
}
