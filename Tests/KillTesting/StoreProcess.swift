import AsyncHTTPClient
import Foundation
import KillTestApp
import NIOCore
import Synchronization
import TestSupport

/// `cornerstore serve` as a process that is killed and started again on the same files, database and ports.
actor StoreProcess {
    nonisolated let folder: URL
    nonisolated let data: URL
    private let programs: Programs
    private let databaseURL: String?
    private let schemaPrefix: String
    private var ports: [Int] = []
    /// The SHA-256 of each hosted product's file.
    private(set) var contents: [String: String] = [:]
    private let server = ServerProcess()

    static let bundleID = "com.example.kills"
    static let consumables = ["coins", "gems"]
    static let nonConsumables = ["hat", "scarf", "wand", "lamp"]
    /// Subscriptions of a month, each in a group of its own.
    static let subscriptions = (1...8).map { "club\($0)" }
    /// Those of the non-consumables that have hosted content, and how many bytes it is.
    static let hosted = ["wand": 2_000_000, "lamp": 1_200_000]

    /// Makes its files in `folder` and starts it.
    ///
    /// - Throws: ``KillTestError`` with the end of the store's log when it does not start.
    init(_ programs: Programs, folder: URL, databaseURL: String?, schemaPrefix: String) async throws {
        self.programs = programs
        self.folder = folder
        self.databaseURL = databaseURL
        self.schemaPrefix = schemaPrefix
        data = folder.appendingPathComponent("data")
        try Data(Self.catalog.utf8).write(to: folder.appendingPathComponent("catalog.yaml"))
        try await SharedAuthority.copy(to: data.appendingPathComponent("authority"))
        for attempt in 1...5 {
            ports = try Ports.free(3)
            do {
                try await start()
                for (product, size) in Self.hosted.sorted(by: { $0.key < $1.key }) { try await host(product, size) }
                return
            } catch  where attempt < 5 {
                continue
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

                    """
                }.joined()
    }

    /// Where devices reach the sandbox.
    var sandbox: String { "http://127.0.0.1:\(ports[1])" }
    private var control: String { "http://127.0.0.1:\(ports[0])/control/v1" }

    nonisolated var root: URL { data.appendingPathComponent("roots/receipt-root.der") }
    nonisolated var log: URL { folder.appendingPathComponent("store.log") }

    /// Starts it and returns when it answers.
    func start() async throws {
        var environment = Programs.environment
        environment["CORNERSTORE_DATABASE"] = databaseURL
        environment["CORNERSTORE_SCHEMA_PREFIX"] = schemaPrefix
        try await server.start(
            .init(
                program: programs.store,
                arguments: [
                    "serve", folder.appendingPathComponent("catalog.yaml").path, "--data", data.path, "--json",
                    "--log-level", "error", "--control-port", "\(ports[0])", "--sandbox-port", "\(ports[1])",
                    "--production-port", "\(ports[2])", "--storefront-port", "0", "--no-merchant", "--no-console",
                ], environment: environment, log: log))
    }

    /// The last lines of its log.
    nonisolated var logEnd: String { ServerProcess.end(of: log) }

    /// SIGKILL; false when it was dead already, which nobody but this test may be the reason of.
    func kill() async -> Bool { await server.stop(SIGKILL) == .killed }

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

    func createAccount(_ email: String, password: String) async throws {
        let body = try JSONEncoder().encode(["email": email, "password": password])
        _ = try await ask("POST", "sandbox/accounts", body, status: 201)
    }

    /// Makes an account, signs in on a device of its own and buys all subscriptions.
    func subscribe(_ email: String, password: String) async throws {
        try await createAccount(email, password: password)
        let device = "\(sandbox)/device/v1"
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

    /// Sets the sandbox's clock. Returns false when the store was killed before it answered.
    func setClock(_ date: String) async -> Bool {
        (try? await ask("PUT", "sandbox/clock", Data("{\"set\":\"\(date)\"}".utf8), status: 200)) != nil
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
    func ledger(of email: String) async throws -> [Row] {
        struct Page: Decodable {
            var rows: [Row]
            var next: String?
        }
        var rows: [Row] = []
        var before = ""
        while true {
            let answer = try await ask(
                "GET", "sandbox/transactions?account=\(email)&limit=1000\(before)", nil, status: 200)
            let page = try JSONDecoder().decode(Page.self, from: answer)
            rows += page.rows
            guard let next = page.next else { return rows.reversed() }
            before = "&before=\(next)"
        }
    }

    private func ask(
        _ method: String, _ path: String, _ body: Data?, status: UInt, type: String = "application/json"
    ) async throws -> Data {
        var request = HTTPClientRequest(url: "\(control)/\(path)")
        request.method = .init(rawValue: method)
        request.headers.add(name: "Content-Type", value: type)
        if let body { request.body = .bytes(body) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let answer = try await response.body.collect(upTo: 16 << 20)
        guard response.status.code == status else {
            throw KillTestError("\(method) \(path): \(response.status.code) \(String(buffer: answer).prefix(500))")
        }
        return Data(answer.readableBytesView)
    }
}
