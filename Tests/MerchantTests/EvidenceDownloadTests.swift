import BlobStorage
import Crypto
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Content against evidence of a purchase that nobody has redeemed.
@Suite(.timeLimit(.minutes(1))) struct EvidenceDownloadTests {
    private static func with(
        _ backend: Backend, _ policy: MerchantPolicy, _ body: (TestMerchant) async throws -> Void
    ) async throws {
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            try await TemporaryDirectory.with { directory async throws in
                let file = directory.url.appendingPathComponent("file")
                try Data("text".utf8).write(to: file)
                _ = try await shop.merchant.addContent(
                    "issue-12", file: file, digest: BlobDigest(SHA256.hash(data: Array("text".utf8))), size: 4,
                    mediaType: "text/plain")
                try await body(shop)
            }
        }
    }

    private static func policy(_ conflict: ConflictPolicy, downloads: Int = 3) -> MerchantPolicy {
        MerchantPolicy(
            conflict: conflict, environments: [.production, .sandbox], downloadsBeforeRedemption: downloads)
    }

    private static func signed(_ shop: TestMerchant, _ more: [String: Any] = [:]) throws -> Evidence {
        let transaction = shop.transaction(
            "issue", "2000000000000007", ["type": "Non-Consumable"].merging(more) { $1 })
        return .signedTransaction(try shop.sign(transaction))
    }

    private static func download(_ shop: TestMerchant, _ user: UserID, _ evidence: Evidence) async throws
        -> MerchantErrorCode?
    {
        try await shop.code { _ = try await shop.merchant.content("issue-12", for: user, against: evidence) }
    }

    private static func redeem(_ shop: TestMerchant, _ user: UserID, _ evidence: Evidence) async throws
        -> MerchantErrorCode?
    {
        try await shop.code { _ = try await shop.merchant.redeem(evidence, for: user) }
    }

    @Test(arguments: Backend.available, [true, false])
    func thePurchaseIsItsFirstUsers(_ backend: Backend, isReceipt: Bool) async throws {
        try await Self.with(backend, Self.policy(.refuse)) { shop async throws in
            // The same purchase, whichever kind of evidence shows it.
            let receipt = Evidence.receipt(try shop.receipt([shop.inApp("issue", "2000000000000007")]))
            let evidence = isReceipt ? receipt : try Self.signed(shop)
            #expect(try await Self.download(shop, "ann", evidence) == nil)
            for number in 0..<5 {
                #expect(try await Self.download(shop, UserID("friend\(number)"), evidence) == .alreadyRedeemed)
            }
            #expect(try await Self.download(shop, "bob", try Self.signed(shop)) == .alreadyRedeemed)
            #expect(try await Self.redeem(shop, "bob", evidence) == .alreadyRedeemed)
            #expect(try await Self.download(shop, "ann", receipt) == nil)
            #expect(try await Self.download(shop, "ann", try Self.signed(shop)) == nil)
            // As often as the policy says, of which every kind of evidence counts.
            #expect(try await Self.download(shop, "ann", evidence) == .downloadLimit)
            #expect(try await Self.redeem(shop, "ann", evidence) == nil)
            for _ in 0..<5 { #expect(try await Self.download(shop, "ann", evidence) == nil) }
            #expect(try await Self.download(shop, "bob", evidence) == .alreadyRedeemed)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func oneOfTwoConcurrentRedemptionsIsTheFirst(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.refuse, downloads: 5)) { shop async throws in
            let evidence = try Self.signed(shop)
            let codes = try await withThrowingTaskGroup(of: (Int, MerchantErrorCode?).self) { group in
                for number in 0..<12 {
                    group.addTask { (number % 3, try await Self.download(shop, UserID("user\(number % 3)"), evidence)) }
                }
                return try await group.reduce(into: [(Int, MerchantErrorCode?)]()) { $0.append($1) }
            }
            let served = codes.filter { $0.1 == nil }
            #expect(Set(served.map(\.0)).count == 1 && served.count == 4)
            #expect(codes.allSatisfy { $0.1 == nil || $0.1 == .alreadyRedeemed })
        }
    }

    @Test(arguments: Backend.available) func aFamilyHasALimitedNumberOfMembers(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.family(members: 3))) { shop async throws in
            let evidence = try Self.signed(shop)
            for user in ["ann", "bob"] as [UserID] { #expect(try await Self.download(shop, user, evidence) == nil) }
            // Redeemed or downloaded, a place is one user's.
            #expect(try await Self.redeem(shop, "cid", evidence) == nil)
            #expect(try await Self.download(shop, "dan", evidence) == .alreadyRedeemed)
            #expect(try await Self.redeem(shop, "dan", evidence) == .alreadyRedeemed)
            #expect(try await Self.redeem(shop, "bob", evidence) == nil)
            #expect(try await Self.redeem(shop, "ann", evidence) == nil)
            #expect(try await shop.rights("ann") == ["issue-12": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aTransferIsARedemptions(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.transfer)) { shop async throws in
            let evidence = try Self.signed(shop)
            #expect(try await Self.download(shop, "ann", evidence) == nil)
            #expect(try await Self.download(shop, "bob", evidence) == .alreadyRedeemed)
            #expect(try await Self.redeem(shop, "bob", evidence) == nil)
            #expect(try await Self.download(shop, "ann", evidence) == .alreadyRedeemed)
            #expect(try await Self.download(shop, "bob", evidence) == nil)
        }
    }

    /// Whom the purchase names has it, whoever downloaded before the merchant knew the name.
    @Test(arguments: Backend.available) func theNamedOwnerIsNotRefused(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.refuse)) { shop async throws in
            let named = try Self.signed(shop, ["appAccountToken": AccountToken.token(of: "ann")])
            #expect(try await Self.download(shop, "bob", named) == nil)
            #expect(try await Self.download(shop, "ann", named) == nil)
            #expect(try await Self.redeem(shop, "ann", named) == nil)
            #expect(try await Self.download(shop, "bob", named) == .alreadyRedeemed)
        }
    }

    @Test(arguments: Backend.available)
    func `a period that was downloaded and then extended has one end in all answers`(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.refuse)) { shop async throws in
            let (start, end) = (shop.clock.milliseconds, shop.clock.milliseconds + 60_000)
            func period(_ end: Int64) -> [String: Any] {
                shop.transaction(
                    "magazine", "2000000000000001",
                    [
                        "webOrderLineItemId": "2000000000000001", "expiresDate": end, "purchaseDate": start,
                        "type": "Auto-Renewable Subscription",
                    ])
            }
            let evidence = Evidence.signedTransaction(try shop.sign(period(end)))
            #expect(try await Self.download(shop, "ann", evidence) == nil)
            shop.clock.milliseconds += 1_000
            let news = try shop.notification("RENEWAL_EXTENDED", period(end + 30_000), id: "n-1")
            #expect(try await shop.merchant.receive(signedPayload: news) == .applied)
            let first = try await shop.merchant.redeem(evidence, for: "ann")
            #expect(first.redeemed.map(\.expiresAt) == [end + 30_000])
            #expect(try await shop.merchant.redeem(evidence, for: "ann") == first)
            let records = try await shop.merchant.redemptions(of: "ann").redemptions
            #expect(records.map(\.expiresAt) == [end + 30_000])
        }
    }

    /// A refused redemption leaves nothing behind, and a refund reaches a purchase that was only downloaded.
    @Test(arguments: Backend.available) func aSubscriptionsPeriodIsBoundToo(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.refuse)) { shop async throws in
            let period = shop.transaction(
                "magazine", "2000000000000001",
                [
                    "webOrderLineItemId": "2000000000000001", "expiresDate": shop.clock.milliseconds + 60_000,
                    "type": "Auto-Renewable Subscription",
                ])
            let evidence = Evidence.signedTransaction(try shop.sign(period))
            #expect(try await Self.download(shop, "ann", evidence) == nil)
            #expect(try await Self.redeem(shop, "bob", evidence) == .alreadyRedeemed)
            #expect(try await Self.redeem(shop, "ann", evidence) == nil)
            #expect(try await shop.rights("ann") == ["issue-12": .active])
            #expect(try await shop.rights("bob") == [:])
            let issue = try Self.signed(shop)
            #expect(try await Self.download(shop, "cid", issue) == nil)
            shop.clock.milliseconds += 1_000
            let refunded = try Self.signed(
                shop, ["revocationDate": shop.clock.milliseconds, "signedDate": shop.clock.milliseconds])
            #expect(try await Self.redeem(shop, "cid", refunded) == .revoked)
            #expect(try await Self.download(shop, "cid", issue) == .revoked)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aMerchantMayWantTheRedemptionFirst(_ backend: Backend) async throws {
        try await Self.with(backend, Self.policy(.refuse, downloads: 0)) { shop async throws in
            let evidence = try Self.signed(shop)
            #expect(try await Self.download(shop, "ann", evidence) == .downloadLimit)
            #expect(try await Self.redeem(shop, "ann", evidence) == nil)
            #expect(try await Self.download(shop, "ann", evidence) == nil)
        }
    }
}
