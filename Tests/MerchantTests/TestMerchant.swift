import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport

@testable import Merchant

/// A clock that stands where it is put: 2026-02-03T04:05:06Z to begin with.
final class TestClock: Sendable {
    static let start: Int64 = 1_770_091_506_000
    private let value = Mutex(TestClock.start)

    var milliseconds: Int64 {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}

/// The keys of a store, which take a second to make, once for all tests.
enum TestAuthority {
    private static let making = Task {
        try await TemporaryDirectory.with { directory async throws in
            try await CertificateAuthority.open(
                directory: directory.url.appendingPathComponent("authority"),
                at: Date(timeIntervalSince1970: Double(TestClock.start) / 1_000))
        }
    }

    static var value: CertificateAuthority { get async throws { try await making.value } }
}

/// A merchant over a database of its own that sells a little of everything, and a store that signs for it.
struct TestMerchant {
    static let bundleID: BundleID = "com.example.books"

    let merchant: Merchant
    let database: Database
    let clock: TestClock
    let authority: CertificateAuthority

    static let products = """
        app: com.example.books
        products:
          - {id: coins, kind: consumable, grants: [{credits: 100, currency: gems}]}
          - {id: passing, kind: consumable, grants: [{credits: 50, currency: gems, lifetime: 1000}]}
          - {id: pro, kind: nonConsumable, grants: [{entitlement: pro}]}
          - {id: issue, kind: nonConsumable, grants: [{content: issue-12}]}
          - {id: monthly, kind: autoRenewableSubscription, grants: [{entitlement: club}, {credits: 10, currency: gems}]}
          - {id: gold, kind: autoRenewableSubscription, grants: [{entitlement: gold}, {entitlement: club}]}
          - {id: magazine, kind: autoRenewableSubscription, grants: [{content: issue-12}]}
        """

    private static let productsFile: Result<ProductsFile, any Error> = Result {
        try ProductsFile(yaml: Array(products.utf8), file: "products.yaml")
    }

    /// Runs a test over a new merchant.
    static func with(
        _ backend: Backend, policy: MerchantPolicy = MerchantPolicy(environments: [.production, .sandbox]),
        way: VerificationWay = .local, appIDs: [BundleID: Int64] = [:], storeAPI: (any StoreAPI)? = nil,
        connections: Int = 4,
        _ body: (TestMerchant) async throws -> Void
    ) async throws {
        let authority = try await TestAuthority.value
        try await backend.withDatabase(migrations: MerchantSchema.migrations, connections: connections) { database, _ in
            try await TemporaryDirectory.with { directory in
                let clock = TestClock()
                let intermediates = StoreEnvironment.allCases.map { authority.receiptSigner(for: $0).certificates[1] }
                let store = TrustedStore(
                    anchor: "test", roots: [authority.receiptRoot, authority.jwsRoot], intermediates: intermediates)
                let merchant = Merchant(
                    database: database,
                    blobs: try DirectoryBlobStore(folder: directory.url.appendingPathComponent("blobs")),
                    verifier: try PurchaseVerifier(
                        stores: [store], bundleIDs: [bundleID], environments: policy.environments, way: way,
                        appIDs: appIDs),
                    policy: policy, now: { clock.milliseconds }, makeID: { UUID() }, storeAPI: storeAPI)
                try await merchant.importProducts(from: try productsFile.get())
                try await body(
                    TestMerchant(merchant: merchant, database: database, clock: clock, authority: authority))
            }
        }
    }

    // MARK: What the store signs

    /// A transaction as the store would prove it, without its signature.
    func purchase(
        _ product: ProductID, _ id: Int, original: Int? = nil, quantity: Int64 = 1, expiresIn: Int64? = nil,
        purchasedAt: Int64? = nil, period: Int? = nil, revoked: Bool = false, share: Int64? = nil,
        upgraded: Bool? = false,
        renewal: Bool? = nil, trial: Bool? = nil, shared: Bool? = nil, token: String? = nil, signedAt: Int64? = nil,
        environment: StoreEnvironment = .production, stated: ProductKind? = nil
    ) -> VerifiedPurchase {
        let now = clock.milliseconds
        return VerifiedPurchase(
            anchor: "test", environment: environment, bundleID: Self.bundleID, productID: product, statedKind: stated,
            transactionID: String(id), originalTransactionID: String(original ?? id), quantity: quantity,
            purchasedAt: purchasedAt ?? now, expiresAt: expiresIn.map { (purchasedAt ?? now) + $0 },
            webOrderLineItemID: (period ?? (expiresIn == nil ? nil : id)).map { String($0) },
            revokedAt: revoked ? now : nil, revokedShare: share, isUpgraded: upgraded, isRenewal: renewal,
            isTrial: trial, isShared: shared, accountToken: token, signedAt: signedAt ?? now)
    }

    func redeem(_ purchases: VerifiedPurchase..., for user: UserID) async throws -> RedemptionAnswer {
        try await merchant.redeem(
            VerifiedEvidence(
                environment: purchases.first?.environment ?? .production, bundleID: Self.bundleID,
                purchases: purchases), for: user)
    }

    /// Applies a notification about a transaction.
    @discardableResult
    func notify(
        _ type: String, _ subtype: String? = nil, _ purchase: VerifiedPurchase, id: String = UUID().uuidString,
        signedAt: Int64? = nil, graceUntil: Int64? = nil, willRenew: Bool? = nil, renewsAs: ProductID? = nil
    ) async throws -> NotificationOutcome {
        try await merchant.apply(
            VerifiedNotification(
                notificationID: id, type: type, subtype: subtype, signedAt: signedAt ?? clock.milliseconds,
                purchase: purchase,
                renewal: .init(willRenew: willRenew, renewsAs: renewsAs, graceUntil: graceUntil)))
    }

    @discardableResult
    func notify(
        _ type: String, _ purchase: VerifiedPurchase, id: String = UUID().uuidString, signedAt: Int64? = nil
    ) async throws -> NotificationOutcome {
        try await notify(type, nil, purchase, id: id, signedAt: signedAt)
    }

    /// The code of the refusal that an operation ends with; nil when it succeeds.
    func code(_ body: () async throws -> Void) async throws -> MerchantErrorCode? {
        do {
            try await body()
            return nil
        } catch let error as MerchantError {
            return error.code
        }
    }

    func gems(_ user: UserID, in environment: StoreEnvironment? = nil) async throws -> Int64 {
        try await merchant.balances(of: user, in: environment).amount(of: "gems")
    }

    func rights(_ user: UserID) async throws -> [String: Entitlement.State] {
        let list = try await merchant.entitlements(of: user).entitlements
        return Dictionary(
            list.map { ($0.entitlement?.rawValue ?? $0.content?.rawValue ?? "", $0.state) }, uniquingKeysWith: { $1 })
    }

    /// What is wrong with the books.
    func findings() async throws -> [String] { try await merchant.checkBooks(pageSize: 3).findings }
}
