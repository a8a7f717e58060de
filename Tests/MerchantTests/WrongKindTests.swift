import MerchantWire
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Merchant

/// A purchase is known by its product's kind: what the store says of that is held against the merchant's list.
@Suite(.timeLimit(.minutes(1))) struct WrongKindTests {
    private static let products: [(ProductID, ProductKind)] = [
        ("coins", .consumable), ("pro", .nonConsumable), ("season", .nonRenewingSubscription),
        ("monthly", .autoRenewableSubscription), ("paper", .freeSubscription),
    ]

    private static func put(_ shop: TestMerchant) async throws {
        for (product, kind) in products where ["season", "paper"].contains(product) {
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: product, kind: kind, grants: [.entitlement("reader")]))
        }
    }

    /// What a signed transaction states, and the products that may be so.
    static let stated: [(String?, Set<ProductID>)] = [
        ("Consumable", ["coins"]), ("Non-Consumable", ["pro", "season", "paper"]),
        ("Non-Renewing Subscription", ["pro", "season", "paper"]), ("Auto-Renewable Subscription", ["monthly"]),
        ("Something New", ["coins", "pro", "season", "monthly", "paper"]),
        (nil, ["coins", "pro", "season", "monthly", "paper"]),
    ]

    @Test(arguments: stated)
    func whatASignedTransactionStatesIsHeldAgainstTheList(_ type: String?, _ fitting: Set<ProductID>) async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            try await Self.put(shop)
            let told = Mutex<[KindMismatchReports.Report]>([])
            shop.merchant.kindMismatches.listen { report in told.withLock { $0.append(report) } }
            for (number, (product, kind)) in Self.products.enumerated() {
                var more: [String: Any] = [:]
                more["type"] = type
                if kind == .autoRenewableSubscription { more["expiresDate"] = shop.clock.milliseconds + 60_000 }
                var fields = shop.transaction(product.rawValue, "200000000000000\(number)", more)
                if type == nil { fields["type"] = nil }
                let signed = Evidence.signedTransaction(try shop.sign(fields))
                for _ in 0..<2 {
                    let code = try await shop.code { _ = try await shop.merchant.redeem(signed, for: "ann") }
                    #expect(code == (fitting.contains(product) ? nil : .wrongKind), "\(product)")
                }
            }
            // Once for each product.
            let wrong = Self.products.filter { !fitting.contains($0.0) }
            #expect(told.withLock { $0.map(\.productID) } == wrong.map(\.0))
            #expect(told.withLock { $0.map(\.listed) } == wrong.map(\.1))
            #expect(told.withLock { $0.allSatisfy { !$0.storeStatement.hasPrefix($0.listed.rawValue) } })
            #expect(try await shop.findings() == [])
        }
    }

    @Test func whatCannotBeOfTheStatedKindIsToldSo() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            try await Self.put(shop)
            let told = Mutex<[String]>([])
            shop.merchant.kindMismatches.listen { report in told.withLock { $0.append(report.storeStatement) } }
            let endless = shop.purchase("monthly", 1, stated: .autoRenewableSubscription)
            #expect(try await shop.code { _ = try await shop.redeem(endless, for: "ann") } == .wrongKind)
            #expect(
                told.withLock { $0 } == [
                    "autoRenewableSubscription, with dates or identifiers that contradict it"
                ])
        }
    }

    /// A product, the number in an app receipt, and whether it is taken.
    static let numbers: [(ProductID, Int64?, Bool)] = [
        ("coins", nil, true), ("coins", 1, true), ("coins", 3, false), ("coins", 2, false), ("coins", 0, true),
        ("coins", 9, true), ("pro", nil, true), ("pro", 0, true), ("pro", 1, false), ("pro", 2, true),
        ("pro", 3, false),
    ]

    @Test(arguments: numbers)
    func theNumberInAReceiptIsHeldAgainstTheList(_ product: ProductID, _ number: Int64?, _ isTaken: Bool) async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            var purchase = shop.inApp(product.rawValue, "2000000000000001")
            purchase.productType = number
            let receipt = Evidence.receipt(try shop.receipt([purchase]))
            let code = try await shop.code { _ = try await shop.merchant.redeem(receipt, for: "ann") }
            #expect(code == (isTaken ? nil : .wrongKind))
        }
    }

    @Test(arguments: Backend.available)
    func withoutAStatementDatesAndIdsSpeak(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            try await Self.put(shop)
            let table: [(VerifiedPurchase, Bool)] = [
                // Restored: what the list calls a consumable would be redeemed again with each restore.
                (shop.purchase("coins", 2, original: 1), false),
                (shop.purchase("coins", 3, expiresIn: 60_000), false), (shop.purchase("coins", 4), true),
                (shop.purchase("pro", 6, original: 5), true), (shop.purchase("pro", 7, expiresIn: 60_000), false),
                (shop.purchase("monthly", 8), false), (shop.purchase("monthly", 9, expiresIn: 60_000), true),
                (shop.purchase("season", 10, expiresIn: 60_000), true),
                (shop.purchase("paper", 12, original: 11, expiresIn: 60_000), true),
            ]
            for (purchase, isTaken) in table {
                let code = try await shop.code { _ = try await shop.redeem(purchase, for: "ann") }
                #expect(code == (isTaken ? nil : .wrongKind), "\(purchase.transactionID)")
            }
            // One that is wrong does not keep the others of a receipt from being redeemed.
            let answer = try await shop.redeem(table[0].0, shop.purchase("coins", 20), for: "bob")
            #expect(answer.redeemed.map(\.transactionID) == ["20"] && answer.refused.map(\.code) == [.wrongKind])
            // What was redeemed before the store stated anything is answered as it was.
            let stated = shop.purchase("coins", 4, stated: .nonConsumable)
            #expect(try await shop.redeem(stated, for: "ann").redeemed.count == 1)
            #expect(try await shop.code { _ = try await shop.redeem(stated, for: "bob") } == .wrongKind)
            #expect(try await shop.gems("ann") == 110)
            #expect(try await shop.findings() == [])
        }
    }
}
