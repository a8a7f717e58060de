import Foundation
import TestSupport

/// A PostgreSQL primary and its standby, which `scripts/postgresql-pair` runs.
struct PostgreSQLPair: Sendable {
    /// What happens to one of the servers.
    enum Event: String, Sendable {
        /// All processes of the primary are killed at once, and its machine refuses connections.
        case crash
        /// The primary's machine is gone: it answers nothing, acknowledges nothing and refuses nothing any more.
        case vanish
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
    ///   - canVanish: whether the primary has a machine of its own; see ``obstacle(_:directory:)``.
    ///   - directory: the folder for the script's output.
    init(_ programs: Programs, isSynchronous: Bool, canVanish: Bool = false, directory: URL) async throws {
        self.programs = programs
        // PostgreSQL's user cannot read the test's own folder.
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "cornerstore-pair-\(UUID().uuidString)")
        log = directory.appendingPathComponent("pair.log")
        let ports = try Ports.free(2)
        let (status, output) = try await programs.run(
            [
                "start", folder.path, "\(ports[0])", "\(ports[1])", isSynchronous ? "synchronous" : "asynchronous",
            ] + (canVanish ? ["machine"] : []), Programs.environment, log: log, program: Self.script)
        url = output.trimmingCharacters(in: .whitespacesAndNewlines)
        guard status == 0 else {
            throw KillTestError("PostgreSQL did not start: \(ServerProcess.end(of: log))")
        }
    }

    /// The reason why the primary cannot have a machine of its own, which needs root; nil when it can.
    static func obstacle(_ programs: Programs, directory: URL) async throws -> String? {
        let log = directory.appendingPathComponent("pair.log")
        let (status, output) = try await programs.run(["can-vanish"], Programs.environment, log: log, program: script)
        switch status {
        case 0: return nil
        case 1: return output.trimmingCharacters(in: .whitespacesAndNewlines)
        default: throw KillTestError("postgresql-pair can-vanish: \(ServerProcess.end(of: log))")
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
