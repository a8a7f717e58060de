import Foundation
import TestSupport
import Testing

@testable import PurchaseVault

/// Against a real secret service, in a session of the test's own.
@Suite("The key in the desktop's secret service", .serialized, .timeLimit(.minutes(1)))
struct SecretServiceTests {
    typealias Bench = VaultBench

    private func with(_ body: (Bench, SecretServiceSession) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            // A socket's path has room for 107 bytes.
            let home = URL(fileURLWithPath: "/tmp/cornerstore-\(UUID().uuidString.prefix(8))")
            defer { try? FileManager.default.removeItem(at: home) }
            let session = try SecretServiceSession(home: home)
            defer { session.end() }
            try await body(try await VaultBench(directory), session)
        }
    }

    private func configuration(_ bench: Bench, _ environment: [String: String]) throws -> VaultConfiguration {
        var configuration = try bench.configuration()
        configuration.keyStore = DesktopVaultKeyStore(
            service: SecretServiceVaultKeyStore(for: configuration, environment: environment), file: try bench.key)
        return configuration
    }

    private func bought(_ configuration: VaultConfiguration, _ bench: Bench) async throws {
        let vault = try await PurchaseVault(configuration)
        try await vault.record(transactionReceipt: try bench.transactionReceipt(Bench.coins, id: "1"))
        vault.close()
    }

    @Test func `a vault opens again with the service's key, without a key file`() async throws {
        try await with { bench, session in
            let configuration = try configuration(bench, session.environment)
            try bench.layReceipt([])
            try await bought(configuration, bench)
            #expect(!FileManager.default.fileExists(atPath: try bench.key.path))
            let vault = try await PurchaseVault(configuration)
            #expect(vault.balance("coins") == 10)
            #expect(vault.report.incidents.isEmpty)
            vault.close()
        }
    }

    @Test func `two vaults have two keys, and a replaced key is the new one`() async throws {
        try await with { bench, session in
            let sandbox = SecretServiceVaultKeyStore(
                for: try bench.configuration(.sandbox), environment: session.environment)
            let production = SecretServiceVaultKeyStore(
                for: try bench.configuration(.production), environment: session.environment)
            #expect(try sandbox.key() == nil)
            let (first, second) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
            try sandbox.keep(first)
            #expect(try production.key() == nil)
            try production.keep(second)
            #expect(try sandbox.key() == first)
            try sandbox.keep(second)
            #expect(try sandbox.key() == second)
        }
    }

    @Test func `the vault stays closed and undamaged while the service does not answer`() async throws {
        try await with { bench, session in
            let known = try configuration(bench, session.environment)
            try bench.layReceipt([])
            try await bought(known, bench)
            var away = session.environment
            away["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(bench.folder.path)/nobody"
            let shut = try configuration(bench, away)
            let error = await #expect(throws: VaultError.self) { try await PurchaseVault(shut) }
            #expect(error?.code == .storage)
            #expect(error?.detail.contains("log in to that desktop") == true)
            let vault = try await PurchaseVault(known)
            #expect(vault.balance("coins") == 10)
            #expect(vault.report.incidents.isEmpty)
            vault.close()
        }
    }

    @Test func `a locked key is not treated as missing`() async throws {
        try await with { bench, session in
            let known = try configuration(bench, session.environment)
            try bench.layReceipt([])
            try await bought(known, bench)
            try session.lock()
            let service = SecretServiceVaultKeyStore(for: known, environment: session.environment)
            #expect(service.isAvailable)
            let error = #expect(throws: VaultError.self) { try service.key() }
            #expect(error?.code == .storage && error?.detail.contains("unlock") == true)
            await #expect(throws: VaultError.self) { try await PurchaseVault(known) }
            // One that is not there is none, locked keyring or not.
            let other = SecretServiceVaultKeyStore(
                for: try bench.configuration(.production), environment: session.environment)
            #expect(try other.key() == nil)
        }
    }

    @Test func `a slow service is not treated as one without the key`() async throws {
        try await with { bench, session in
            let socket = try SilentSocket(folder: try #require(session.environment["XDG_RUNTIME_DIR"]))
            var silent = session.environment
            silent["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(socket.path)"
            let service = SecretServiceVaultKeyStore(
                for: try bench.configuration(), patience: 0.2, environment: silent)
            #expect(!service.isAvailable)
            let error = #expect(throws: VaultError.self) { try service.key() }
            #expect(error?.code == .storage && error?.detail.contains("seconds") == true)
        }
    }

    @Test func `without a service the key is in a file, and stays there`() async throws {
        try await with { bench, session in
            var away = session.environment
            away["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(bench.folder.path)/nobody"
            try bench.layReceipt([])
            try await bought(try configuration(bench, away), bench)
            #expect(FileManager.default.fileExists(atPath: try bench.key.path))
            let vault = try await PurchaseVault(try configuration(bench, session.environment))
            #expect(vault.balance("coins") == 10)
            #expect(vault.report.incidents.isEmpty)
            vault.close()
        }
    }
}

/// A message bus that takes connections and says nothing.
private final class SilentSocket {
    struct Unusable: Error {}

    let path: String
    private let descriptor: Int32

    init(folder: String) throws {
        path = folder + "/silent"
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107))) }
        let isListening = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 8) == 0
            }
        }
        guard isListening else { throw Unusable() }
    }

    deinit { close(descriptor) }
}
