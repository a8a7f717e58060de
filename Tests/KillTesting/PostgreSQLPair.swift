import Foundation
import TestSupport

/// A PostgreSQL primary and its standby, which `scripts/postgresql-pair` runs.
struct PostgreSQLPair: Sendable {
    /// What happens to one of the servers.
    enum Event: String, Sendable {
        /// All processes of the primary are killed at once.
        case crash
        /// The standby has received everything that the primary has now.
        case catchUp = "catch-up"
        case stopStandby = "stop-standby"
        case startStandby = "start-standby"
        /// The standby becomes the primary.
        case promote
        case stop
    }

    /// The URL with both hosts.
    let url: String
    private let programs: Programs
    private let folder: URL
    private let log: URL

    private static var script: URL {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        return package.appendingPathComponent("scripts/postgresql-pair")
    }

    /// Makes and starts both.
    /// - Parameters:
    ///   - isSynchronous: whether a commit waits for the standby.
    ///   - directory: the folder for the script's output.
    init(_ programs: Programs, isSynchronous: Bool, directory: URL) async throws {
        self.programs = programs
        // PostgreSQL's user cannot read the test's own folder.
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "cornerstore-pair-\(UUID().uuidString)")
        log = directory.appendingPathComponent("pair.log")
        let ports = try Ports.free(2)
        let (status, output) = try await programs.run(
            [
                "start", folder.path, "\(ports[0])", "\(ports[1])", isSynchronous ? "synchronous" : "asynchronous",
            ], Programs.environment, log: log, program: Self.script)
        url = output.trimmingCharacters(in: .whitespacesAndNewlines)
        guard status == 0 else {
            throw KillTestError("PostgreSQL did not start: \(ServerProcess.end(of: log))")
        }
    }

    /// Makes something happen and returns when it has.
    func perform(_ event: Event) async throws {
        let (status, _) = try await programs.run(
            [event.rawValue, folder.path], Programs.environment, log: log, program: Self.script)
        guard status == 0 else {
            throw KillTestError("postgresql-pair \(event.rawValue): \(ServerProcess.end(of: log))")
        }
    }
}
