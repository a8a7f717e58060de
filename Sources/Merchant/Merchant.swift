import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import Synchronization

/// The merchant: what it sells, what was redeemed, the books, and who may use what. It knows nothing of HTTP, and of stores only what
/// they have signed or answered.
public final class Merchant: Sendable {
    /// The choices that this merchant was set up with.
    public let policy: MerchantPolicy
    /// Proves receipts, signed transactions and notifications.
    public let verifier: PurchaseVerifier
    /// Where the bytes of content items are kept.
    public let blobs: any BlobStore
    /// Rings for whoever delivers events.
    public let outboxSignal = OutboxSignal()
    /// Tells whoever listens of purchases whose kind is not what the list of products says.
    public let kindMismatches = KindMismatchReports()
    /// Is told of each step, for tests of crashes.
    package let onStep: (@Sendable (MerchantStep) -> Void)?

    let database: Database
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    let makeID: @Sendable () -> UUID
    let catalog = Mutex<LoadedCatalog?>(nil)
    /// Users whose tokens are known to be registered.
    let registered = Mutex<Set<UserID>>([])

    /// - Parameters:
    ///   - database: opened with ``MerchantSchema/migrations``.
    ///   - now: milliseconds since 1970.
    ///   - makeID: a new UUID for each call.
    public convenience init(
        database: Database, blobs: any BlobStore, verifier: PurchaseVerifier, policy: MerchantPolicy,
        now: @escaping @Sendable () -> Int64, makeID: @escaping @Sendable () -> UUID
    ) {
        self.init(
            database: database, blobs: blobs, verifier: verifier, policy: policy, now: now, makeID: makeID, onStep: nil)
    }

    /// As the public one, and tells of each step.
    package init(
        database: Database, blobs: any BlobStore, verifier: PurchaseVerifier, policy: MerchantPolicy,
        now: @escaping @Sendable () -> Int64, makeID: @escaping @Sendable () -> UUID,
        onStep: (@Sendable (MerchantStep) -> Void)?
    ) {
        self.database = database
        self.blobs = blobs
        self.verifier = verifier
        self.policy = policy
        self.now = now
        self.makeID = makeID
        self.onStep = onStep
    }

    /// Whether the database answers.
    /// - Throws: ``DatabaseError``.
    public func check() async throws { try await database.check() }

    /// Who is at the counter, with the token for the user's payments.
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

    /// All that a user was ever entitled to.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func entitlements(of user: UserID) async throws -> EntitlementList {
        try Self.checkName(user.rawValue)
        let now = self.now()
        return EntitlementList(entitlements: try await database.read { try Rights.all(of: user, at: now, $0) })
    }

    /// A user as the backend sees one.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func report(of user: UserID) async throws -> UserReport {
        try Self.checkName(user.rawValue)
        _ = try await allBalances(of: user)
        return try await readReport(of: user)
    }

    /// As ``report(of:)``, and changes nothing: for who looks beside the server, which alone knows whether the backend is to be told when
    /// credits are taken out whose time is over. They are not counted.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func readReport(of user: UserID) async throws -> UserReport {
        try Self.checkName(user.rawValue)
        let now = self.now()
        return try await database.read { connection in
            let balances = try Ledger.balances(of: user, at: now, connection).balances.map { balance in
                let ended = try Lots.ended(user, balance.account, at: now, connection).reduce(0) { $0 + $1.remaining }
                return Balance(
                    currency: balance.currency, amount: balance.amount - ended, environment: balance.environment)
            }.inOrder
            let flags = try connection.query(
                """
                SELECT code, detail, created_at FROM user_flags WHERE user_id = $1 ORDER BY created_at DESC, reference DESC LIMIT 1000
                """, [user.rawValue]
            ).reversed().map { UserFlag(code: try $0.string(0), detail: try $0.string(1), createdAt: try $0.int64(2)) }
            return UserReport(
                userID: user, balances: balances, entitlements: try Rights.all(of: user, at: now, connection),
                flags: flags)
        }
    }

    /// Gives each trusted store the anchor that its roots were first seen under, so that a purchase stays the same when a store's
    /// first root is replaced.
    /// - Parameter stores: the first of a store's roots that is known decides.
    /// - Throws: ``MerchantError`` `invalid_request` when two stores have a root in common; ``DatabaseError``.
    public static func settleAnchors(_ stores: [TrustedStore], in database: Database) async throws -> [TrustedStore] {
        try await database.write { connection in
            var settled: [TrustedStore] = []
            for var store in stores {
                let fingerprints = store.fingerprints
                var known: Set<String> = []
                for fingerprint in fingerprints {
                    let row = try connection.queryOne(
                        "SELECT anchor FROM trust_anchors WHERE fingerprint = $1", [fingerprint])
                    if let anchor = try row?.string(0) { known.insert(anchor) }
                }
                guard known.count <= 1 else {
                    throw MerchantError(
                        .invalidRequest, "The roots given for \(store.anchor) belong to several stores.")
                }
                if let anchor = known.first { store.anchor = anchor }
                for fingerprint in fingerprints {
                    try connection.execute(
                        """
                        INSERT INTO trust_anchors (fingerprint, anchor) VALUES ($1, $2) ON CONFLICT (fingerprint) DO NOTHING
                        """, [fingerprint, store.anchor])
                }
                settled.append(store)
            }
            return settled
        }
    }
}
