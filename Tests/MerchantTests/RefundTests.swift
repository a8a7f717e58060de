import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Ways around a refund, and what a refund must not touch.
@Suite(.timeLimit(.minutes(1))) struct RefundTests {
    private static let transferring = MerchantPolicy(conflict: .transfer, environments: [.production, .sandbox])

    @Test(arguments: Backend.available) func creditsAreTakenBackFromWhoWasGivenThem(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, policy: Self.transferring) { shop async throws in
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "pack", kind: .nonConsumable,
                    grants: [.credits("gems", amount: 50, lifetime: nil), .entitlement("pro")]))
            let pack = shop.purchase("pack", 1)
            for user in ["ann", "bob", "cleo"] as [UserID] { _ = try await shop.redeem(pack, for: user) }
            #expect(try await shop.gems("ann") == 50)
            #expect(try await shop.rights("cleo") == ["pro": .active])
            try await shop.notify("REFUND", pack)
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.rights("cleo") == ["pro": .revoked])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", pack)
            #expect(try await shop.gems("ann") == 50)
            #expect(try await shop.gems("cleo") == 0)
            #expect(try await shop.rights("cleo") == ["pro": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func theNewestOfManyFlagsAreShown(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            try await shop.database.write { connection in
                for number in 1...1_001 as ClosedRange<Int64> {
                    try connection.execute(
                        "INSERT INTO user_flags (user_id, reference, code, detail, created_at) VALUES ('ann', $1, 'x', '', $2)",
                        ["r\(number)", number])
                }
            }
            #expect(try await shop.merchant.report(of: "ann").flags.map(\.createdAt) == Array(2...1_001))
        }
    }

    @Test(arguments: Backend.available) func aRefundedPeriodClaimsNoSubscription(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, policy: Self.transferring) { shop async throws in
            let first = shop.purchase("monthly", 1, expiresIn: 60_000)
            try await shop.notify("REFUND", first)
            #expect(try await shop.code { _ = try await shop.redeem(first, for: "bob") } == .revoked)
            shop.clock.milliseconds += 60_000
            let second = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            try await shop.notify("DID_RENEW", second)
            #expect(try await shop.rights("bob") == [:])
            _ = try await shop.redeem(second, for: "ann")
            // Somebody else's copy of the refunded period takes nothing from who pays.
            #expect(try await shop.code { _ = try await shop.redeem(first, for: "bob") } == .expired)
            shop.clock.milliseconds += 1_000
            // A copy of a longer period, from before the refund.
            let copy = shop.purchase("monthly", 1, expiresIn: 600_000, signedAt: TestClock.start)
            #expect(try await shop.code { _ = try await shop.redeem(copy, for: "bob") } == .revoked)
            #expect(try await shop.rights("ann") == ["club": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available)
    func `evidence from after a refund reverses it when the notification was lost`(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let start = shop.clock.milliseconds
            /// The purchases as the store signs them now.
            func signed() -> [VerifiedPurchase] {
                [
                    shop.purchase("pro", 1, purchasedAt: start),
                    shop.purchase("coins", 2, purchasedAt: start, stated: .consumable),
                    shop.purchase("monthly", 3, expiresIn: 3_600_000, purchasedAt: start),
                ]
            }
            func redeem() async throws -> RedemptionAnswer {
                try await shop.merchant.redeem(
                    VerifiedEvidence(environment: .production, bundleID: TestMerchant.bundleID, purchases: signed()),
                    for: "ann")
            }
            _ = try await redeem()
            for purchase in signed() { try await shop.notify("REFUND", purchase) }
            #expect(try await shop.rights("ann") == ["pro": .revoked, "club": .revoked])
            // The store may have read the purchases before the refund, and dated them after it.
            shop.clock.milliseconds += RedemptionPlan.reversalMargin
            #expect(try await shop.code { _ = try await redeem() } == .revoked)
            shop.clock.milliseconds += 1
            // A receipt does not state the refund of a consumable.
            let receipt = shop.purchase("coins", 2, purchasedAt: start, upgraded: nil, stated: .consumable)
            #expect(try await shop.code { _ = try await shop.redeem(receipt, for: "ann") } == .revoked)
            #expect(try await shop.gems("ann") == 0)
            #expect(Set(try await redeem().redeemed.map(\.transactionID)) == ["1", "2", "3"])
            #expect(try await shop.rights("ann") == ["pro": .active, "club": .active])
            #expect(try await shop.gems("ann") == 110)
            // The late notification of the refund is older.
            for purchase in signed() { try await shop.notify("REFUND", purchase, signedAt: start) }
            #expect(try await shop.rights("ann") == ["pro": .active, "club": .active])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [RefundPolicy.toZero, .belowZero])
    func creditsThatHaveEndedAreNotTakenTwice(_ backend: Backend, _ policy: RefundPolicy) async throws {
        let policy = MerchantPolicy(refund: policy, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let passing = shop.purchase("passing", 1)
            _ = try await shop.redeem(passing, shop.purchase("coins", 2), for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 20), by: "ann")
            shop.clock.milliseconds += 1_000_001
            #expect(try await shop.gems("ann") == 100)
            try await shop.notify("REFUND", passing)
            // Of the 50, 30 have ended and 20 were spent.
            #expect(try await shop.gems("ann") == 80)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func creditsThatComeBackStillEnd(
        _ backend: Backend, _ isLate: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let passing = shop.purchase("passing", 1)
            _ = try await shop.redeem(passing, for: "ann")
            try await shop.notify("REFUND", passing)
            #expect(try await shop.gems("ann") == 0)
            shop.clock.milliseconds += isLate ? 1_000_001 : 500_000
            try await shop.notify("REFUND_REVERSED", passing)
            #expect(try await shop.gems("ann") == (isLate ? 0 : 50))
            shop.clock.milliseconds += 500_001
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, [true, false]) func whatWasTakenInsteadOfSpentCreditsLastsAsBefore(
        _ backend: Backend, _ isLate: Bool
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let passing = shop.purchase("passing", 1)
            _ = try await shop.redeem(passing, shop.purchase("coins", 2), for: "ann")
            // The 50 that end are spent first: the refund takes others.
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 50), by: "ann")
            try await shop.notify("REFUND", passing)
            #expect(try await shop.gems("ann") == 50)
            if isLate { shop.clock.milliseconds += 1_000_001 }
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", passing)
            shop.clock.milliseconds += 1_000_001
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func creditsOfAnotherPurchaseComeBackAsTheyWere(_ backend: Backend) async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            let first = shop.purchase("passing", 1)
            _ = try await shop.redeem(first, for: "ann")
            shop.clock.milliseconds += 500_000
            _ = try await shop.redeem(shop.purchase("passing", 2), for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 50), by: "ann")
            // What is left is the second one's, and ends with it.
            try await shop.notify("REFUND", first)
            #expect(try await shop.gems("ann") == 0)
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", first)
            shop.clock.milliseconds += 600_000
            #expect(try await shop.gems("ann") == 50)
            shop.clock.milliseconds += 400_000
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func whatAnEarlierProgramTookBackEndsToo(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let passing = shop.purchase("passing", 1)
            _ = try await shop.redeem(passing, for: "ann")
            try await shop.notify("REFUND", passing)
            let count = try await shop.database.write { connection in
                try connection.execute(
                    "UPDATE redemptions SET taken_back = $1", ["[{\"amount\":50,\"currency\":\"gems\"}]"])
            }
            #expect(count == 1)
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", passing)
            #expect(try await shop.gems("ann") == 50)
            shop.clock.milliseconds += 1_000_000
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aReversalTakesTheFlagAway(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1)
            _ = try await shop.redeem(coins, for: "ann")
            func spend(_ key: String, _ amount: Int64) async throws -> String? {
                _ = try await shop.merchant.spend(
                    SpendRequest(key: key, currency: "gems", amount: amount), by: "ann")
                shop.clock.milliseconds += 1
                try await shop.notify("REFUND", coins)
                let flags = try await shop.merchant.report(of: "ann").flags
                #expect(flags.count == 1)
                shop.clock.milliseconds += 1
                try await shop.notify("REFUND_REVERSED", coins)
                #expect(try await shop.merchant.report(of: "ann").flags == [])
                return flags.first?.detail
            }
            #expect(try await spend("a", 70) == "100 gems were refunded, and 30 of them taken back.")
            #expect(try await spend("b", 10) == "100 gems were refunded, and 20 of them taken back.")
            #expect(try await shop.gems("ann") == 20)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func theNewestWordOfARefundStands(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1)
            _ = try await shop.redeem(coins, for: "ann")
            let now = shop.clock.milliseconds
            try await shop.notify("REFUND", coins, signedAt: now + 10)
            try await shop.notify("REFUND", coins, signedAt: now + 30)
            try await shop.notify("REFUND_REVERSED", coins, signedAt: now + 20)
            #expect(try await shop.gems("ann") == 0)
            try await shop.notify("REFUND_REVERSED", coins, signedAt: now + 40)
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func anOldPlansRefundAndGraceLeaveTheNewOneAlone(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            let long = shop.purchase("gold", 1, expiresIn: 900_000)
            _ = try await shop.redeem(long, for: "ann")
            shop.clock.milliseconds += 1_000
            let short = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            _ = try await shop.redeem(short, for: "ann")
            shop.clock.milliseconds += 1_000
            try await shop.notify("REFUND", long)
            #expect(try await shop.rights("ann") == ["gold": .revoked, "club": .active])
            // The plan that was left does not come back with the new one's grace.
            shop.clock.milliseconds += 60_000
            let now = shop.clock.milliseconds
            try await shop.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", short, graceUntil: now + 10_000)
            #expect(try await shop.rights("ann") == ["gold": .revoked, "club": .grace])
        }
    }

    @Test(arguments: Backend.available) func graceIsThePresentPlans(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("gold", 1, expiresIn: 60_000), for: "ann")
            shop.clock.milliseconds += 1_000
            let change = shop.purchase("monthly", 2, original: 1, expiresIn: 60_000)
            _ = try await shop.redeem(change, for: "ann")
            shop.clock.milliseconds += 60_000
            let now = shop.clock.milliseconds
            try await shop.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", change, graceUntil: now + 10_000)
            #expect(try await shop.rights("ann") == ["gold": .expired, "club": .grace])
        }
    }

    @Test(arguments: Backend.available) func aProductKeepsItsKind(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1)
            _ = try await shop.redeem(coins, for: "ann")
            #expect(
                try await shop.code {
                    try await shop.merchant.put(
                        MerchantProduct(
                            bundleID: TestMerchant.bundleID, productID: "coins", kind: .nonConsumable,
                            grants: [.credits("gems", amount: 100, lifetime: nil)]))
                } == .invalidRequest)
            let file = try ProductsFile(
                yaml: Array(
                    TestMerchant.products.replacing("coins, kind: consumable", with: "coins, kind: nonConsumable").utf8),
                file: "products.yaml")
            #expect(try await shop.code { try await shop.merchant.importProducts(from: file) } == .invalidRequest)
            _ = try await shop.redeem(coins, for: "ann")
            #expect(try await shop.gems("ann") == 100)
        }
    }

    @Test func anOldReceiptIsOnePurchaseWhateverEnvironmentItNames() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            let date = ReceiptDate(milliseconds: shop.clock.milliseconds)
            let signer = shop.authority.receiptSigner(for: .production)
            for environment in [StoreEnvironment.production, .sandbox] {
                let receipt = try SignedTransactionReceipt.signed(
                    TransactionReceipt(
                        quantity: 1, productID: "coins", transactionID: "100000000000001",
                        originalTransactionID: "100000000000001", bundleID: TestMerchant.bundleID.rawValue,
                        bundleVersion: "1", purchaseDate: date, originalPurchaseDate: date),
                    environment: environment, certificate: signer.leafCertificate
                ) { try signer.signature(overSHA1Of: $0) }
                let answer = try await shop.merchant.redeem(.receipt(receipt.bytes), for: "ann")
                #expect(answer.redeemed.map(\.environment) == [.production])
            }
            #expect(try await shop.gems("ann") == 100)
        }
    }

    @Test func aStoresAnswerIsAsOldAsItsParts() throws {
        func entry(_ id: String) -> String {
            """
            {"transaction_id":"\(id)","original_transaction_id":"1","product_id":"monthly","quantity":"1",
            "purchase_date_ms":"1000","expires_date_ms":"9000","cancellation_date_ms":"2000"}
            """
        }
        let answer = try RemoteReceipt(
            Array(
                """
                {"status":0,"environment":"Production","latest_receipt_info":[\(entry("2"))],
                "receipt":{"bundle_id":"com.example.books","request_date_ms":"5000","receipt_creation_date_ms":"3000",
                "in_app":[\(entry("1"))]}}
                """.utf8))
        let purchases = answer.purchases(anchor: "a", environment: .production, bundleID: "com.example.books")
        #expect(purchases.map(\.transactionID) == ["2", "1"])
        #expect(purchases.map(\.signedAt) == [5_000, 3_000])
        // Only the list of what the store knows would tell an upgrade from a refund.
        #expect(purchases.map(\.isUpgraded) == [false, nil])
    }
}
