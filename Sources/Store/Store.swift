import Database
import Foundation
import Logging
import StoreReceipts
import StoreWire
import Synchronization

/// One store, production or sandbox: its accounts, its ledger, and what it says of them. It knows nothing of HTTP.
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
    /// The sandbox's processor by its own type, for its rules.
    public let payments: SandboxPaymentProcessor
    /// What is on sale, shared by both stores.
    public let catalog: CurrentCatalog
    /// What is hosted, shared by both stores; nil for a store that hosts nothing.
    public let content: ContentLibrary?

    let database: Database
    let processor: any PaymentProcessor
    /// Whether ``processor`` is ``payments``.
    let usesSandboxProcessor: Bool
    let ids: TransactionIDs
    let issuer: ReceiptIssuer
    let verifier: ReceiptVerifier

    private init(
        environment: StoreEnvironment, database: Database, accounts: Accounts, clock: StoreClock, apps: AppRegistry,
        catalog: CurrentCatalog, content: ContentLibrary?, payments: SandboxPaymentProcessor,
        processor: any PaymentProcessor, ids: TransactionIDs,
        issuer: ReceiptIssuer, verifier: ReceiptVerifier
    ) {
        self.environment = environment
        self.database = database
        self.accounts = accounts
        self.clock = clock
        self.apps = apps
        self.catalog = catalog
        self.content = content
        self.payments = payments
        self.processor = processor
        usesSandboxProcessor = processor is SandboxPaymentProcessor
        self.ids = ids
        self.issuer = issuer
        self.verifier = verifier
        faults = Faults()
    }

    /// Opens one of the two stores.
    /// - Parameters:
    ///   - content: what is hosted; nil hosts nothing.
    ///   - signer: signs this environment's receipts.
    ///   - verifier: knows the roots whose receipts `verifyReceipt` answers about.
    ///   - node: this process's number in transaction ids, 0 to 63.
    ///   - realTime: the machine's clock.
    ///   - passwordCost: what hashing a new password costs.
    ///   - processor: nil for the sandbox's own, which approves or declines by rule.
    /// - Throws: ``DatabaseError``.
    public static func open(
        _ environment: StoreEnvironment, databases: StoreDatabases, apps: AppRegistry, catalog: CurrentCatalog,
        content: ContentLibrary?, signer: ReceiptSigner, verifier: ReceiptVerifier, node: Int,
        realTime: @escaping @Sendable () -> Date, passwordCost: PasswordCost = .standard,
        processor: (any PaymentProcessor)?
    ) async throws -> Store {
        let database = environment == .sandbox ? databases.sandbox : databases.production
        let (setting, highest) = try await database.read { connection in
            let highest = [try Transactions.highestID(connection), try RestoredTransactions.highestID(connection)]
            return (try ClockSettings.load(connection), highest.compactMap { $0 }.max())
        }
        let clock = StoreClock(setting, realTime: realTime)
        let payments = try await SandboxPaymentProcessor.open(database)
        return Store(
            environment: environment, database: database,
            accounts: Accounts(database: database, cost: passwordCost), clock: clock, apps: apps,
            catalog: catalog, content: content, payments: payments, processor: processor ?? payments,
            ids: TransactionIDs(
                environment, node: node, highest: highest, realMilliseconds: { clock.realMilliseconds }),
            issuer: ReceiptIssuer(environment: environment, signer: signer), verifier: verifier)
    }

    /// Sets the clock and keeps the setting, so that it holds after a restart.
    /// - Throws: ``StoreError`` from `change`; ``DatabaseError``, with the clock as it was before.
    public func changeClock(_ change: (StoreClock) throws -> Void) async throws {
        let before = clock.current
        do {
            try change(clock)
            let after = clock.current
            try await database.write { try ClockSettings.save(after, $0) }
        } catch {
            clock.restore(before)
            throw error
        }
    }

    /// Whether the database answers.
    /// - Throws: ``DatabaseError``.
    public func check() async throws { try await database.check() }
}

/// What is on sale now. A changed file takes the place of the old catalog between two requests.
public final class CurrentCatalog: Sendable {
    private let catalog: Mutex<Catalog>
    private let listener = Mutex<(@Sendable (Catalog) -> Void)?>(nil)

    /// Holds a catalog.
    public init(_ catalog: Catalog) { self.catalog = Mutex(catalog) }

    /// The catalog as it stands.
    public var value: Catalog { catalog.withLock { $0 } }

    /// Puts another in its place.
    public func replace(with new: Catalog) {
        catalog.withLock { $0 = new }
        listener.withLock { $0 }?(new)
    }

    /// Calls `listener` with each catalog that takes another's place from now on, instead of an earlier listener. It must not wait.
    public func listen(_ listener: @escaping @Sendable (Catalog) -> Void) { self.listener.withLock { $0 = listener } }
}
