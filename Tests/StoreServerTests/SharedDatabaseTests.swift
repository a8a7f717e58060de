import Foundation
import TestSupport
import Testing

@testable import StoreServer

/// Two stores with data directories of their own on one PostgreSQL.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct SharedDatabaseTests {
    private func open(
        _ name: String, in directory: TemporaryDirectory, _ url: String?, _ prefix: String
    ) async throws -> StoreApplication {
        let folder = directory.url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = try RunningServer.configuration(folder)
        (configuration.databaseURL, configuration.schemaPrefix) = (url, prefix)
        let authority = configuration.dataDirectory.appendingPathComponent("authority")
        if !FileManager.default.fileExists(atPath: authority.path) { try await SharedAuthority.copy(to: authority) }
        return try await StoreApplication.open(configuration, now: { Date() }, logger: .quiet)
    }

    @Test func aSecondStoreOnTheSchemasOfAnotherIsRefused() async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await Backend.postgresql.withServerDatabase { url, prefix async throws in
                let first = try await open("first", in: directory, url, prefix)
                let error = await #expect(throws: StoreServerError.self) {
                    _ = try await open("second", in: directory, url, prefix)
                }
                #expect(error?.code == .databaseInUse)
                let detail = error?.detail ?? ""
                for part in ["\(prefix)_…", "process \(getpid()) on ", "--schema-prefix", "Stop that store"] {
                    #expect(detail.contains(part), "\(detail)")
                }
                await first.close()
                // The refused one left its data directory free, and the database is free again.
                let second = try await open("second", in: directory, url, prefix)
                await second.close()
            }
        }
    }

    @Test func aStoreWhoseDatabaseIsTakenStopsInOrder() async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await Backend.postgresql.withServerDatabase { url, prefix async throws in
                var parts = try #require(URLComponents(string: url ?? ""))
                let relay = try Relay(to: UInt16(parts.port ?? 5432))
                defer { relay.close() }
                parts.port = Int(relay.port)
                let first = try await open("first", in: directory, parts.string, prefix)
                let (ready, tell) = AsyncStream.makeStream(of: Addresses.self)
                async let end: StoreServerError? = Self.run(first) { tell.yield($0) }
                for await _ in ready { break }
                relay.cut()
                let second = try await open("second", in: directory, url, prefix)
                relay.mend()
                #expect(await end?.code == .databaseInUse)
                // It has closed everything, its data directory too.
                #expect(
                    Addresses.read(from: directory.url.appendingPathComponent("first/data")) == nil)
                await second.close()
                let again = try await open("first", in: directory, url, prefix)
                await again.close()
            }
        }
    }

    /// Runs a store until it stops by itself, and gives why.
    private static func run(
        _ application: StoreApplication, _ onReady: @escaping @Sendable (Addresses) async -> Void
    ) async -> StoreServerError? {
        do {
            try await application.run(gracefulShutdownSignals: [], onReady: onReady)
            return nil
        } catch {
            return error as? StoreServerError
        }
    }
}
