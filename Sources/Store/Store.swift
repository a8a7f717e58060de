import Database
import Foundation
import Logging
import StoreReceipts
import StoreWire
import Synchronization

/// One store, production or sandbox, with its accounts and its ledger. It is independent of HTTP.
public final class Store: Sendable {
    /// Production or sandbox.
    public let environment: StoreEnvironment
    /// The accounts of this store.
    public let accounts: Accounts
    /// The time of this store.
    public let clock: StoreClock
    /// The failures that the operator ordered.
    public let faults: Faults
    /// The apps with their numbers and shared secrets, shared by both stores.
    public let apps: AppRegistry
    /// The sandbox's payment processor, which holds the decline rules.
    public let payments: SandboxPaymentProcessor
    /// The current catalog, as this environment sells it.
    public let catalog: CurrentCatalog
    /// The hosted content, shared by both stores; nil when the store hosts none.
    public let content: ContentLibrary?
    /// Counts what changes, shared by both stores.
    public let changes: Changes

    let database: Database
    let processor: any PaymentProcessor
    /// Whether ``processor`` is ``payments``.
    let usesSandboxProcessor: Bool
    let ids: TransactionIDs
    let recorder: Recorder
    let issuer: ReceiptIssuer
    let verifier: ReceiptVerifier
    /// How this environment renews subscriptions.
    let policy: RenewalPolicy
    /// The rate limits of the App Store Server API.
    let rateLimits: APIRateLimits
    /// The keys of the App Store Server API, which also sign offers as JWS, shared by both stores; nil for none.
    let apiKeys: APIKeys?
    /// The versions of apps that customers have and that the database has already.
    let versions = RecentValues<CustomerKey, String>(capacity: 4_096)
    /// Transactions that the server API has signed, some 8 MB.
    let signatures = RecentValues<TransactionID, KeptSignature>(capacity: 1_024)
    let schedule = RenewalSchedule()
    /// The last refund that ``tellRefunds(mostFailures:)`` tried. The next call begins after it; nil begins with the
    /// oldest refund.
    let lastRefundTried = Mutex<TransactionID?>(nil)
    let keptAnswers = KeptAnswers()
    /// Tells the requests of running apps that wait for news of their accounts.
    public let accountNews = AccountNews()

    private init(
        environment: StoreEnvironment, database: Database, accounts: Accounts, clock: StoreClock, apps: AppRegistry,
        catalog: CurrentCatalog, content: ContentLibrary?, changes: Changes, payments: SandboxPaymentProcessor,
        processor: any PaymentProcessor, ids: TransactionIDs,
        issuer: ReceiptIssuer, verifier: ReceiptVerifier, policy: RenewalPolicy, rateLimits: APIRateLimits,
        faults: Faults, apiKeys: APIKeys?
    ) {
        self.environment = environment
        self.database = database
        self.accounts = accounts
        self.clock = clock
        self.apps = apps
        self.catalog = catalog
        self.content = content
        self.changes = changes
        self.payments = payments
        self.processor = processor
        usesSandboxProcessor = processor is SandboxPaymentProcessor
        self.ids = ids
        recorder = Recorder(ids: ids, catalog: catalog, environment: environment, policy: policy, apps: apps)
        self.issuer = issuer
        self.verifier = verifier
        self.policy = policy
        self.rateLimits = rateLimits
        self.faults = faults
        self.apiKeys = apiKeys
    }

    /// Records that a part of this store changed. Call it after the change is durable.
    func changed(_ subject: ChangeTopic.Subject) { changes.record(ChangeTopic(subject, environment)) }

    /// Opens one of the two stores.
    /// - Parameters:
    ///   - content: the hosted content; nil for none.
    ///   - signer: returns the signer of this environment's receipts, whose leaf certificate can be replaced.
    ///   - verifier: holds the root certificates that `verifyReceipt` accepts.
    ///   - node: this process's number in transaction ids, 0 to 63.
    ///   - realTime: the machine's clock.
    ///   - passwordCost: the scrypt cost of hashing a new password.
    ///   - processor: the payment processor; nil for the sandbox's own, which approves or declines by rule.
    ///   - changes: counts what changes in both stores.
    ///   - policy: how subscriptions renew; nil for the environment's usual way.
    ///   - apiKeys: the keys of the App Store Server API, which also sign offers as JWS; nil for none.
    ///   - isFresh: whether this process has heard of all accounts that other processes changed until a second ago.
    /// - Throws: ``DatabaseError``.
    public static func open(
        _ environment: StoreEnvironment, databases: StoreDatabases, apps: AppRegistry, catalog: CurrentCatalog,
        content: ContentLibrary?, signer: @escaping @Sendable () -> ReceiptSigner, verifier: ReceiptVerifier, node: Int,
        realTime: @escaping @Sendable () -> Date, passwordCost: PasswordCost = .standard,
        processor: (any PaymentProcessor)?, changes: Changes = Changes(), policy: RenewalPolicy? = nil,
        apiKeys: APIKeys? = nil, isFresh: @escaping @Sendable () -> Bool = { true }
    ) async throws -> Store {
        let database = environment == .sandbox ? databases.sandbox : databases.production
        let membership = databases.membership
        let (setting, highest) = try await database.read { connection in
            let highest = [
                try Transactions.highestID(connection), try RestoredTransactions.highestID(connection),
                try ItemPurchases.highestID(connection), try Attempts.highestID(connection),
                try SubscriptionFeed.highestNumber(connection), try Refunds.highestID(connection),
                try Notifications.highestNumber(connection), try RefundRequests.highestID(connection),
            ]
            return (try ClockSettings.load(connection), highest.compactMap { $0 }.max())
        }
        let clock = StoreClock(setting, realTime: realTime)
        let payments = try await SandboxPaymentProcessor.open(database) {
            changes.record(ChangeTopic(.faults, environment))
        }
        let rateLimits = try await APIRateLimits.open(database, isShared: membership != nil)
        let faults = try await Faults.open(
            database, now: { clock.milliseconds }, changed: { changes.record(ChangeTopic(.faults, environment)) })
        return Store(
            environment: environment, database: database,
            accounts: Accounts(
                database: database, cost: passwordCost,
                changed: { changes.record(ChangeTopic(.accounts, environment)) }, isFresh: isFresh,
                outlast: { try await membership?.outlastLeases() }),
            clock: clock, apps: apps,
            catalog: catalog, content: content, changes: changes, payments: payments, processor: processor ?? payments,
            ids: TransactionIDs(
                environment, node: node, highest: highest, realMilliseconds: { clock.realMilliseconds }),
            issuer: ReceiptIssuer(environment: environment, signer: signer), verifier: verifier,
            policy: policy ?? .usual(environment), rateLimits: rateLimits, faults: faults, apiKeys: apiKeys)
    }

    /// Changes the clock and saves its setting, so that a restart keeps it. Returns when everything that is due for
    /// subscriptions is done.
    /// - Throws: ``StoreError`` from `change`; ``DatabaseError`` when the setting cannot be saved. Either leaves the
    ///   clock unchanged. The errors of ``settleSubscriptions()``, which leave it changed; the rest is done later.
    public func changeClock(_ change: (StoreClock) throws -> Void) async throws {
        try await ClockSettings.change(clock, in: database, change)
        changed(.clock)
        try await settleSubscriptions()
    }

    /// Checks that the database answers.
    /// - Throws: ``DatabaseError`` when it does not.
    public func check() async throws { try await database.check() }
}

/// The catalog that requests use. Replacing it takes effect between two requests.
public final class CurrentCatalog: Sendable {
    private let catalog: Mutex<Catalog>
    private let listener = Mutex<(@Sendable (Catalog) -> Void)?>(nil)

    /// Holds a catalog.
    public init(_ catalog: Catalog) { self.catalog = Mutex(catalog) }

    /// The current catalog.
    public var value: Catalog { catalog.withLock { $0 } }

    /// Replaces the catalog and calls the listener.
    public func replace(with new: Catalog) {
        catalog.withLock { $0 = new }
        listener.withLock { $0 }?(new)
    }

    /// Sets the function that is called with each new catalog. It replaces an earlier listener and must not block.
    public func listen(_ listener: @escaping @Sendable (Catalog) -> Void) { self.listener.withLock { $0 = listener } }
}
