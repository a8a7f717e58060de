import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// “José” in two spellings, which Swift's `==` takes for one text.
@Suite(.timeLimit(.minutes(1))) struct NameTests {
    private static let composed: UserID = "Jos\u{e9}"
    private static let decomposed: UserID = "Jose\u{301}"

    @Test(arguments: Backend.available) func twoSpellingsOfANameAreTwoUsers(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let merchant = shop.merchant
            _ = try await shop.redeem(shop.purchase("coins", 1), shop.purchase("pro", 2), for: Self.composed)
            // The other spelling is refused by name, and told of nobody's purchases.
            let asked: [(String, () async throws -> Void)] = [
                ("redeem", { _ = try await shop.redeem(shop.purchase("coins", 1), for: Self.decomposed) }),
                ("describe", { _ = try await merchant.describe(Self.decomposed) }),
                ("balances", { _ = try await merchant.balances(of: Self.decomposed) }),
                ("entitlements", { _ = try await merchant.entitlements(of: Self.decomposed) }),
                ("content", { _ = try await merchant.content("issue-12", for: Self.decomposed) }),
                ("report", { _ = try await merchant.report(of: Self.decomposed) }),
                ("history", { _ = try await merchant.history(of: Self.decomposed, "gems", before: nil) }),
                (
                    "spend",
                    {
                        let spend = SpendRequest(key: "k", currency: "gems", amount: 1)
                        _ = try await merchant.spend(spend, by: Self.decomposed)
                    }
                ),
                (
                    "adjust",
                    {
                        let gift = AdjustmentRequest(key: "k", currency: "gems", amount: 1)
                        _ = try await merchant.adjust(gift, of: Self.decomposed)
                    }
                ),
            ]
            for (name, ask) in asked {
                #expect(try await shop.code { try await ask() } == .nameNotNormalized, "\(name)")
            }
            // A row that an earlier version wrote under the other spelling is another user's: nobody is told “redeemed”
            // who has nothing.
            try await shop.database.write { connection in
                try connection.execute(
                    "UPDATE redemptions SET user_id = $1 WHERE transaction_id = '2'", [Self.decomposed.rawValue])
            }
            #expect(
                try await shop.code { _ = try await shop.redeem(shop.purchase("pro", 2), for: Self.composed) }
                    == .alreadyRedeemed)
        }
    }

    /// Transactions change chains in their order. Rows of earlier versions may have both spellings.
    @Test func chainsOfTwoSpellingsHaveAnOrder() {
        let chain = { TimedRight.Chain(user: $0, kind: "entitlement", name: "club") } as (UserID) -> TimedRight.Chain
        #expect(chain(Self.decomposed) < chain(Self.composed))
        #expect(!(chain(Self.composed) < chain(Self.decomposed)))
    }

    @Test(arguments: Backend.available) func whatIsNamedIsNormalized(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let bad = "cre\u{301}dits"
            let products: [(ProductID, ProductGrant)] = [
                ("x", .credits(CurrencyID(bad), amount: 1, lifetime: nil)), ("x", .entitlement(EntitlementID(bad))),
                ("x", .content(ContentItemID(bad))), (ProductID(bad), .entitlement("pro")),
            ]
            for (id, grant) in products {
                let product = MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: id, kind: .nonConsumable, grants: [grant])
                #expect(
                    try await shop.code { try await shop.merchant.put(product) } == .nameNotNormalized, "\(grant)")
            }
            // A key is the caller's own and any text; another spelling is another key, and another note another
            // request.
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            func spend(_ key: String, _ note: String) async throws -> SpendAnswer {
                try await shop.merchant.spend(
                    SpendRequest(key: key, currency: "gems", amount: 1, note: note), by: "ann")
            }
            #expect(try await spend("caf\u{e9}", "a").entry == 2)
            #expect(try await spend("cafe\u{301}", "caf\u{e9}").entry == 3)
            #expect(
                try await shop.code { _ = try await spend("cafe\u{301}", "cafe\u{301}") } == .keyReused)
        }
    }
}
