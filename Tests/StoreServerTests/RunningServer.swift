import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Store
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import UnixSignals

@testable import StoreServer

extension Logger {
    /// Keeps a request's metadata, as a log in use does, and shows nothing of what a test provokes.
    static var quiet: Logger {
        var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        return logger
    }
}

/// A machine's clock that a test moves.
final class MachineClock: Sendable {
    private let time: Mutex<@Sendable () -> Date>

    /// Creates a clock that stands still.
    init() {
        let start = Date()
        let standing: @Sendable () -> Date = { start }
        time = Mutex(standing)
    }

    /// The time. Once it is set, the clock stands still.
    var now: Date {
        get { time.withLock { $0 }() }
        set { time.withLock { $0 = { newValue } } }
    }

    /// Lets the clock run, some seconds before the right time.
    func run(ahead seconds: Double) { time.withLock { $0 = { Date() + seconds } } }
}

/// A server on free ports, and what it takes to speak to it.
struct RunningServer {
    let application: StoreApplication
    let addresses: Addresses
    let directory: URL
    /// Whether ``send(_:_:token:headers:body:)`` repeats what one of several processes refuses since it has not heard
    /// the others for five seconds, as when the machine stood still. A test that expects the refusal changes this.
    var isPatient = true

    static let bundleID: BundleID = "com.example.monkeys"
    static let device = UUID()

    static let catalogText = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.monkeys
            name: Monkeys
            products:
              - productID: credits5
                type: Consumable
                displayPrice: 0.99
              - productID: hats
                type: NonConsumable
                displayPrice: 2.99
            subscriptionGroups:
              - id: "21000001"
                name: Club
                subscriptions:
                  - productID: club.monthly
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 5.99
        """

    static func configuration(_ folder: URL) throws -> StoreServerConfiguration {
        let catalog = folder.appendingPathComponent("catalog.yaml")
        if !FileManager.default.fileExists(atPath: catalog.path) { try Data(catalogText.utf8).write(to: catalog) }
        var configuration = StoreServerConfiguration(
            dataDirectory: folder.appendingPathComponent("data"),
            catalogFiles: [CatalogFile(path: catalog.path, bundleID: nil)],
            controlPort: 0, sandboxPort: 0, productionPort: 0, storefrontPort: 0)
        // The standard cost takes 0.3 s in a debug build, for every account and every sign-in.
        configuration.passwordCost = PasswordCost(rounds: 16)
        return configuration
    }

    /// Runs a test with a server whose files are in `folder`, and stops it. A second time is a restart.
    /// - Parameters:
    ///   - console: the base URL of a console beside the store.
    ///   - clock: the machine's clock; nil for the real one.
    static func with<T: Sendable>(
        _ folder: URL, signals: [UnixSignal] = [], console: String? = nil, clock: MachineClock? = nil,
        logger: Logger = .quiet,
        _ change: (inout StoreServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningServer) async throws -> T
    ) async throws -> T {
        var changed = try configuration(folder)
        change(&changed)
        let configuration = changed
        let authority = configuration.dataDirectory.appendingPathComponent("authority")
        // Of processes that share a store, the first takes this authority over into the database.
        if !FileManager.default.fileExists(atPath: authority.path) {
            try await SharedAuthority.copy(to: authority)
            if configuration.databaseURL == nil {
                try await Backend.writeFiles(StoreDatabases.migrations, in: configuration.dataDirectory)
            }
        }
        let application = try await StoreApplication.open(
            configuration, now: { clock?.now ?? Date() }, logger: logger)
        let (ready, tell) = AsyncStream.makeStream(of: Addresses.self)
        return try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask {
                defer { tell.finish() }
                try await application.run(gracefulShutdownSignals: signals, console: console) { tell.yield($0) }
                return nil
            }
            group.addTask {
                for await addresses in ready {
                    return try await body(
                        RunningServer(
                            application: application, addresses: addresses, directory: configuration.dataDirectory))
                }
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                guard let result else { continue }
                group.cancelAll()
                while (try? await group.next()) != nil {}
                return result
            }
            throw NeverReady()
        }
    }

    struct NeverReady: Error {}

    // MARK: Speaking to it

    struct Reply {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:] }
        var code: String? { json["code"] as? String }

        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data(body))
        }
    }

    func send(
        _ method: String, _ url: String, token: String? = nil, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let body { request.body = .bytes(body) }
        let end = ContinuousClock.now + .seconds(45)
        while true {
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            let bytes = try await response.body.collect(upTo: 64 << 20)
            let reply = Reply(
                status: Int(response.status.code), headers: response.headers, body: [UInt8](bytes.readableBytesView))
            let isOneOfSeveral = application.operation.node != nil
            let isRefused = reply.status == 503 && reply.json["message"] as? String == CurrentMiddleware.message
            guard isPatient, isOneOfSeveral, isRefused, .now < end else { return reply }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func device(
        _ route: StoreRoute, _ environment: StoreEnvironment = .sandbox, token: String? = nil,
        body: (any Encodable)? = nil
    ) async throws -> Reply {
        try await send(
            route.method.rawValue, addresses.store(environment) + route.path, token: token,
            headers: body == nil ? [] : [("Content-Type", "application/json")],
            body: try body.map { [UInt8](try JSONEncoder().encode($0)) })
    }

    func control(
        _ method: String, _ path: String, headers: [(String, String)] = [("Content-Type", "application/json")],
        _ body: String? = nil
    ) async throws -> Reply {
        try await send(method, addresses.control + path, headers: headers, body: body.map { Array($0.utf8) })
    }

    /// Signs the tester in that the first start makes.
    func signIn() async throws -> SignInResponse {
        guard let tester = SandboxTester.read(from: directory) else { throw NeverReady() }
        let request = SignInRequest(email: tester.email, password: tester.password, deviceID: Self.device)
        return try await device(.signIn, body: request).decoded(SignInResponse.self)
    }

    func purchase(_ product: ProductID, key: UUID = UUID(), quantity: Int = 1) -> PurchaseRequest {
        PurchaseRequest(
            idempotencyKey: key, bundleID: Self.bundleID, productID: product, quantity: quantity,
            applicationUsername: nil,
            simulatesAskToBuy: false, agreedPrice: nil)
    }

    static let receiptRequest = AppReceiptRequest(bundleID: bundleID, bundleVersion: "1.2", vendorIdentifier: device)

    func verify(_ receipt: [UInt8], _ environment: StoreEnvironment = .sandbox, password: String? = nil) async throws
        -> Reply
    {
        let body = VerifyReceiptRequest(receiptData: receipt, password: password, excludeOldTransactions: false).body
        return try await send("POST", addresses.store(environment) + "/verifyReceipt", body: body)
    }

    func port(_ address: String) -> UInt16 { UInt16(URL(string: address)?.port ?? 0) }
}

/// Runs a test with a fresh server.
func withServer<T: Sendable>(
    _ change: (inout StoreServerConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (RunningServer) async throws -> T
) async throws -> T {
    try await TemporaryDirectory.with { directory async throws in
        try await RunningServer.with(directory.url, change, body)
    }
}
