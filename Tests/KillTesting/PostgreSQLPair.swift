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
        /// The standby has applied everything that the primary has committed.
        case awaitStandby = "await-standby"
        case stopStandby = "stop-standby"
        case startStandby = "start-standby"
        /// The standby becomes the primary.
        case promote
    }

    /// The URL of the store's database, with both hosts.
    let url: String
    /// The same of the merchant's database.
    let merchantURL: String
    private let programs: Programs
    private let folder: URL
    private let log: URL
    /// Of the primary and the standby.
    private let ports: [ReservedPort]

    private static var script: URL {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        return package.appendingPathComponent("scripts/postgresql-pair")
    }

    /// Makes and starts both, and removes them after `body`.
    /// - Parameters:
    ///   - isSynchronous: whether a commit waits for the standby.
    ///   - canVanish: whether the primary has a machine of its own; see ``obstacle(_:directory:)``.
    ///   - directory: the folder for the script's output.
    static func with<T>(
        _ programs: Programs, isSynchronous: Bool, canVanish: Bool = false, directory: URL,
        _ body: (PostgreSQLPair) async throws -> T
    ) async throws -> T {
        // PostgreSQL's user cannot read the test's own folder. The path of a socket has at most 107 bytes.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "cornerstore-pair-\(UUID().uuidString.prefix(8))")
        let log = directory.appendingPathComponent("pair.log")
        let result: Result<T, any Error>
        do {
            let pair = try await PostgreSQLPair(
                programs, isSynchronous: isSynchronous, canVanish: canVanish, folder: folder, log: log)
            result = .success(try await body(pair))
        } catch {
            result = .failure(error)
        }
        // In a task of its own: the task of a test at its time limit is cancelled, and would kill the script.
        let end = await Task { try await run(["stop", folder.path], programs, log) }.result
        let value = try result.get()
        _ = try end.get()
        return value
    }

    private init(
        _ programs: Programs, isSynchronous: Bool, canVanish: Bool, folder: URL, log: URL
    ) async throws {
        (self.programs, self.folder, self.log) = (programs, folder, log)
        ports = try (0..<2).map { _ in try ReservedPort() }
        let output = try await Self.run(
            [
                "start", folder.path, "\(ports[0].number)", "\(ports[1].number)",
                isSynchronous ? "synchronous" : "asynchronous",
            ] + (canVanish ? ["machine"] : []), programs, log)
        let urls = output.split(separator: "\n").map(String.init)
        guard urls.count == 2 else { throw KillTestError("postgresql-pair printed no two URLs: \(output)") }
        (url, merchantURL) = (urls[0], urls[1])
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
    func perform(_ event: Event) async throws { _ = try await Self.run([event.rawValue, folder.path], programs, log) }

    /// Runs the script.
    /// - Returns: what it printed.
    private static func run(_ arguments: [String], _ programs: Programs, _ log: URL) async throws -> String {
        let (status, output) = try await programs.run(arguments, Programs.environment, log: log, program: script)
        guard status == 0 else {
            throw KillTestError("postgresql-pair \(arguments[0]): \(status) \(ServerProcess.end(of: log))")
        }
        return output
    }
}
