import BlobStorage
import ControlWire
import Database
import Foundation
import Store
import StoreReceipts
import StoreServer
import StoreWire
import TestSupport
import Testing

/// A store server on sockets. It can be stopped and started again, on the same files and ports.
actor JourneyStore {
    static let bundleID: BundleID = "com.example.monkeys"
    /// Signs promotional offers: a P-256 key as PKCS#8 in Base64, made for these tests.
    static let offerKey =
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRQNghgxruwBLadAbPTJTTsEedvkxMxmMJKaKxHu0vlmhRANCAATp4Tqg93edk6nzRTV/hxIDwky3ASLcI9l4H/KXfkzvDWvM1DUWASP4TU5uv2GF74bWwwsJ6BimE33f3jtjW4RE"

    nonisolated let configuration: StoreServerConfiguration
    nonisolated let addresses: Addresses
    private var server: ServerTask<Addresses>?
    /// Of control, sandbox, production and storefront.
    private let ports: [ReservedPort]

    /// Runs a test with a fresh store.
    /// - Parameters:
    ///   - items: the part `items:` of the catalog.
    ///   - files: the files beside the catalog, by name.
    static func with(
        _ backend: Backend, bucket: S3Location? = nil, items: String = "", files: [String: Data] = [:],
        _ body: @Sendable (JourneyStore) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            for (name, bytes) in files { try bytes.write(to: directory.url.appendingPathComponent(name)) }
            try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
                let store = try await JourneyStore(directory.url, url, prefix, bucket, items)
                do {
                    try await body(store)
                } catch {
                    await store.stop()
                    throw error
                }
                await store.stop()
            }
        }
    }

    private init(
        _ folder: URL, _ databaseURL: String?, _ schemaPrefix: String, _ bucket: S3Location?, _ items: String
    ) async throws {
        let catalog = folder.appendingPathComponent("catalog.yaml")
        try Data((catalogText + items).utf8).write(to: catalog)
        let ports = try (0..<4).map { _ in try ReservedPort() }
        var configuration = StoreServerConfiguration(
            dataDirectory: folder.appendingPathComponent("data"),
            catalogFiles: [CatalogFile(path: catalog.path, bundleID: nil)],
            controlPort: ports[0].number, sandboxPort: ports[1].number, productionPort: ports[2].number,
            storefrontPort: ports[3].number,
            databaseURL: databaseURL, schemaPrefix: schemaPrefix,
            bucket: bucket)
        // The standard cost takes 0.3 s in a debug build, for every account and every sign-in.
        configuration.passwordCost = PasswordCost(rounds: 16)
        try await SharedAuthority.copy(to: configuration.dataDirectory.appendingPathComponent("authority"))
        if databaseURL == nil {
            try await Backend.writeFiles(StoreDatabases.migrations, in: configuration.dataDirectory)
        }
        let server = try await Self.launch(configuration)
        let addresses = server.address
        self.ports = ports
        self.configuration = configuration
        self.addresses = addresses
        self.server = server
    }

    private static func launch(_ configuration: StoreServerConfiguration) async throws -> ServerTask<Addresses> {
        let application = try await StoreApplication.open(configuration, now: { Date() }, logger: .silent)
        return try await ServerTask { try await application.run(gracefulShutdownSignals: [], onReady: $0) }
    }

    /// Starts it again after ``stop()``.
    func start() async throws {
        if server == nil { server = try await Self.launch(configuration) }
    }

    /// Ends it, in the middle of whatever it does, and returns when its files are closed.
    func stop() async {
        guard let server else { return }
        self.server = nil
        await server.stop()
    }

    // MARK: Its files

    nonisolated var receiptRoot: URL { configuration.dataDirectory.appendingPathComponent("roots/receipt-root.der") }

    nonisolated func sharedSecret() throws -> String? {
        let file = configuration.dataDirectory.appendingPathComponent("shared-secrets.json")
        return try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))[Self.bundleID.rawValue]
    }

    /// What the sandbox's tables hold of one account, read past the server.
    nonisolated func ledger(of email: String) async throws -> Ledger {
        let location: DatabaseLocation =
            if let url = configuration.databaseURL {
                .postgresql(url: url, schema: "\(configuration.schemaPrefix)_sandbox", connections: 1)
            } else {
                .sqlite(path: configuration.dataDirectory.appendingPathComponent("databases/sandbox.sqlite").path)
            }
        let database = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
        let ledger = try await database.read { try Ledger(email, $0) }
        await database.close()
        return ledger
    }

    // MARK: Speaking to it

    nonisolated func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> HTTPReply {
        try await HTTPReply(
            method, "\(addresses.control)/control/v1/sandbox/\(path)", body: body.map { Array($0.utf8) })
    }

    /// Turns auto-renew off for all subscriptions of an account.
    nonisolated func cancelSubscriptions(of email: String) async throws {
        let found = try await control("GET", "subscriptions?account=\(email)")
        for subscription in try JSONDecoder().decode([ControlAPI.Subscription].self, from: Data(found.body)) {
            let reply = try await control(
                "PATCH", "subscriptions/\(subscription.originalTransactionId)", #"{"willRenew":false}"#)
            #expect(reply.status == 200)
        }
    }

    nonisolated func verify(
        _ receipt: Data, _ environment: StoreEnvironment = .sandbox, password: String? = nil
    ) async throws -> HTTPReply {
        let request = VerifyReceiptRequest(
            receiptData: [UInt8](receipt), password: password, excludeOldTransactions: false)
        return try await HTTPReply("POST", addresses.store(environment) + "/verifyReceipt", body: request.body)
    }
}

extension HTTPReply {
    /// The `status` of a `verifyReceipt` answer.
    var verification: Int? { json["status"] as? Int }
    /// The `receipt` of a `verifyReceipt` answer.
    var receipt: [String: Any] { json["receipt"] as? [String: Any] ?? [:] }
    /// The receipt's `in_app`.
    var inApp: [[String: Any]] { receipt["in_app"] as? [[String: Any]] ?? [] }
}

/// The rows of one account.
struct Ledger: Sendable, Equatable {
    struct Purchase: Sendable, Equatable {
        var key: String
        var product: String
        var quantity: Int
        var state: String
        var failure: String?
        var transactionID: Int64?
        /// In milliunits.
        var amount: Int64
        var payment: String?
    }

    struct Transaction: Sendable, Equatable {
        var id: Int64
        var originalID: Int64
        var product: String
        var quantity: Int
        var price: Int64
        var purchaseDate: Int64
        var expiresDate: Int64?
        var key: String?
        var isFinished: Bool
    }

    var purchases: [Purchase]
    var transactions: [Transaction]

    /// What money was taken for, free deliveries aside.
    var payments: [String] { purchases.compactMap(\.payment).filter { $0 != "free" } }

    init(_ email: String, _ connection: Connection) throws {
        purchases = try connection.query(
            """
            SELECT idempotency_key, product_id, quantity, state, failure_code, transaction_id, amount, payment_reference
            FROM purchases WHERE account_id = (SELECT account_id FROM accounts WHERE email = $1)
            ORDER BY created_at, COALESCE(transaction_id, 9007199254740992)
            """, [email]
        ).map {
            Purchase(
                key: try $0.string(0), product: try $0.string(1), quantity: try $0.int(2), state: try $0.string(3),
                failure: try $0.optionalString(4), transactionID: try $0.optionalInt64(5), amount: try $0.int64(6),
                payment: try $0.optionalString(7))
        }
        transactions = try connection.query(
            """
            SELECT transaction_id, original_transaction_id, product_id, quantity, price, purchase_date, expires_date,
                idempotency_key, finished_at
            FROM transactions WHERE account_id = (SELECT account_id FROM accounts WHERE email = $1)
            ORDER BY transaction_id
            """, [email]
        ).map {
            Transaction(
                id: try $0.int64(0), originalID: try $0.int64(1), product: try $0.string(2), quantity: try $0.int(3),
                price: try $0.int64(4), purchaseDate: try $0.int64(5), expiresDate: try $0.optionalInt64(6),
                key: try $0.optionalString(7), isFinished: try $0.optionalInt64(8) != nil)
        }
    }
}

private let catalogText = """
    cornerstore-catalog: 1
    apps:
      - bundleID: com.example.monkeys
        name: Monkeys
        products:
          - productID: credits5
            type: Consumable
            displayPrice: 0.99
            localizations: [{ locale: en_US, displayName: Five Credits, description: For monkeys }]
          - productID: hats
            type: NonConsumable
            displayPrice: 2.99
            familyShareable: true
          - productID: scarf
            type: NonConsumable
            displayPrice: 1.99
          - productID: season
            type: NonRenewingSubscription
            displayPrice: 4.99
          - productID: news
            type: FreeSubscription
        subscriptionGroups:
          - id: "21000001"
            name: Club
            subscriptions:
              - productID: club.monthly
                groupNumber: 1
                familyShareable: true
                recurringSubscriptionPeriod: P1M
                displayPrice: 5.99
                adHocOffers: [{ offerID: come-back, paymentMode: payUpFront, displayPrice: 7.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }]
                codeOffers: [{ referenceName: Spring, paymentMode: payUpFront, displayPrice: 9.99, subscriptionPeriod: P3M }]
        xcode:
          subscriptionOffersKeyPair: { id: OFFERKEY01, privateKey: \(JourneyStore.offerKey) }
    """
