import ControlWire
import Database
import Foundation
import Logging
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// Two servers of one store in this process, on one PostgreSQL.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1)))
struct SeveralProcessesTests {
    private static let key = StoreKey()
    private static let storefront = "http://store.example"

    /// Where the servers of a test are.
    struct Place: Sendable {
        var folder: URL
        var databaseURL: String?
        var prefix: String

        /// Changes the configuration of a server with a data directory of its own into one that shares the store.
        func share(_ configuration: inout StoreServerConfiguration) {
            configuration.databaseURL = databaseURL
            configuration.schemaPrefix = prefix
            configuration.storeKey = SeveralProcessesTests.key
            configuration.storefrontURL = SeveralProcessesTests.storefront
            configuration.sharedBlobs = folder.appendingPathComponent("content")
            configuration.connections = 4
        }

        /// Runs a server until the body ends.
        func serve<T: Sendable>(
            _ name: String, clock: MachineClock? = nil, logger: Logger = .quiet,
            _ change: (inout StoreServerConfiguration) -> Void = { _ in },
            _ body: @escaping @Sendable (RunningServer) async throws -> T
        ) async throws -> T {
            let own = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
            return try await RunningServer.with(
                own, clock: clock, logger: logger,
                { configuration in
                    share(&configuration)
                    change(&configuration)
                }, body)
        }

        /// Opens a server until the body ends. It has no ports and does no scheduled work.
        func open<T>(
            _ name: String, _ change: (inout StoreServerConfiguration) -> Void = { _ in },
            _ body: (StoreApplication) async throws -> T
        ) async throws -> T {
            let own = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
            var configuration = try RunningServer.configuration(own)
            share(&configuration)
            change(&configuration)
            let application = try await StoreApplication.open(configuration, now: { Date() }, logger: .quiet)
            do {
                let result = try await body(application)
                await application.close()
                return result
            } catch {
                await application.close()
                throw error
            }
        }

        /// Opens a server that does not start.
        func refused(
            _ name: String, _ change: (inout StoreServerConfiguration) -> Void
        ) async throws -> (any Error)? {
            do {
                try await open(name, change) { _ in }
                return nil
            } catch {
                return error
            }
        }
    }

    static func withPlace<T>(_ body: (Place) async throws -> T) async throws -> T {
        try await TemporaryDirectory.with { directory async throws in
            try await Backend.postgresql.withServerDatabase(ready: StoreDatabases.migrations) {
                url, prefix async throws in
                try await body(Place(folder: directory.url, databaseURL: url, prefix: prefix))
            }
        }
    }

    @Test func twoProcessesAreOneStore() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                try await place.serve("second") { second async throws in
                    let nodes = [first, second].map { $0.application.operation.node }
                    #expect(Set(nodes.compactMap(\.self)).count == 2)
                    for server in [first, second] {
                        try await until {
                            try await server.send("GET", server.addresses.sandbox + "/ready").status == 200
                        }
                    }
                    // They have one authority, and one tester.
                    #expect(first.application.authority.receiptRoot == second.application.authority.receiptRoot)
                    let testers = [first, second].compactMap { SandboxTester.read(from: $0.directory)?.email }
                    #expect(Set(testers).count == 1 && testers.count == 2)
                    // A device that signed in at one buys at the other, and a key buys once.
                    let token = try await first.signIn().token
                    let purchase = second.purchase("credits5")
                    let bought = try await second.device(.purchases, token: token, body: purchase)
                    let again = try await first.device(.purchases, token: token, body: purchase)
                    #expect(bought.status == 200 && bought.body == again.body, "\(bought.text) \(again.text)")
                    // Once the lock is answered, it holds at both.
                    let locked = try await first.control(
                        "PATCH", "/control/v1/sandbox/accounts/\(testers[0])", #"{"locked":true}"#)
                    #expect(locked.status == 200, "\(locked.text)")
                    for server in [first, second] {
                        let refused = try await server.device(
                            .purchases, token: token, body: server.purchase("credits5"))
                        #expect(refused.status == 403 && refused.code == "account_locked", "\(refused.text)")
                    }
                    let metrics = try await second.control("GET", "/metrics", headers: []).text
                    #expect(metrics.contains("store_processes 2\n"))
                    // The operator sees both, at each of them.
                    for server in [first, second] {
                        let isShown = try await SharedStoreTests.holds {
                            let processes = try await SharedStoreTests.processes(server)
                            return processes.map(\.node) == nodes.compactMap(\.self).sorted()
                                && processes.allSatisfy { $0.state == "ready" && $0.address != nil }
                                && processes.filter(\.isOwn).map(\.address) == [server.addresses.control]
                        }
                        #expect(isShown)
                    }
                    // Also that one of them stops, as it tells load balancers.
                    first.application.operation.health.stop()
                    let ready = try await first.send("GET", first.addresses.sandbox + "/ready")
                    #expect(ready.json["reason"] as? String == "stopping", "\(ready.text)")
                    for server in [first, second] {
                        let isShown = try await SharedStoreTests.holds {
                            try await SharedStoreTests.processes(server).contains {
                                $0.node == nodes[0] && $0.state == "stopping"
                            }
                        }
                        #expect(isShown)
                    }
                }
            }
        }
    }

    @Test func aSheetOfAnotherProcessIsNamed() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first", { $0.node = 10 }) { first async throws in
                try await place.serve("second", { $0.node = 11 }) { second async throws in
                    let question = try JSONEncoder().encode(
                        SheetQuestion(kind: .confirm, title: "Hats", lines: []))
                    let posted = try await first.control(
                        "POST", "/control/v1/sheets", String(decoding: question, as: UTF8.self))
                    let id = try #require(posted.json["id"] as? String)
                    #expect(id.hasPrefix("0a"))
                    #expect(try await first.control("GET", "/sheets/\(id)", headers: []).status == 200)
                    let other = try await second.control("GET", "/sheets/\(id)", headers: [])
                    #expect(other.status == 421 && other.code == "other_process", "\(other.text)")
                    #expect(other.headers.first(name: "Cornerstore-Process") == "0a")
                }
            }
        }
    }

    @Test func bytesOfAnUploadGoToTheProcessThatHasThem() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first", { $0.node = 10 }) { first async throws in
                try await place.serve("second", { $0.node = 11 }) { second async throws in
                    try await first.host("hats")
                    let package = try SamplePackage("hats", "1.0", size: 20_000)
                    let upload = try await first.begin(package)
                    var refused = try await second.append(package.bytes, to: upload, at: 0)
                    // The processes tell each other what they have with their beats.
                    let end = ContinuousClock.now + .seconds(10)
                    while refused.status != 421, ContinuousClock.now < end {
                        refused = try await second.append(package.bytes, to: upload, at: 0)
                    }
                    #expect(refused.status == 421 && refused.code == "other_process", "\(refused.text)")
                    #expect(refused.headers.first(name: "Cornerstore-Process") == "0a")
                    #expect(try await second.hosted().first?.uploads.map(\.isElsewhere) == [true])
                    #expect(try await first.hosted().first?.uploads.map(\.isElsewhere) == [nil])
                    let sent = try await first.append(package.bytes, to: upload, at: 0)
                    #expect(sent.status == 200, "\(sent.text)")
                    let completed = try await first.complete(upload)
                    #expect(completed.status == 200, "\(completed.text)")
                }
            }
        }
    }

    @Test func newLeavesAreThoseOfAllProcesses() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                try await place.serve("second") { second async throws in
                    let route = ControlRoute.authority.path
                    let old = try await second.control("GET", route).decoded(ControlAPI.Authority.self)
                    let rotated = try await first.control("POST", ControlRoute.rotateAuthority.path)
                        .decoded(ControlAPI.Authority.self)
                    #expect(rotated != old)
                    // The answer waits until the other process has them, but not for one that hears late.
                    try await until {
                        let new = try await second.control("GET", route)
                        return try new.status == 200 && new.decoded(ControlAPI.Authority.self) == rotated
                    }
                }
            }
        }
    }

    @Test func aKeyThatOneProcessRevokedIsRefusedByTheOther() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                try await place.serve("second") { second async throws in
                    let app = try await AppServer(first, MachineClock())
                    let path = "/inApps/v1/transactions/7"
                    for server in [first, second] { #expect(try await app.at(server).ask(path).status == 404) }
                    let route = ControlRoute.revokeAPIKey(name: app.key.key.keyID)
                    let revoked = try await first.control(route.method.rawValue, route.path)
                    #expect(revoked.status == 200, "\(revoked.text)")
                    for server in [second, first] { #expect(try await app.at(server).ask(path).status == 401) }
                }
            }
        }
    }

    @Test func refusalsAreLoggedWithTheProcess() async throws {
        let log = LogLines()
        try await Self.withPlace { place async throws in
            try await place.serve("first", logger: log.logger, { $0.node = 12 }) { first async throws in
                #expect(try await first.control("GET", "/control/v1/content/uploads/x").status == 400)
            }
        }
        let lines = log.all.map(\.text).filter { $0.contains("request refused") }
        #expect(!lines.isEmpty)
        for line in lines { #expect(line.contains("\"process\": 12"), "\(line)") }
    }

    @Test func anotherVersionIsRefusedWhileAProcessRuns() async throws {
        try await Self.withPlace { place async throws in
            // Makes the schemas.
            try await place.serve("first") { _ async throws in }
            let other = try await Membership(
                of: .postgresql(
                    url: try #require(place.databaseURL), schema: "\(place.prefix)_apps", connections: 1),
                name: "other", facts: ProcessFacts(version: "0.0.0", name: "other", startedAt: 1), node: nil,
                now: { Int64(Date().timeIntervalSince1970 * 1000) }, logger: .quiet)
            try await other.share()
            let error = try await place.refused("second") { _ in }
            let text = error.map { "\($0)" } ?? "started"
            #expect(text.contains("the version is") && text.contains("0.0.0"), "\(text)")
            await other.leave()
            let without = try await place.refused("second") { _ in }
            #expect(without == nil)
        }
    }

    @Test func settingsThatDifferAreRefused() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first", { $0.node = 3 }) { _ async throws in
                let changes: [(String, @Sendable (inout StoreServerConfiguration) -> Void)] = [
                    ("--storefront-url", { $0.storefrontURL = "http://other.example" }),
                    ("--ocsp-url", { $0.ocspURL = "http://store.example/ocsp" }),
                    ("--blobs", { $0.sharedBlobs = nil }),
                    ("--no-merchant", { $0.hasMerchant = true }),
                    ("--sandbox-renewal-lead is 1s here and 0s there", { $0.sandboxRenewals.lead = 1_000 }),
                    ("--node", { $0.node = 3 }),
                    ("--store-key", { $0.storeKey = nil }),
                    ("--store-key", { $0.storeKey = StoreKey() }),
                ]
                for (option, change) in changes {
                    let error = try await place.refused("second", change)
                    let text = error.map { "\($0)" } ?? "started"
                    #expect(text.contains(option), "\(text)")
                }
                // None of them left anything behind that hinders a right one.
                let error = try await place.refused("second") { $0.node = 4 }
                #expect(error == nil)
            }
        }
    }

    @Test func aStoreKeyNeedsTheStorefrontsAddress() async throws {
        try await Self.withPlace { place async throws in
            let error = try await place.refused("first") { $0.storefrontURL = nil } as? StoreServerError
            #expect(error?.code == .sharedSettingMissing && error?.detail.contains("--storefront-url") == true)
        }
    }

    @Test func theYoungerProcessWithOtherCatalogFilesIsNotReady() async throws {
        try await Self.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                let own = place.folder.appendingPathComponent("second")
                try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
                let catalog = RunningServer.catalogText.replacing("0.99", with: "1.99")
                try Data(catalog.utf8).write(to: own.appendingPathComponent("catalog.yaml"))
                try await place.serve("second") { second async throws in
                    try await until {
                        let ready = try await second.send("GET", second.addresses.production + "/ready")
                        return ready.status == 503 && ready.text.contains("catalog_differs")
                    }
                    try await until {
                        try await first.send("GET", first.addresses.production + "/ready").status == 200
                    }
                }
            }
        }
    }
}
