import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct RedemptionTests {
    @Test(arguments: Backend.available) func aPurchaseIsGrantedOnceAndAnsweredTheSame(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1, quantity: 2)
            let first = try await shop.redeem(coins, for: "ann")
            #expect(first.redeemed.map(\.grants) == [[.credits("gems", amount: 200, lifetime: nil)]])
            shop.clock.milliseconds += 5_000
            #expect(try await shop.redeem(coins, for: "ann") == first)
            #expect(try await shop.gems("ann") == 200)
            #expect(try await shop.code { _ = try await shop.redeem(coins, for: "bob") } == .alreadyRedeemed)
            #expect(try await shop.gems("bob") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aWholeReceiptRedeemsAllItsTransactions(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let answer = try await shop.redeem(
                shop.purchase("coins", 1), shop.purchase("pro", 2), shop.purchase("unheard", 3),
                shop.purchase("coins", 4, revoked: true), shop.purchase("monthly", 5, expiresIn: 60_000),
                shop.purchase(
                    "monthly", 6, original: 5, expiresIn: 60_000, purchasedAt: shop.clock.milliseconds - 60_000),
                for: "ann")
            #expect(answer.redeemed.map(\.transactionID) == ["1", "2", "5"])
            #expect(
                answer.refused.map { [$0.transactionID, $0.code.rawValue] } == [
                    ["6", "expired"], ["3", "unknown_product"], ["4", "revoked"],
                ])
            #expect(answer.confirms(transactionID: "2") && !answer.confirms(transactionID: "3"))
            #expect(try await shop.gems("ann") == 110)
            #expect(try await shop.rights("ann") == ["pro": .active, "club": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aRestoredPurchaseIsTheSame(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("pro", 1), for: "ann")
            let again = try await shop.redeem(shop.purchase("pro", 9, original: 1), for: "ann")
            #expect(again.confirms(transactionID: "9"))
            #expect(
                try await shop.code { _ = try await shop.redeem(shop.purchase("pro", 10, original: 1), for: "bob") }
                    == .alreadyRedeemed)
            // The same number at another environment is another purchase.
            _ = try await shop.redeem(shop.purchase("pro", 1, environment: .sandbox), for: "bob")
            #expect(try await shop.merchant.entitlements(of: "ann").entitlements.count == 1)
        }
    }

    @Test(arguments: Backend.available) func eachPeriodOfASubscriptionGivesOnce(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let first = shop.purchase("monthly", 1, expiresIn: 60_000, period: 71)
            _ = try await shop.redeem(first, for: "ann")
            let restored = shop.purchase("monthly", 3, original: 1, expiresIn: 60_000, period: 71)
            _ = try await shop.redeem(restored, for: "ann")
            #expect(try await shop.gems("ann") == 10)
            shop.clock.milliseconds += 60_000
            #expect(try await shop.rights("ann") == ["club": .expired])
            _ = try await shop.redeem(
                shop.purchase("monthly", 2, original: 1, expiresIn: 60_000, period: 72), for: "ann")
            #expect(try await shop.gems("ann") == 20)
            #expect(try await shop.rights("ann") == ["club": .active])
            // The next period is its owner's too, whoever brings it.
            shop.clock.milliseconds += 60_000
            let third = shop.purchase("monthly", 4, original: 1, expiresIn: 60_000, period: 73)
            #expect(try await shop.code { _ = try await shop.redeem(third, for: "bob") } == .alreadyRedeemed)
            // What is over is still answered to who redeemed it.
            #expect(try await shop.redeem(first, for: "ann").confirms(transactionID: "1"))
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aPurchaseBelongsToTheUserOfItsAccountToken(_ backend: Backend) async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            let ann = try await shop.merchant.describe("ann")
            let coins = shop.purchase("coins", 1, token: ann.accountToken)
            let answer = try await shop.redeem(coins, for: "bob")
            #expect(answer.redeemed.map(\.wentToNamedOwner) == [true])
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.gems("bob") == 0)
            #expect(try await shop.redeem(coins, for: "ann").redeemed.map(\.wentToNamedOwner) == [false])
            // A token that nobody has names nobody.
            let stray = shop.purchase("coins", 2, token: "6f1b7f2e-9a71-4f0e-8d5c-111111111111")
            _ = try await shop.redeem(stray, for: "bob")
            #expect(try await shop.gems("bob") == 100)
        }
    }

    @Test(arguments: Backend.available) func aTransferMovesTheEntitlements(_ backend: Backend) async throws {
        let policy = MerchantPolicy(conflict: .transfer, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            _ = try await shop.redeem(shop.purchase("pro", 1), shop.purchase("coins", 2), for: "ann")
            let month = shop.purchase("monthly", 3, expiresIn: 60_000)
            _ = try await shop.redeem(month, for: "ann")
            _ = try await shop.redeem(shop.purchase("pro", 1), month, for: "bob")
            #expect(try await shop.rights("ann") == ["pro": .revoked, "club": .revoked])
            #expect(try await shop.rights("bob") == ["pro": .active, "club": .active])
            #expect(
                try await shop.code { _ = try await shop.redeem(shop.purchase("coins", 2), for: "bob") }
                    == .alreadyRedeemed)
            #expect(try await shop.gems("ann") == 110)
            #expect(try await shop.gems("bob") == 0)
            // And back.
            _ = try await shop.redeem(shop.purchase("pro", 1), for: "ann")
            #expect(try await shop.rights("ann")["pro"] == .active)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aFamilySharesEntitlementsAndNoCredits(_ backend: Backend) async throws {
        let policy = MerchantPolicy(conflict: .family(members: 3), environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let month = shop.purchase("monthly", 3, expiresIn: 60_000)
            for user in ["ann", "bob", "cid", "bob"] as [UserID] { _ = try await shop.redeem(month, for: user) }
            #expect(try await shop.code { _ = try await shop.redeem(month, for: "dan") } == .alreadyRedeemed)
            #expect(try await shop.rights("cid") == ["club": .active])
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.gems("bob") == 0)
            try await shop.notify("REFUND", month)
            #expect(try await shop.rights("ann") == ["club": .revoked])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aNewProductNeedsNoRestart(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            #expect(
                try await shop.code { _ = try await shop.redeem(shop.purchase("new", 1), for: "ann") }
                    == .unknownProduct)
            let before = try await shop.merchant.productList(of: TestMerchant.bundleID)
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "new", kind: .nonConsumable,
                    grants: [.entitlement("new")]))
            let after = try await shop.merchant.productList(of: TestMerchant.bundleID)
            #expect(after.revision > before.revision)
            #expect(after.products.map(\.productID).contains("new"))
            _ = try await shop.redeem(shop.purchase("new", 1), for: "ann")
        }
    }

    @Test(arguments: Backend.available) func aFileTakesOnlyItsOwnProductsOffSale(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            func onSale() async throws -> Set<ProductID> {
                Set(try await shop.merchant.productList(of: TestMerchant.bundleID).products.map(\.productID))
            }
            func load(_ text: String) async throws -> Bool {
                try await shop.merchant.importProducts(
                    from: try ProductsFile(yaml: Array(text.utf8), file: "products.yaml"))
            }
            let more = TestMerchant.products + "\n  - {id: new, kind: nonConsumable, grants: [{entitlement: new}]}"
            #expect(try await load(more))
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "byHand", kind: .nonConsumable,
                    grants: [.entitlement("byHand")]))
            #expect(try await onSale().isSuperset(of: ["new", "byHand"]))
            // A restart with a file that has lost a product: it is no longer sold, and still redeemed.
            #expect(try await load(TestMerchant.products))
            #expect(try await !load(TestMerchant.products))
            let left = try await onSale()
            #expect(!left.contains("new") && left.contains("byHand"))
            _ = try await shop.redeem(shop.purchase("new", 2), for: "bob")
            // The file makes a product its own by naming it.
            #expect(try await load(more.replacing("id: new", with: "id: byHand")))
            #expect(try await load(TestMerchant.products))
            #expect(try await !onSale().contains("byHand"))
        }
    }

    @Test(arguments: Backend.available) func productIdentifiersFollowAppStoreConnectAndCompareByBytes(
        _ backend: Backend
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            func put(_ app: BundleID, _ id: ProductID) async throws {
                try await shop.merchant.put(
                    MerchantProduct(
                        bundleID: app, productID: id, kind: .nonConsumable,
                        grants: [.entitlement("kit")]))
            }
            for name in ["two words", "\u{E9}", ""] {
                #expect(
                    try await shop.code { try await put(TestMerchant.bundleID, ProductID(name)) } == .invalidRequest)
                #expect(try await shop.code { try await put(BundleID(name), "kit") } == .invalidRequest)
            }
            #expect(
                try await shop.code { try await put(TestMerchant.bundleID, "\u{212A}it") } == .nameNotNormalized)
            try await put(TestMerchant.bundleID, "Kit")
            #expect(try await shop.merchant.product(TestMerchant.bundleID, "\u{212A}it") == nil)
            let other = shop.purchase("\u{212A}it", 7)
            #expect(try await shop.code { _ = try await shop.redeem(other, for: "ann") } != nil)
            #expect(try await shop.rights("ann").isEmpty)
        }
    }

    @Test(arguments: Backend.available) func namesInRequestsAreBounded(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let merchant = shop.merchant
            for name in ["", "a\u{0}", String(repeating: "a", count: 256)] {
                #expect(try await shop.code { _ = try await merchant.report(of: UserID(name)) } == .invalidRequest)
                #expect(
                    try await shop.code { _ = try await merchant.productList(of: BundleID(name)) } == .invalidRequest)
                #expect(
                    try await shop.code {
                        _ = try await merchant.history(of: "ann", CurrencyID(name), before: nil)
                    } == .invalidRequest)
            }
        }
    }
}
