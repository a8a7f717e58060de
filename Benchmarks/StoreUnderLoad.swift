import Foundation
import NIOCore
import StoreReceipts
import StoreWire

/// `cornerstore serve` with an existing ledger, and the requests to it.
struct StoreUnderLoad: Sendable {
    let ledger: Ledger
    let store: StoreProcess
    let authority: CertificateAuthority
    private let secret: String
    private let data: URL
    private let postgreSQL: (url: String, prefix: String)?
    private let options: [String]

    /// Writes the ledger into a new folder, or into new schemas of PostgreSQL, and starts the store with it.
    /// - Parameters:
    ///   - url: PostgreSQL's URL; nil for SQLite.
    ///   - options: further options of `serve`.
    ///   - processors: the cores that it runs on.
    static func start(
        _ ledger: Ledger, hasConsole: Bool = false, database url: String? = nil, options: [String] = [],
        on processors: Processors? = .forServers
    ) async throws -> StoreUnderLoad {
        let postgreSQL = url.map { (url: $0, prefix: "bench_\(UInt32.random(in: 0...UInt32.max))") }
        let data = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try await ledger.write(to: data, postgreSQL: postgreSQL)
            // A store that has sold is not started without its authority.
            _ = try await CertificateAuthority.open(
                directory: data.appending(path: "authority"), at: SampleReceipts.date)
            let store = try await StoreProcess.start(
                catalog: try catalog(), data: data, hasConsole: hasConsole, postgreSQL: postgreSQL, options: options,
                on: processors)
            let secrets = try JSONDecoder().decode(
                [String: String].self, from: Data(contentsOf: data.appending(path: "shared-secrets.json")))
            return StoreUnderLoad(
                ledger: ledger, store: store,
                authority: try await CertificateAuthority.open(
                    directory: data.appending(path: "authority"), at: SampleReceipts.date),
                secret: secrets[SampleReceipts.bundleID] ?? "", data: data, postgreSQL: postgreSQL, options: options)
        } catch {
            try? FileManager.default.removeItem(at: data)
            throw error
        }
    }

    /// Starts another process of the same store, with the same options and its own data directory.
    func joined(data: URL) async throws -> StoreProcess {
        try await StoreProcess.start(
            catalog: try Self.catalog(), data: data, postgreSQL: postgreSQL, options: options)
    }

    /// Stops the store and removes its folder.
    func stop() {
        store.child.stop()
        try? FileManager.default.removeItem(at: data)
    }

    /// The catalog of the benchmark, beside its source or the working directory.
    static func catalog() throws -> String {
        let places = [
            URL(fileURLWithPath: #filePath).deletingLastPathComponent(),
            URL(fileURLWithPath: FileManager.default.currentDirectoryPath).appending(path: "Benchmarks"),
        ]
        let files = places.map { $0.appending(path: "Bench.storekit").path }
        guard let file = files.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw BenchmarkError("Benchmarks/Bench.storekit does not exist; run this in the package's folder")
        }
        return file
    }

    /// `verifyReceipt` with ten finished non-consumables.
    func verifyReceipt() throws -> ServerUnderLoad {
        let bytes = try authority.receiptSigner(for: .sandbox).sign(SampleReceipts.tenPurchases()).bytes
        let request = LoadGenerator.post(StoreRoute.verifyReceipt.path, body: body(bytes))
        return ServerUnderLoad(
            name: "verifyReceipt, \(ledger.transactions) in ledger", child: store.child,
            port: try store.port("sandbox"),
            requests: { _, _ in request }, accepts: Self.isStatusZero)
    }

    /// `verifyReceipt` with a subscription, of another account each time, so that no answer can be kept.
    /// - Parameter accounts: how many of the accounts are asked for; nil for all.
    func verifySubscription(of accounts: Int? = nil) throws -> ServerUnderLoad {
        let signer = authority.receiptSigner(for: .sandbox)
        let step = ledger.accounts / (accounts ?? ledger.accounts)
        let requests = try stride(from: 0, to: ledger.accounts, by: step).map { account in
            let receipt = SampleReceipts.subscription(transactionID: ledger.subscriptionID(account))
            return LoadGenerator.post(StoreRoute.verifyReceipt.path, body: body(try signer.sign(receipt).bytes))
        }
        return ServerUnderLoad(
            name: "verifyReceipt, subscription", child: store.child, port: try store.port("sandbox"),
            requests: { client, sequence in requests[(sequence * 32 + client) % requests.count] },
            accepts: { Self.isStatusZero($0) && Self.contains($0, "latest_receipt") })
    }

    /// `verifyReceipt` with all months of each account's subscription, again and again.
    func verifySubscribers() throws -> ServerUnderLoad {
        let signer = authority.receiptSigner(for: .sandbox)
        let requests = try (0..<ledger.accounts).map { account in
            let receipt = SampleReceipts.subscription(
                months: (0..<ledger.months).map {
                    (ledger.subscriptionID(account, month: $0), ledger.purchaseDate(month: $0))
                })
            return LoadGenerator.post(StoreRoute.verifyReceipt.path, body: body(try signer.sign(receipt).bytes))
        }
        return ServerUnderLoad(
            name: "verifyReceipt, \(ledger.months) months", child: store.child, port: try store.port("sandbox"),
            requests: { client, sequence in requests[(sequence * 32 + client) % requests.count] },
            accepts: { $0.count > 1_000 * ledger.months })
    }

    /// Purchases of a consumable, each with its own key, by the accounts in turn.
    /// - Parameter accounts: how many of the accounts buy; nil for all.
    func purchases(by accounts: Int? = nil) throws -> ServerUnderLoad {
        let accounts = accounts ?? ledger.accounts
        return ServerUnderLoad(
            name: "purchase, \(ledger.transactions) in ledger", child: store.child, port: try store.port("sandbox"),
            requests: { client, sequence in
                // A step that is coprime to any number of accounts scatters them.
                let account = (client * 7919 + sequence * 104_729) % accounts
                return LoadGenerator.post(
                    StoreRoute.purchases.path, token: Ledger.token(account),
                    body: Self.purchaseBody(UUID(timeOrdered: Date(), chance: UUID())))
            },
            accepts: { Self.contains($0, "\"state\":\"purchased\"") })
    }

    static func purchaseBody(_ key: UUID) -> [UInt8] {
        Array(
            """
            {"idempotencyKey":"\(key.uuidString)","bundleId":"\(SampleReceipts.bundleID)","productId":"\(SampleReceipts.bundleID).credit",\
            "quantity":1,"simulatesAskToBuy":false}
            """.utf8)
    }

    private func body(_ receipt: [UInt8]) -> [UInt8] {
        VerifyReceiptRequest(receiptData: receipt, password: secret, excludeOldTransactions: false).body
    }

    private static func isStatusZero(_ body: ByteBufferView) -> Bool { contains(body, "\"status\":0") }

    static func contains(_ body: ByteBufferView, _ text: String) -> Bool {
        String(decoding: body, as: UTF8.self).contains(text)
    }
}

extension ServerUnderLoad {
    /// Sends requests to get the size of the request and the mean size of the answers, and starts a bare handler with
    /// these sizes.
    func bareEqual(samples: Int = 1, on processors: Processors? = .forServers) async throws -> ServerUnderLoad {
        let request = requests(0, 0)
        var bytes = 0
        for sample in 0..<samples {
            bytes += try await OneRequest.answerBytes(port: port, request: requests(0, sample))
        }
        let answer = bytes / samples
        let bare = try BareServer.start(answerBytes: answer, on: processors)
        let body = OneRequest.bodyBytes(of: request)
        return BareServer.underLoad(bare, name: "bare, \(body) B in, \(answer) B out", bodyBytes: body)
    }
}
