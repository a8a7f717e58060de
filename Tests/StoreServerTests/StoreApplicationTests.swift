import ControlWire
import Foundation
import Glibc
import Logging
import Store
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing
import UnixSignals

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct StoreApplicationTests {
    private static func mode(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }

    @Test func theDataDirectoryTellsTheOwnerWhatItMust() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let data = directory.url.appendingPathComponent("data")
            let port = try ReservedPort()
            try await RunningServer.with(directory.url, { $0.sandboxPort = port.number }) { server async throws in
                #expect(Addresses.read(from: server.directory) == server.addresses)
                for address in [server.addresses.control, server.addresses.sandbox, server.addresses.production] {
                    #expect(address.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+/) != nil)
                }
                for secret in ["shared-secrets.json", "sandbox-tester.json", "lock"] {
                    #expect(try Self.mode(server.directory.appendingPathComponent(secret)) == 0o600, "\(secret)")
                }
                #expect(try Self.mode(server.directory) == 0o700)
                let root = try Data(contentsOf: server.directory.appendingPathComponent("roots/receipt-root.der"))
                #expect([UInt8](root) == server.application.authority.receiptRoot)
            }
            // A server that has stopped has no addresses.
            #expect(Addresses.read(from: data) == nil)
            #expect(throws: RawConnection.Failure.self) {
                try RawConnection(port: UInt16(port.number))
            }
        }
    }

    @Test func aSecondProcessOnTheSameDirectoryIsRefused() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let configuration = try RunningServer.configuration(directory.url)
            try await RunningServer.with(directory.url) { server async throws in
                let error = await #expect(throws: StoreServerError.self) {
                    _ = try await StoreApplication.open(configuration, now: { Date() }, logger: .quiet)
                }
                #expect(error?.code == .dataDirectoryInUse)
                #expect(error?.detail.contains("(process \(getpid()))") == true)
                // The lock holds between processes, too.
                let lock = Process()
                lock.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
                lock.arguments = ["-n", server.directory.appendingPathComponent("lock").path, "true"]
                try lock.run()
                lock.waitUntilExit()
                #expect(lock.terminationStatus == 1)
                // And the first one has lost nothing.
                #expect(try await server.device(.account, token: try await server.signIn().token).status == 200)
            }
            // It is free again once the first has stopped.
            try await RunningServer.with(directory.url) { server async throws in
                #expect(try await server.control("GET", "/health").status == 200)
            }
        }
    }

    @Test func aDirectoryThatCannotBeUsedIsSaidSo() async throws {
        try await TemporaryDirectory.with { directory async throws in
            var configuration = try RunningServer.configuration(directory.url)
            configuration.dataDirectory = URL(fileURLWithPath: configuration.catalogFiles[0].path)
            let changed = configuration
            let error = await #expect(throws: StoreServerError.self) {
                _ = try await StoreApplication.open(changed, now: { Date() }, logger: .quiet)
            }
            #expect(error?.code == .dataDirectoryUnusable)
        }
    }

    @Test func aRestartKeepsEverything() async throws {
        struct Before: Sendable {
            var token: String
            var receipt: [UInt8]
            var old: [UInt8]
            var bought: [UInt8]
            var request: PurchaseRequest
            var apps: [UInt8]
            var tester: SandboxTester
        }
        try await TemporaryDirectory.with { directory async throws in
            let before = try await RunningServer.with(directory.url) { server async throws in
                _ = try await server.control(
                    "PUT", "/control/v1/sandbox/clock", #"{"freeze":true,"set":"2030-05-05T05:05:05Z"}"#)
                let token = try await server.signIn().token
                let request = server.purchase("hats")
                let bought = try await server.device(.purchases, token: token, body: request)
                let id = try #require(try bought.decoded(PurchaseResponse.self).transaction).transactionID
                _ = try await server.control(
                    "POST", "/control/v1/sandbox/payment-rules", #"{"name":"kept","minimumAmount":5}"#)
                return Before(
                    token: token,
                    receipt: try await server.device(.appReceipt, token: token, body: RunningServer.receiptRequest)
                        .body,
                    old: try await server.device(
                        .transactionReceipt(id), token: token, body: RunningServer.receiptRequest
                    ).body,
                    bought: bought.body, request: request,
                    apps: try await server.control("GET", "/control/v1/apps").body,
                    tester: try #require(SandboxTester.read(from: server.directory)))
            }
            try await RunningServer.with(directory.url) { server async throws in
                #expect(try await server.verify(before.receipt).json["status"] as? Int == 0)
                #expect(try await server.verify(before.old).json["status"] as? Int == 0)
                #expect(
                    try await server.device(.purchases, token: before.token, body: before.request).body == before.bought
                )
                #expect(try await server.control("GET", "/control/v1/apps").body == before.apps)
                let clock = try await server.control("GET", "/control/v1/sandbox/clock").decoded(ControlAPI.Clock.self)
                #expect(clock.frozen && clock.now == "2030-05-05T05:05:05.000Z")
                let rules = try await server.control("GET", "/control/v1/sandbox/payment-rules").decoded(
                    [ControlAPI.PaymentRule].self)
                #expect(rules.map(\.name) == ["kept"])
                let tester = try #require(SandboxTester.read(from: server.directory))
                #expect(tester.email == before.tester.email && tester.password == before.tester.password)
                #expect(try await server.signIn().account.email == tester.email)
            }
        }
    }

    /// As when the operator registers an app while the process hears of another one.
    @Test func `a file of the data directory can be written twice at once`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let data = try DataDirectory(directory.url)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { try data.write(Array("secret".utf8), to: "file", isSecret: true) }
                }
                try await group.waitForAll()
            }
            #expect(try String(contentsOf: data.path("file"), encoding: .utf8) == "secret")
            data.release()
        }
    }

    @Test func aClosedStoreGivesItsDataDirectoryBack() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let configuration = try RunningServer.configuration(directory.url)
            try await SharedAuthority.copy(to: configuration.dataDirectory.appendingPathComponent("authority"))
            let first = try await StoreApplication.open(configuration, now: { Date() }, logger: .quiet)
            let error = await #expect(throws: StoreServerError.self) {
                try await StoreApplication.open(configuration, now: { Date() }, logger: .quiet)
            }
            #expect(error?.code == .dataDirectoryInUse)
            let copies = DescriptorCopies(of: configuration.dataDirectory.appendingPathComponent("lock"))
            #expect(copies.count == 1)
            await first.close()
            // At once, although somebody still holds the first, and a child process its descriptors.
            let second = try await StoreApplication.open(configuration, now: { Date() }, logger: .quiet)
            withExtendedLifetime((first, copies)) {}
            await second.close()
        }
    }

    @Test func aPortInUseIsNamed() async throws {
        try await withServer { first async throws in
            let taken = Int(first.port(first.addresses.sandbox))
            try await TemporaryDirectory.with { directory async throws in
                for change: (inout StoreServerConfiguration) -> Void in [
                    { $0.controlPort = taken }, { $0.sandboxPort = taken }, { $0.productionPort = taken },
                ] {
                    let error = await #expect(throws: StoreServerError.self) {
                        try await RunningServer.with(directory.url, change) { _ in }
                    }
                    #expect(error?.code == .portUnavailable && error?.detail.contains("Port \(taken) ") == true)
                    #expect(error?.detail.contains("in use") == true)
                    #expect(Addresses.read(from: directory.url.appendingPathComponent("data")) == nil)
                }
            }
            #expect(try await first.control("GET", "/health").status == 200)
        }
    }

    /// The ports are tried before they are served, and what connects in between must not be left without an answer.
    @Test func aConnectionDuringTheStartIsAnsweredOrClosed() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let port = try ReservedPort()
            let hasEnded = Atomic(false)
            async let silent = RawConnection.run {
                var silent = 0
                while !hasEnded.load(ordering: .relaxed) {
                    guard let connection = try? RawConnection(port: UInt16(port.number)) else { continue }
                    connection.write("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    if !connection.isReadable(within: 10_000) { silent += 1 }
                }
                return silent
            }
            for _ in 1...5 {
                try await RunningServer.with(directory.url, { $0.sandboxPort = port.number }) { server async throws in
                    #expect(try await server.control("GET", "/health").status == 200)
                }
            }
            hasEnded.store(true, ordering: .relaxed)
            #expect(try await silent == 0)
        }
    }

    @Test func aChangedCatalogIsTakenInAndABadOneIsNot() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let file = directory.url.appendingPathComponent("catalog.yaml")
            try await RunningServer.with(directory.url) { server async throws in
                var reload = server.application.catalogReload
                func products() async throws -> [ProductID] {
                    let asked = ProductsRequest(
                        bundleID: RunningServer.bundleID, productIDs: ["credits5", "scarf"], languages: [])
                    return try await server.device(.products, body: asked).decoded(ProductsResponse.self).products.map(
                        \.productID)
                }
                let token = try await server.signIn().token
                await reload.look()
                #expect(try await products() == ["credits5"])
                let changed =
                    RunningServer.catalogText.replacing("productID: hats", with: "productID: scarf") + """

                          - bundleID: com.example.second
                            products: [{ productID: thing, type: Consumable, displayPrice: 1 }]
                        """
                try Data(changed.utf8).write(to: file, options: .atomic)
                await reload.look()
                #expect(try await products() == ["credits5", "scarf"])
                // The new app has its number and secret, in the file too.
                let apps = try await server.control("GET", "/control/v1/apps").decoded([ControlAPI.App].self)
                #expect(apps.map(\.bundleId) == ["com.example.monkeys", "com.example.second"])
                let secrets = try JSONDecoder().decode(
                    [String: String].self,
                    from: Data(contentsOf: server.directory.appendingPathComponent("shared-secrets.json")))
                #expect(secrets["com.example.second"] == apps[1].sharedSecret)
                let gone = try await server.device(.purchases, token: token, body: server.purchase("hats")).decoded(
                    PurchaseResponse.self)
                #expect(gone.failure?.code == .productNotAvailable)
                for bad in [
                    "cornerstore-catalog: 1\napps: [", "", "cornerstore-catalog: 99",
                    String(repeating: "[", count: 5000),
                ] {
                    try Data(bad.utf8).write(to: file, options: .atomic)
                    await reload.look()
                    #expect(try await products() == ["credits5", "scarf"])
                }
                try FileManager.default.removeItem(at: file)
                await reload.look()
                #expect(try await products() == ["credits5", "scarf"])
                try Data(RunningServer.catalogText.utf8).write(to: file, options: .atomic)
                await reload.look()
                // The server looks at the file, too. It may still be loading what was in the file before. Then it loads
                // this text once more.
                try await until { try await products() == ["credits5"] }
                // An app that went is still known.
                try await until {
                    let after = try await server.control("GET", "/control/v1/apps").decoded([ControlAPI.App].self)
                    return after.map(\.isInCatalog) == [true, false]
                }
            }
        }
    }

    @Test func aBadCatalogIsToldOfOnceAndNotWhileItIsWritten() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let files = try RunningServer.configuration(directory.url).catalogFiles
            let file = URL(fileURLWithPath: files[0].path)
            let told = ErrorCounter()
            var reload = CatalogReload(
                watcher: CatalogWatcher(files: files), catalogs: StoreCatalogs(files: .empty),
                logger: Logger(label: "test") { _ in told }
            ) { _ in }
            func look(at text: String?, expecting errors: Int) async throws {
                if let text { try Data(text.utf8).write(to: file) }
                await reload.look()
                #expect(told.count == errors, "\(text ?? "unchanged")")
            }
            // An editor cuts the file off, then writes it.
            try await look(at: "", expecting: 0)
            try await look(at: RunningServer.catalogText, expecting: 0)
            try await look(at: nil, expecting: 0)
            try await look(at: "", expecting: 0)
            try await look(at: "cornerstore-catalog: 99", expecting: 0)
            try await look(at: nil, expecting: 1)
            try await look(at: nil, expecting: 1)
        }
    }

    private final class ErrorCounter: LogHandler {
        private let errors = Mutex(0)
        var count: Int { errors.withLock { $0 } }
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .error }
            set {}
        }
        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) { errors.withLock { $0 += 1 } }
    }

    @Test func aCatalogThatCouldNotBePreparedIsTriedAgain() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let files = try RunningServer.configuration(directory.url).catalogFiles
            let catalogs = StoreCatalogs(files: .empty)
            let failures = Mutex(2)
            var reload = CatalogReload(watcher: CatalogWatcher(files: files), catalogs: catalogs, logger: .quiet) { _ in
                let fails = failures.withLock { count in
                    count -= 1
                    return count >= 0
                }
                if fails { throw StoreError(.unavailable, "") }
            }
            try Data((RunningServer.catalogText + "\n").utf8).write(
                to: URL(fileURLWithPath: files[0].path), options: .atomic)
            for expected in [0, 0, 1, 1] {
                await reload.look()
                #expect(catalogs.all.value.apps.count == expected)
            }
        }
    }

    @Test func aRequestKeepsTheIDItComesWith() async throws {
        try await withServer { server async throws in
            for path in [
                server.addresses.control + "/health", server.addresses.sandbox + "/device/v1/nowhere",
                server.addresses.sandbox + "/verifyReceipt", server.addresses.production + StoreRoute.account.path,
            ] {
                let method = path.hasSuffix("/verifyReceipt") ? "POST" : "GET"
                let reply = try await server.send(
                    method, path, headers: [("X-Request-Id", "from-a.proxy:1")], body: method == "POST" ? [] : nil)
                #expect(reply.headers.first(name: "x-request-id") == "from-a.proxy:1", "\(path): \(reply.status)")
            }
        }
    }

    @Test func aLostDatabaseIsSaidToBePassing() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            let asked = ProductsRequest(bundleID: RunningServer.bundleID, productIDs: ["hats"], languages: [])
            #expect(try await server.device(.account, token: token).status == 200)
            await server.application.close()
            let tester = SignInRequest(email: "a@b.c", password: "x", deviceID: UUID())
            for (route, body) in [
                (StoreRoute.purchases, server.purchase("hats") as any Encodable),
                (.appReceipt, RunningServer.receiptRequest),
                (.finish(TransactionID(rawValue: 5)), ["": ""]), (.signIn, tester),
            ] {
                let reply = try await server.device(route, token: token, body: body)
                #expect(reply.status == 503 && reply.code == "unavailable", "\(route): \(reply.text)")
                #expect(reply.headers.first(name: "Retry-After") == "1", "\(route)")
                #expect(!reply.text.lowercased().contains("sql") && !reply.text.contains(server.directory.path))
            }
            // Prices need no database, but whose storefront it is does.
            #expect(try await server.device(.products, body: asked).status == 200)
            #expect(try await server.device(.products, token: "another", body: asked).status == 503)
            for address in [
                server.addresses.control, server.addresses.sandbox, server.addresses.production,
                server.addresses.storefront,
            ] {
                let reply = try await server.send("GET", address + "/ready")
                #expect(reply.status == 503 && reply.text == #"{"reason":"database","status":"not ready"}"#)
                #expect(try await server.send("GET", address + "/health").status == 200, "\(address)")
            }
        }
    }

    @Test func aStopLetsRequestsUnderWayEnd() async throws {
        try await TemporaryDirectory.with { directory async throws in
            var configuration = try RunningServer.configuration(directory.url)
            configuration.dataDirectory = directory.url.appendingPathComponent("data")
            try await RunningServer.with(directory.url, signals: [.sigusr2]) { server async throws in
                let tester = try #require(SandboxTester.read(from: server.directory))
                let body = try JSONEncoder().encode(
                    SignInRequest(email: tester.email, password: tester.password, deviceID: UUID()))
                let (sandbox, production) = (
                    server.port(server.addresses.sandbox), server.port(server.addresses.production)
                )
                let answer = try await RawConnection.run {
                    let connection = try RawConnection(port: sandbox)
                    connection.write(
                        "POST /device/v1/session HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                            + "Content-Length: \(body.count)\r\n\r\n")
                    // The request is under way when the server asks for its body.
                    let question = connection.read()
                    guard question.hasPrefix("HTTP/1.1 100 ") else { return question }
                    connection.write(Array(body.prefix(10)))
                    kill(getpid(), SIGUSR2)
                    // Once nobody listens any more, the stop is under way.
                    for port in [production, sandbox] {
                        let end = ContinuousClock.now + .seconds(60)
                        while (try? RawConnection(port: port)) != nil, ContinuousClock.now < end {}
                    }
                    connection.write(Array(body.dropFirst(10)))
                    return connection.read(until: "\"token\"")
                }
                #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("\"token\""))
            }
        }
    }
}
