import Database
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport

@testable import Store

/// A clock that stands where it is put: 2026-02-03T04:05:06.789Z to begin with.
final class TestClock: Sendable {
    static let start: Int64 = 1_770_091_506_789
    private let value = Mutex(TestClock.start)

    var milliseconds: Int64 {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }

    var now: @Sendable () -> Date { { Date(milliseconds: self.milliseconds) } }
}

/// The keys, which take a second to make, once for all tests.
enum TestAuthority {
    private static let making = Task {
        try await TemporaryDirectory.with { directory async throws in
            try await CertificateAuthority.open(
                directory: directory.url.appendingPathComponent("authority"), at: Date(milliseconds: TestClock.start))
        }
    }

    static var value: CertificateAuthority { get async throws { try await making.value } }
}

/// A processor that answers as the test says, remembers what it was asked, and keeps what is authorized as the protocol
/// wants it.
final class ScriptedProcessor: PaymentProcessor {
    struct Unreachable: Error {}

    private struct Book {
        var asked: [PaymentAuthorization] = []
        var held: [UUID: Int64] = [:]
        var voided: [UUID] = []
        var refunds: [PaymentRefund] = []
        var refundCalls = 0
        var refundsToFail = 0
    }

    private let book = Mutex(Book())
    private let answer: @Sendable (PaymentAuthorization) async throws -> PaymentDecision

    init(_ answer: @escaping @Sendable (PaymentAuthorization) async throws -> PaymentDecision) { self.answer = answer }

    convenience init() { self.init { .approved(reference: "R-\($0.idempotencyKey)") } }

    var authorizations: [PaymentAuthorization] { book.withLock { $0.asked } }
    /// The keys that were voided, each as often as it was.
    var voids: [UUID] { book.withLock { $0.voided } }
    /// What is authorized under each key, in milliunits.
    var held: [UUID: Int64] { book.withLock { $0.held } }
    /// How often it was told of a refund, also in vain.
    var refundCalls: Int { book.withLock { $0.refundCalls } }
    /// What was refunded, each refund once.
    var refunds: [PaymentRefund] { book.withLock { $0.refunds } }

    func authorize(_ payment: PaymentAuthorization) async throws -> PaymentDecision {
        let isVoid = book.withLock { book in
            book.asked.append(payment)
            return book.voided.contains(payment.idempotencyKey)
        }
        if isVoid { return .declined(message: "This key was voided.") }
        let decision = try await answer(payment)
        if case .approved = decision { book.withLock { $0.held[payment.idempotencyKey] = payment.amount.milliunits } }
        return decision
    }

    func void(_ idempotencyKey: UUID) async {
        book.withLock { book in
            book.held[idempotencyKey] = nil
            book.voided.append(idempotencyKey)
        }
    }

    /// Cannot be told of the next refunds.
    func failRefunds(_ count: Int) { book.withLock { $0.refundsToFail = count } }

    func refund(_ refund: PaymentRefund) async throws {
        try book.withLock { book in
            book.refundCalls += 1
            guard book.refundsToFail == 0 else {
                book.refundsToFail -= 1
                throw Unreachable()
            }
            if !book.refunds.contains(where: { $0.refundID == refund.refundID }) {
                book.refunds.append(refund)
            }
        }
    }
}

/// A store over a database of its own, with a small catalog and a clock that stands still.
struct TestStore {
    static let bundleID: BundleID = "com.example.monkeys"

    let store: Store
    let clock: TestClock
    let database: Database
    let databases: StoreDatabases

    /// The unchanged catalog, which most tests use, read once.
    private static let usualCatalog: Result<Catalog, any Error> = Result { try catalog() }

    /// - Parameter edit: changes the file's text.
    static func catalog(_ edit: (String) -> String = { $0 }) throws -> Catalog {
        try Catalog(apps: try CornerstoreCatalogFile.read(Array(edit(catalogText).utf8), file: "test.yaml").apps)
    }

    /// Opens a store over a database that has its tables; a second time is a restart.
    static func open(
        _ database: Database, apps: Database, environment: StoreEnvironment = .sandbox, clock: TestClock,
        processor: (any PaymentProcessor)? = nil, content: ContentLibrary? = nil, catalog given: CurrentCatalog? = nil,
        policy: RenewalPolicy? = nil
    ) async throws -> TestStore {
        let authority = try await TestAuthority.value
        let databases = StoreDatabases(apps: apps, sandbox: database, production: database)
        let registry = try await AppRegistry.open(databases)
        let catalog = try given ?? CurrentCatalog(usualCatalog.get())
        try await registry.register(catalog.value.apps.map(\.bundleID), at: clock.milliseconds)
        // An iOS 6 receipt carries its leaf alone.
        let intermediates = StoreEnvironment.allCases.map { authority.receiptSigner(for: $0).certificates[1] }
        let store = try await Store.open(
            environment, databases: databases, apps: registry, catalog: catalog,
            content: content, signer: { authority.receiptSigner(for: environment) },
            verifier: try ReceiptVerifier(roots: [authority.receiptRoot], intermediates: intermediates), node: 5,
            realTime: clock.now, passwordCost: PasswordCost(rounds: 16), processor: processor, policy: policy,
            apiKeys: try await APIKeys.open(databases))
        return TestStore(store: store, clock: clock, database: database, databases: databases)
    }

    var sharedSecret: String { store.apps[Self.bundleID]?.sharedSecret ?? "" }

    /// Makes an account; its password stays "banana".
    func account(
        _ email: String = "ape@example.com", id: String? = nil, storefront: String = "USA",
        paymentsAllowed: Bool = true, asksToBuy: Bool = false
    ) async throws -> Account {
        // scrypt takes 50 ms, which only the tests of accounts need to spend.
        let account = Account(
            accountID: AccountID(id ?? "a-\(email)"), email: email, storefront: storefront,
            paymentsAllowed: paymentsAllowed, asksToBuy: asksToBuy, isLocked: false,
            createdAt: store.clock.milliseconds)
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO accounts (account_id, email, password_salt, password_hash, password_rounds, storefront,
                    payments_allowed, asks_to_buy, failed_sign_ins, locked, created_at)
                VALUES ($1, $2, $3, $4, 2, $5, $6, $7, 0, $8, $9)
                """,
                [
                    account.accountID.rawValue, email, [UInt8](), [UInt8](), storefront, paymentsAllowed, asksToBuy,
                    false,
                    account.createdAt,
                ])
        }
        return account
    }

    func request(
        _ product: ProductID, key: UUID = UUID(), quantity: Int = 1, username: String? = nil, asksToBuy: Bool = false,
        agreedPrice: Money? = nil
    ) -> PurchaseRequest {
        PurchaseRequest(
            idempotencyKey: key, bundleID: Self.bundleID, productID: product, quantity: quantity,
            applicationUsername: username,
            simulatesAskToBuy: asksToBuy, agreedPrice: agreedPrice)
    }

    /// Buys, and gives the transaction.
    @discardableResult
    func buy(_ product: ProductID, by account: Account, quantity: Int = 1, username: String? = nil) async throws
        -> TransactionDescription
    {
        let response = try await store.purchase(request(product, quantity: quantity, username: username), by: account)
        guard response.state == .purchased, let transaction = response.transaction else {
            throw NotBought(response: response)
        }
        return transaction
    }

    /// Turns auto-renew off, so that what the account has ends with its period.
    func cancelSubscriptions(of account: Account) async throws {
        for subscription in try await store.subscriptions(of: account) where subscription.willRenew {
            _ = try await store.setAutoRenew(false, of: subscription.originalTransactionID)
        }
    }

    struct NotBought: Error { var response: PurchaseResponse }

    /// The whole ledger, oldest first.
    func ledger() async throws -> [Transaction] {
        try await store.ledger(LedgerQuery(limit: 1000)).rows.reversed().compactMap { row in
            if case .product(let transaction) = row { transaction } else { nil }
        }
    }

    func count(_ table: String) async throws -> Int {
        try await database.read { try $0.queryOne("SELECT count(*) FROM \(table)")?.int(0) ?? -1 }
    }

    /// What reversals of refunds charged an account again, in milliunits.
    func reversed(of account: Account) async throws -> Int64 {
        try await database.read { connection in
            try connection.queryOne(
                """
                SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM refunds JOIN transactions USING (transaction_id)
                WHERE account_id = $1 AND reversed_at IS NOT NULL
                """, [account.accountID.rawValue])?.int64(0) ?? 0
        }
    }

    static let device = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    static var receiptRequest: AppReceiptRequest {
        AppReceiptRequest(bundleID: bundleID, bundleVersion: "7", vendorIdentifier: device)
    }

    func appReceipt(_ account: Account) async throws -> [UInt8] {
        try await store.appReceipt(Self.receiptRequest, for: account)
    }
}

extension Backend {
    /// Runs a test with a store's empty database and the one of the apps.
    func withTestDatabases(
        extraMigrations: [Migration] = [], _ body: (_ store: Database, _ apps: Database) async throws -> Void
    ) async throws {
        try await Self.stores.with {
            try await withDatabase(migrations: AppSchema.migrations, connections: 1) { apps, _ async throws in
                let migrations = StoreSchema.migrations + extraMigrations
                try await withDatabase(migrations: migrations, connections: 6) { database, _ async throws in
                    try await body(database, apps)
                }
            }
        }
    }

    /// The places for tests with a store's databases.
    private static let stores = TestSlots(12)

    /// Runs a test with a store of its own.
    func withStore(
        _ environment: StoreEnvironment = .sandbox, processor: (any PaymentProcessor)? = nil,
        extraMigrations: [Migration] = [],
        _ body: (TestStore) async throws -> Void
    ) async throws {
        try await withTestDatabases(extraMigrations: extraMigrations) { database, apps async throws in
            try await body(
                try await TestStore.open(
                    database, apps: apps, environment: environment, clock: TestClock(), processor: processor))
        }
    }
}

/// Runs the body and gives the code of the ``StoreError`` that it threw; nil when it threw none.
func refusal(_ body: () async throws -> some Any) async throws -> WireError.Code? {
    do {
        _ = try await body()
        return nil
    } catch let error as StoreError {
        return error.code
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
            pricesByCurrency: { EUR: 1.19 }
            localizations: [{ locale: en_US, displayName: Five Credits, description: For monkeys }]
          - productID: hats
            type: NonConsumable
            displayPrice: 2.99
          - productID: domestic
            type: NonConsumable
            displayPrice: 1.99
            availability: { only: [USA] }
          - productID: dear
            type: Consumable
            displayPrice: 999999
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
                groupNumber: 2
                recurringSubscriptionPeriod: P1M
                displayPrice: 5.99
                introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P1W }]
              - productID: club.yearly
                groupNumber: 1
                recurringSubscriptionPeriod: P1Y
                displayPrice: 49.99
                introductoryOffers: [{ paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1M, numberOfPeriods: 3 }]
              - productID: club.weekly
                groupNumber: 3
                recurringSubscriptionPeriod: P1W
                displayPrice: 1.99
                introductoryOffers: [{ paymentMode: payUpFront, displayPrice: 1.49, subscriptionPeriod: P3D, numberOfPeriods: 2 }]
          - id: "21000002"
            name: Gym
            subscriptions:
              - productID: gym.monthly
                groupNumber: 1
                recurringSubscriptionPeriod: P1M
                displayPrice: 9.99
          - id: "21000003"
            name: Eternity
            subscriptions:
              - productID: eternal
                groupNumber: 1
                recurringSubscriptionPeriod: P1M
                displayPrice: 9.99
                introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P999Y, numberOfPeriods: 1000 }]
      - bundleID: com.example.other
        name: Other
        products:
          - productID: thing
            type: NonConsumable
            displayPrice: 1.99
    """
