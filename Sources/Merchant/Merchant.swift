import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import Synchronization

/// The merchant's operations: products, redemptions, the ledger, entitlements and content.
///
/// It does not use HTTP. It knows a store only by the evidence that the store has signed or by the store's answer about
/// a receipt.
public final class Merchant: Sendable {
    /// The choices that this merchant was set up with.
    public let policy: MerchantPolicy
    /// Proves receipts, signed transactions and notifications.
    public let verifier: PurchaseVerifier
    /// The storage of the content items' files.
    public let blobs: any BlobStore
    /// Signals that this process has written events into the outbox.
    public let outboxSignal = OutboxSignal()
    /// Reports purchases whose kind differs from the kind on the product list.
    public let kindMismatches = KindMismatchReports()
    /// The client of the stores' API; nil for none.
    let storeAPI: (any StoreAPI)?
    /// Called at each step, for tests that kill the process.
    package let onStep: (@Sendable (MerchantStep) -> Void)?

    let database: Database
    /// The machine's time in milliseconds since 1970.
    let now: @Sendable () -> Int64
    /// The time of an environment's store in milliseconds since 1970; nil when it is the machine's.
    let storeClock: (@Sendable (StoreEnvironment) -> Int64)?
    let makeID: @Sendable () -> UUID
    let catalog = Mutex<LoadedCatalog?>(nil)
    /// Users whose account tokens this process has registered.
    let registered = Mutex<Set<UserID>>([])

    /// Creates a merchant.
    /// - Parameters:
    ///   - database: a database that was opened with ``MerchantSchema/migrations``.
    ///   - now: returns the machine's time in milliseconds since 1970.
    ///   - storeClock: returns the time of an environment's store in milliseconds since 1970. It decides what is
    ///     active, expired or over. Nil for stores whose clock is the machine's.
    ///   - makeID: returns a new UUID for each call.
    ///   - storeAPI: the client of the stores' API; nil for none.
    public convenience init(
        database: Database, blobs: any BlobStore, verifier: PurchaseVerifier, policy: MerchantPolicy,
        now: @escaping @Sendable () -> Int64, storeClock: (@Sendable (StoreEnvironment) -> Int64)? = nil,
        makeID: @escaping @Sendable () -> UUID, storeAPI: (any StoreAPI)? = nil
    ) {
        self.init(
            database: database, blobs: blobs, verifier: verifier, policy: policy, now: now,
            storeClock: storeClock, makeID: makeID, storeAPI: storeAPI, onStep: nil)
    }

    /// Creates a merchant that calls `onStep` at each step.
    package init(
        database: Database, blobs: any BlobStore, verifier: PurchaseVerifier, policy: MerchantPolicy,
        now: @escaping @Sendable () -> Int64, storeClock: (@Sendable (StoreEnvironment) -> Int64)? = nil,
        makeID: @escaping @Sendable () -> UUID, storeAPI: (any StoreAPI)? = nil,
        onStep: (@Sendable (MerchantStep) -> Void)?
    ) {
        self.database = database
        self.blobs = blobs
        self.verifier = verifier
        self.policy = policy
        self.now = now
        self.storeClock = storeClock
        self.makeID = makeID
        self.storeAPI = storeAPI
        self.onStep = onStep
    }

    /// Checks that the database answers.
    /// - Throws: ``DatabaseError``.
    public func check() async throws { try await database.check() }

    /// Returns the user with the account token for the user's payments, and registers the token.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`; ``DatabaseError``.
    public func describe(_ user: UserID) async throws -> UserDescription {
        try Self.checkName(user.rawValue)
        if !registered.withLock({ $0.contains(user) }) {
            try await database.write { try AccountToken.register(user, $0) }
            registered.withLock { users in
                if users.count >= 100_000 { users.removeAll() }
                users.insert(user)
            }
        }
        return UserDescription(userID: user, accountToken: AccountToken.token(of: user))
    }

    /// Returns every entitlement that a user has or had.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func entitlements(of user: UserID) async throws -> EntitlementList {
        try Self.checkName(user.rawValue)
        let times = self.times
        return EntitlementList(entitlements: try await database.read { try Rights.all(of: user, at: times, $0) })
    }

    /// Returns a user's balances, entitlements and flags. Credits that have expired are removed from the ledger first.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func report(of user: UserID) async throws -> UserReport {
        try Self.checkName(user.rawValue)
        _ = try await allBalances(of: user)
        return try await readReport(of: user)
    }

    /// Returns the same as ``report(of:)`` without changing the ledger: expired credits stay there and are not counted.
    ///
    /// Use this from a process that runs beside the server. Only the server knows whether to send webhooks about
    /// expired credits.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func readReport(of user: UserID) async throws -> UserReport {
        try Self.checkName(user.rawValue)
        let times = self.times
        return try await database.read { connection in
            let balances = try Ledger.balances(of: user, at: times, connection).balances.map { balance in
                let ended = try Lots.ended(user, balance.account, at: times[balance.environment], connection)
                    .reduce(0) { $0 + $1.remaining }
                return Balance(
                    currency: balance.currency, amount: balance.amount - ended, environment: balance.environment)
            }.inOrder
            return UserReport(
                userID: user, balances: balances, entitlements: try Rights.all(of: user, at: times, connection),
                flags: try UserFlags.all(of: user, connection))
        }
    }
}
