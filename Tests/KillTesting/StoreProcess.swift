import AsyncHTTPClient
import Foundation
import KillTestApp
import NIOCore
import Synchronization
import TestSupport

/// What all processes of one store are started with.
struct SharedStore: Sendable {
    /// The file of the store's key.
    var key: URL
    /// The value of `--blobs`; the bucket's keys are `test` and `test`.
    var blobs: String?
    /// The storefront's base URL at the proxy.
    var storefrontURL: String
    /// The address of the OCSP responder at the proxy.
    var ocspURL: String
    /// Whether a process is ready only beside a synchronous standby.
    var needsStandby = false

    /// With a store key in a folder, and a bucket of its own.
    static func make(in folder: URL, needsStandby: Bool = false) async throws -> SharedStore {
        // Nobody listens there.
        let ports = try (0..<2).map { _ in try ReservedPort().number }
        return SharedStore(
            key: try makeKey(in: folder), blobs: try await makeBucket(),
            storefrontURL: "http://127.0.0.1:\(ports[0])", ocspURL: "http://127.0.0.1:\(ports[1])/ocsp",
            needsStandby: needsStandby)
    }

    /// The value of `--blobs` for a new bucket.
    static func makeBucket() async throws -> String {
        let bucket = try await S3Server.bucket()
        return "s3://\(bucket.name)?endpoint=\(bucket.endpoint)&region=us-east-1"
    }

    /// Makes a store key in a folder.
    static func makeKey(in folder: URL) throws -> URL {
        let key = folder.appendingPathComponent("store.key")
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let isMade = FileManager.default.createFile(
            atPath: key.path, contents: Data("\(Data(bytes).base64EncodedString())\n".utf8),
            attributes: [.posixPermissions: 0o600])
        guard isMade else { throw KillTestError("\(key.path) cannot be written") }
        return key
    }

    /// The options of `serve`.
    fileprivate var arguments: [String] {
        place + ["--storefront-url", storefrontURL, "--ocsp-url", ocspURL, "--connections", "8", "--no-rate-limits"]
            + ["--behind-proxy", "--drain-delay", "0"] + (needsStandby ? ["--require-standby"] : [])
    }

    /// The options of `serve` and of `store backup`.
    fileprivate var place: [String] { ["--store-key", key.path] + (blobs.map { ["--blobs", $0] } ?? []) }

    fileprivate var environment: [String: String] {
        blobs == nil ? [:] : ["AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"]
    }
}

/// Where a store is, as its server and the commands beside it are told.
struct StoreLocation: Sendable {
    var programs: Programs
    var data: URL
    var databaseURL: String?
    var schemaPrefix: String
    var shared: SharedStore?
    /// What commands write to standard error is appended to it.
    var log: URL

    fileprivate var environment: [String: String] {
        var environment = Programs.environment
        environment["CORNERSTORE_DATABASE"] = databaseURL
        environment["CORNERSTORE_SCHEMA_PREFIX"] = schemaPrefix
        return environment.merging(shared?.environment ?? [:]) { $1 }
    }

    /// Accepts a loss that a process has recorded.
    /// - Returns: the exit code, and what the command printed.
    func acceptLoss() async throws -> (status: Int32, output: String) {
        try await programs.run(["store", "accept-loss"], environment, log: log)
    }

    /// Runs `cornerstore store` to its end.
    /// - Parameter point: where it kills itself; nil for nowhere.
    /// - Returns: the exit code, -1 when it was killed, and what it printed.
    func command(_ arguments: [String], dyingAt point: KillPoint? = nil) async throws -> (
        status: Int32, output: String
    ) {
        var environment = environment
        environment["KILL_TEST_AT"] = point?.text
        return try await programs.run(
            ["store"] + arguments + ["--data", data.path] + (shared?.place ?? []), environment, log: log,
            program: point == nil ? nil : programs.merchant)
    }
}

/// `cornerstore serve` as a process that is killed and started again on the same files, database and ports.
actor StoreProcess {
    nonisolated let folder: URL
    nonisolated let data: URL
    /// Where it is.
    nonisolated let location: StoreLocation
    private let node: Int?
    private let reserved: [ReservedPort]
    /// Of control, sandbox, production and storefront.
    var ports: [Int] { reserved.map(\.number) }
    /// The SHA-256 of each hosted product's file.
    private(set) var contents: [String: String] = [:]
    private let server = ServerProcess()
    /// Asks control ports. A refused connection is an error at once: the shared client would try again until the store
    /// is back, and a run that waits for the answer to a killed store starts it again only then.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    static let bundleID = "com.example.kills"
    static let consumables = ["coins", "gems"]
    static let nonConsumables = ["hat", "scarf", "wand", "lamp"]
    /// Subscriptions of a month, each in a group of its own.
    static let subscriptions = (1...8).map { "club\($0)" }
    /// The lower plan of a subscription's group.
    static func lowerPlan(of product: String) -> String { "\(product).basic" }
    /// Subscriptions of a month in one group, the higher plan last.
    static let plans = ["plan.basic", "plan.plus"]
    /// Those of the non-consumables that have hosted content, and how many bytes it is.
    static let hosted = ["wand": 2_000_000, "lamp": 1_200_000]

    /// Makes its files in `folder` and starts it.
    ///
    /// - Parameters:
    ///   - shared: for one of several processes of a store; nil for the only one.
    ///   - node: its number among the processes of a store; nil for a free one.
    ///   - hasAuthority: whether the tests' authority is in its data directory. Without it, a process takes the
    ///     authority of the database, or makes one.
    ///   - isRestored: whether its data is there already.
    ///   - hostsContent: whether it uploads content first; nil for one that does not share its store.
    /// - Throws: ``KillTestError`` with the end of the store's log when it does not start.
    init(
        _ programs: Programs, folder: URL, databaseURL: String?, schemaPrefix: String, shared: SharedStore? = nil,
        node: Int? = nil, hasAuthority: Bool = true, isRestored: Bool = false, hostsContent: Bool? = nil
    ) async throws {
        self.folder = folder
        self.node = node
        reserved = try (0..<4).map { _ in try ReservedPort() }
        data = folder.appendingPathComponent("data")
        location = StoreLocation(
            programs: programs, data: data, databaseURL: databaseURL, schemaPrefix: schemaPrefix, shared: shared,
            log: folder.appendingPathComponent("commands.log"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(Self.catalog.utf8).write(to: folder.appendingPathComponent("catalog.yaml"))
        if hasAuthority, !isRestored {
            try await SharedAuthority.copy(to: data.appendingPathComponent("authority"))
        }
        try await start()
        guard hostsContent ?? (shared == nil), !isRestored else { return }
        for (product, size) in Self.hosted.sorted(by: { $0.key < $1.key }) { try await host(product, size) }
    }

    /// Runs a store on files and a database of its own for as long as `body` runs.
    ///
    /// - Parameter seed: the seed of the random choices, which an error names; nil when there are none.
    /// - Throws: ``KillTestError`` with the error of `body` and the end of the store's log.
    static func with<T>(
        _ backend: Backend, _ programs: Programs, seed: UInt64? = nil, _ body: (StoreProcess) async throws -> T
    ) async throws -> T {
        try await TemporaryDirectory.with { directory in
            try await backend.withServerDatabase { url, prefix in
                let store = try await StoreProcess(
                    programs, folder: directory.url, databaseURL: url, schemaPrefix: prefix)
                do {
                    let result = try await body(store)
                    await store.stop()
                    return result
                } catch {
                    let log = store.logEnd
                    await store.stop()
                    throw KillTestError("\(seed.map { "seed \($0), " } ?? "")\(backend): \(error)\n\(log)")
                }
            }
        }
    }

    private static var catalog: String {
        let products =
            consumables.map { ($0, "Consumable") } + nonConsumables.map { ($0, "NonConsumable") }
        return """
            cornerstore-catalog: 1
            apps:
              - bundleID: \(bundleID)
                name: Kills
                products:

            """
                + products.map { "      - { productID: \($0), type: \($1), displayPrice: 0.99 }\n" }.joined()
                + "    subscriptionGroups:\n"
                + subscriptions.enumerated().map { number, product in
                    """
                          - id: "\(21_000_001 + number)"
                            name: \(product)
                            subscriptions:
                              - { productID: \(product), displayPrice: 0.99, recurringSubscriptionPeriod: P1M, groupNumber: 1 }
                              - { productID: \(lowerPlan(of: product)), displayPrice: 0.49, recurringSubscriptionPeriod: P1M, groupNumber: 2 }

                    """
                }.joined() + planGroup
    }

    private static var planGroup: String {
        let products = plans.enumerated().map { number, product in
            let level = plans.count - number
            return "          - { productID: \(product), displayPrice: \(number + 1).99, "
                + "recurringSubscriptionPeriod: P1M, groupNumber: \(level) }\n"
        }
        return "      - id: \"21000100\"\n        name: plans\n        subscriptions:\n" + products.joined()
    }

    /// Where devices reach the sandbox.
    var sandbox: String { "http://127.0.0.1:\(ports[1])" }
    /// Where devices reach production.
    var production: String { "http://127.0.0.1:\(ports[2])" }
    /// The base URL of the control port.
    var controlPort: String { "http://127.0.0.1:\(ports[0])" }
    private var control: String { "\(controlPort)/control/v1" }

    nonisolated var root: URL { data.appendingPathComponent("roots/receipt-root.der") }
    nonisolated var log: URL { folder.appendingPathComponent("store.log") }

    /// Starts it and returns when it answers.
    func start() async throws {
        let options: [String] = (location.shared?.arguments ?? []) + (node.map { ["--node", "\($0)"] } ?? [])
        try await server.start(
            .init(
                program: location.programs.store,
                arguments: [
                    "serve", folder.appendingPathComponent("catalog.yaml").path, "--data", data.path, "--json",
                    "--log-level", "error", "--control-port", "\(ports[0])", "--sandbox-port", "\(ports[1])",
                    "--production-port", "\(ports[2])", "--storefront-port", "\(ports[3])", "--no-merchant",
                    "--no-console", "--password-cost", "16",
                ] + options, environment: location.environment, log: log))
    }

    /// The last lines of its log.
    nonisolated var logEnd: String { ServerProcess.end(of: log) }

    /// SIGKILL; false when it was dead already, which nobody but this test may be the reason of.
    func kill() async -> Bool { await server.stop(SIGKILL) == .killed }

    /// Waits until it ends by itself; nil when it did not within `limit`.
    func ending(within limit: Duration) async -> Child.Ending? { await server.ending(within: limit) }

    /// Makes it stand still, or go on.
    func setStill(_ isStill: Bool) async { await server.signal(isStill ? SIGSTOP : SIGCONT) }

    /// The gentle way, for the end.
    func stop() async { _ = await server.stop(SIGTERM) }

    // MARK: The control port

    /// A row of the ledger.
    struct Row: Decodable, Sendable {
        var transactionId: String
        var originalTransactionId: String
        var productId: String
        var kind: String
        var quantity: Int
        var finishedDate: String?
        var purchaseDate: String?
        var expiresDate: String?
    }

    /// - Parameter environment: `sandbox` or `production`.
    func createAccount(_ email: String, password: String, in environment: String = "sandbox") async throws {
        let body = try JSONEncoder().encode(["email": email, "password": password])
        _ = try await ask("POST", "\(environment)/accounts", body, status: 201)
    }

    /// Makes an account, signs in on a device of its own and buys all subscriptions.
    /// - Parameter environment: `sandbox` or `production`.
    func subscribe(_ email: String, password: String, in environment: String = "sandbox") async throws {
        try await createAccount(email, password: password, in: environment)
        let device = "\(environment == "production" ? production : sandbox)/device/v1"
        let session = try JSONEncoder().encode(
            ["email": email, "password": password, "deviceId": UUID().uuidString])
        let signedIn = try await HTTPReply("POST", "\(device)/session", body: Array(session))
        guard let token = signedIn.json["token"] as? String else {
            throw KillTestError("cannot sign in: \(signedIn.text)")
        }
        for product in Self.subscriptions {
            let purchase: [String: Any] = [
                "idempotencyKey": UUID().uuidString, "bundleId": Self.bundleID, "productId": product, "quantity": 1,
                "simulatesAskToBuy": false,
            ]
            let bought = try await HTTPReply(
                "POST", "\(device)/purchases", token: token,
                body: Array(try JSONSerialization.data(withJSONObject: purchase)))
            guard bought.json["state"] as? String == "purchased" else {
                throw KillTestError("cannot subscribe: \(bought.text)")
            }
        }
    }

    /// The transactions in a device's app receipt, as `verifyReceipt` answers.
    func verifiedTransactions(_ receipt: Data) async throws -> Set<String> {
        let secrets = try JSONDecoder().decode(
            [String: String].self, from: Data(contentsOf: data.appendingPathComponent("shared-secrets.json")))
        let body = try JSONEncoder().encode([
            "receipt-data": receipt.base64EncodedString(), "password": secrets[Self.bundleID] ?? "",
        ])
        let reply = try await HTTPReply("POST", "\(sandbox)/verifyReceipt", body: Array(body))
        guard reply.json["status"] as? Int == 0, let receipt = reply.json["receipt"] as? [String: Any],
            let bought = receipt["in_app"] as? [[String: Any]]
        else { throw KillTestError("the receipt was refused: \(reply.text.prefix(200))") }
        return Set(bought.compactMap { $0["transaction_id"] as? String })
    }

    /// Sets the clock of an environment. Returns false when the store was killed before it answered.
    /// - Parameter environment: `sandbox` or `production`.
    func setClock(_ date: String, in environment: String = "sandbox") async -> Bool {
        (try? await ask("PUT", "\(environment)/clock", Data("{\"set\":\"\(date)\"}".utf8), status: 200)) != nil
    }

    /// Turns hosting on and uploads content, which the sandbox gives at once.
    private func host(_ product: String, _ size: Int) async throws {
        let bytes = SampleContent.bytes(size)
        contents[product] = KillTestApp.sha256(bytes)
        let package = try SampleContent.package(product, "1.0", bytes)
        let hosting: [String: Any] = ["bundleId": Self.bundleID, "productId": product, "hosted": true]
        let upload: [String: Any] = [
            "bundleId": Self.bundleID, "productId": product, "length": package.count,
            "sha256": KillTestApp.sha256(package),
        ]
        _ = try await ask("PUT", "content/hosting", JSONSerialization.data(withJSONObject: hosting), status: 200)
        struct Begun: Decodable { var uploadId: String }
        let answer = try await ask(
            "POST", "content/uploads", JSONSerialization.data(withJSONObject: upload), status: 201)
        let path = "content/uploads/\(try JSONDecoder().decode(Begun.self, from: answer).uploadId)"
        _ = try await ask(
            "PATCH", "\(path)?offset=0", Data(package), status: 200, type: "application/octet-stream")
        _ = try await ask("POST", "\(path)/complete", Data("{}".utf8), status: 200)
    }

    /// The account's transactions, oldest first.
    /// - Parameter environment: `sandbox` or `production`.
    func ledger(of email: String, in environment: String = "sandbox") async throws -> [Row] {
        struct Page: Decodable {
            var rows: [Row]
            var next: String?
        }
        var rows: [Row] = []
        var before = ""
        while true {
            let answer = try await ask(
                "GET", "\(environment)/transactions?account=\(email)&limit=1000\(before)", nil, status: 200)
            let page = try JSONDecoder().decode(Page.self, from: answer)
            rows += page.rows
            guard let next = page.next else { return rows.reversed() }
            before = "&before=\(next)"
        }
    }

    /// Asks the control port.
    /// - Parameter path: what follows `/control/v1/`.
    /// - Throws: ``KillTestError`` with the status and the answer's text when the status is another one; the client's
    ///   errors when there is no answer, at once when the store is not running.
    func ask(
        _ method: String, _ path: String, _ body: Data?, status: UInt, type: String = "application/json"
    ) async throws -> Data {
        var request = HTTPClientRequest(url: "\(control)/\(path)")
        request.method = .init(rawValue: method)
        request.headers.add(name: "Content-Type", value: type)
        if let body { request.body = .bytes(body) }
        let response = try await Self.client.execute(request, timeout: .seconds(60))
        let answer = try await response.body.collect(upTo: 16 << 20)
        guard response.status.code == status else {
            throw KillTestError("\(method) \(path): \(response.status.code) \(String(buffer: answer).prefix(500))")
        }
        return Data(answer.readableBytesView)
    }
}

extension [StoreProcess] {
    /// The base URLs of their control ports.
    func controlPorts() async -> [String] {
        var addresses: [String] = []
        for store in self { addresses.append(await store.controlPort) }
        return addresses
    }

    /// The base URLs at which devices reach their sandboxes.
    func sandboxes() async -> [String] {
        var addresses: [String] = []
        for store in self { addresses.append(await store.sandbox) }
        return addresses
    }
}
