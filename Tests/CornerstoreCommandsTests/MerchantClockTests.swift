import Foundation
import MerchantWire
import StoreServer
import StoreWire
import TestSupport
import Testing

@testable import CornerstoreCommands
@testable import Merchant

/// The merchant of `cornerstore serve`, with nothing configured: the store's notifications reach it, and its books
/// follow the stores' clocks.
@Suite(.timeLimit(.minutes(1))) struct MerchantClockTests {
    private static let products = """
        app: com.example.app
        products:
          - {id: coins, kind: consumable, grants: [{credits: 10, currency: coins}]}
          - {id: club.monthly, kind: autoRenewableSubscription, grants: [{entitlement: club}]}
        """

    private static func with(_ body: @Sendable (RunningStore, Merchant) async throws -> Void) async throws {
        try await RunningStore.with(yaml: RunningStore.club, merchant: MerchantSettings(port: 0)) { store in
            let merchant = try #require(store.application.merchant).merchant
            try await merchant.importProducts(from: try ProductsFile(yaml: Array(products.utf8), file: "products.yaml"))
            try await body(store, merchant)
        }
    }

    /// Buys a product in the sandbox, and redeems it for ann.
    /// - Returns: the transaction.
    private static func buy(
        _ product: ProductID, _ store: RunningStore, _ merchant: Merchant
    ) async throws -> String {
        let bought = try await store.buy(product)
        let id = try #require(bought.transaction?.transactionID.description)
        _ = try await merchant.redeem(transactionID: id, in: "com.example.app", for: "ann")
        return id
    }

    /// Waits until the merchant has received a notification of a type.
    private static func notification(_ type: String, _ merchant: Merchant) async throws -> StoreNotificationRecord {
        while true {
            let received = try await merchant.notifications().notifications
            if let found = received.first(where: { $0.type == type }) { return found }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Ann's right to the club in an environment.
    private static func club(_ merchant: Merchant, _ environment: StoreEnvironment) async throws -> Entitlement? {
        try await merchant.entitlements(of: "ann").entitlements.first { $0.environment == environment }
    }

    @Test func aSubscriptionRenewsAndExpiresInTheBooks() async throws {
        try await Self.with { store, merchant in
            _ = try await Self.buy("club.monthly", store, merchant)
            let first = try await Self.club(merchant, .sandbox)
            #expect(first?.state == .active)

            #expect(await store.run("clock advance 32d").status == 0)
            let renewal = try await Self.notification("DID_RENEW", merchant)
            #expect(renewal.outcome == .applied && renewal.environment == .sandbox)
            let second = try await Self.club(merchant, .sandbox)
            #expect(second?.state == .active && (second?.expiresAt ?? 0) > (first?.expiresAt ?? .max))

            // Production's time stands where it was.
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            let bought = VerifiedPurchase(
                anchor: "test", environment: .production, bundleID: "com.example.app", productID: "club.monthly",
                statedKind: .autoRenewableSubscription, transactionID: "1", originalTransactionID: "1", quantity: 1,
                purchasedAt: now, expiresAt: now + 2_592_000_000, webOrderLineItemID: "1", revokedAt: nil,
                revokedShare: nil, isUpgraded: false, accountToken: nil, signedAt: now)
            _ = try await merchant.redeem(
                VerifiedEvidence(environment: .production, bundleID: "com.example.app", purchases: [bought]),
                for: "ann")
            #expect(await store.run("subscriptions cancel").status == 0)
            #expect(await store.run("clock advance 40d").status == 0)
            // At once, whether or not the notification has arrived.
            #expect(try await Self.club(merchant, .sandbox)?.state == .expired)
            #expect(try await Self.club(merchant, .production)?.state == .active)
            let shown = await store.run("merchant user ann")
            #expect(shown.output.contains("expired") && shown.output.contains("active"), "\(shown)")
            #expect(try await Self.notification("EXPIRED", merchant).outcome == .applied)
            let last = try await Self.club(merchant, .sandbox)
            #expect(last?.state == .expired && last?.willRenew == false)

            #expect(await store.run("clock advance 40d --environment production").status == 0)
            #expect(try await Self.club(merchant, .production)?.state == .expired)
            #expect(try await merchant.checkBooks().findings == [])
        }
    }

    @Test func aMerchantIsNotAdjustedByAnotherClockThanItsStores() async throws {
        try await TemporaryDirectory.with { directory async throws in
            func run(_ line: String) async -> (status: Int32, output: String, errors: String) {
                await Capture.run(
                    line.split(separator: " ").map(String.init), environment: ["CORNERSTORE_DATA": directory.url.path])
            }
            // As if a store ran there that does not answer.
            let nobody = "http://127.0.0.1:1"
            let addresses = Addresses(
                control: nobody, sandbox: nobody, production: nobody, storefront: nobody, merchant: nobody)
            let file = directory.url.appendingPathComponent(Addresses.fileName)
            try JSONEncoder().encode(addresses).write(to: file)
            let made = await run("merchant products put coins --app com.a --kind consumable --credits 1:gold")
            #expect(made.status == 0 && made.errors.contains("The machine's clock is used instead"), "\(made)")
            let adjusted = await run("merchant adjust ann --give 7 --currency gold")
            #expect(adjusted.status == 1 && adjusted.errors.contains("Nothing was changed"), "\(adjusted)")
            let shown = await run("merchant user ann --json")
            #expect(shown.status == 0 && !shown.output.contains("gold") && shown.errors.contains("clock"), "\(shown)")
            // A store that has ended has removed its addresses.
            try FileManager.default.removeItem(at: file)
            let ended = await run("merchant adjust ann --give 7 --currency gold")
            #expect(ended.status == 0 && ended.output.hasPrefix("ann has 7 gold"), "\(ended)")
        }
    }

    @Test func aRefundReachesTheBooks() async throws {
        try await Self.with { store, merchant in
            // Purchases and refunds have dates that the machine has not reached.
            #expect(await store.run("clock advance 400d").status == 0)
            let id = try await Self.buy("coins", store, merchant)
            #expect(try await merchant.balances(of: "ann", in: .sandbox).amount(of: "coins") == 10)
            #expect(await store.run("transaction refund", id).status == 0)
            let refund = try await Self.notification("REFUND", merchant)
            #expect(refund.outcome == .applied && refund.transactionID == id)
            #expect(try await merchant.balances(of: "ann", in: .sandbox).amount(of: "coins") == 0)
            #expect(try await merchant.checkBooks().findings == [])
        }
    }
}
