import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct VerificationTests {
    @Test func signedEvidenceIsAccepted() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            let receipt = try shop.receipt([
                shop.inApp("coins", "2000000000000001"),
                shop.inApp("monthly", "2000000000000002", expiresIn: 60),
            ])
            let answer = try await shop.merchant.redeem(.receipt(receipt), for: "ann")
            #expect(answer.redeemed.map(\.productID).sorted() == ["coins", "monthly"])
            // The same purchase proved in another way, and under another root of the store, is the same.
            let signed = try shop.sign(shop.transaction("coins", "2000000000000001"))
            let again = try await shop.merchant.redeem(.signedTransaction(signed), for: "ann")
            #expect(again.redeemed.map(\.redeemedAt) == [TestClock.start])
            #expect(try await shop.gems("ann", in: .sandbox) == 110)
            #expect(
                try await shop.code { _ = try await shop.merchant.redeem(.receipt(receipt), for: "bob") }
                    == .alreadyRedeemed)
            #expect(try await shop.findings() == [])
        }
    }

    @Test func invalidEvidenceIsRefusedWithItsOwnCode() async throws {
        let policy = MerchantPolicy(environments: [.production])
        try await TestMerchant.with(.sqlite, policy: policy) { shop async throws in
            func code(_ evidence: Evidence) async throws -> MerchantErrorCode? {
                try await shop.code { _ = try await shop.merchant.redeem(evidence, for: "ann") }
            }
            func signed(_ more: [String: Any], _ product: String = "coins") throws -> Evidence {
                .signedTransaction(
                    try shop.sign(
                        shop.transaction(product, "1", environment: "Production", more), environment: .production))
            }
            let good = try shop.receipt([shop.inApp("coins", "1")], environment: .production)
            var flipped = good
            flipped[good.count - 7] ^= 1
            let stranger = try shop.receipt([], environment: .production, bundleID: "com.example.other")
            let sandbox = try shop.receipt([shop.inApp("coins", "1")], environment: .sandbox)
            let now = shop.clock.milliseconds
            var forged = try shop.sign(shop.transaction("coins", "1", environment: "Production"))
            forged[forged.count - 4] = forged[forged.count - 4] == 0x41 ? 0x42 : 0x41
            let table: [(String, Evidence, MerchantErrorCode?)] = [
                ("empty", .receipt([]), .malformedReceipt),
                ("no receipt", .receipt(Array("hello".utf8)), .malformedReceipt),
                ("cut off", .receipt(Array(good.prefix(900))), .malformedReceipt),
                ("no JWS", .signedTransaction(Array("a.b.c".utf8)), .malformedReceipt),
                ("too large", .receipt(Array(repeating: 0x30, count: MerchantLimits.evidence + 1)), .tooLarge),
                ("another signature", .receipt(flipped), .notGenuine),
                ("another signature, JWS", .signedTransaction(forged), .notGenuine),
                ("another app", .receipt(stranger), .wrongApp),
                ("another app, JWS", try signed(["bundleId": "com.example.other"]), .wrongApp),
                ("sandbox", .receipt(sandbox), .wrongEnvironment),
                ("sandbox, JWS", try signed(["environment": "Sandbox"]), .wrongEnvironment),
                ("Xcode, JWS", try signed(["environment": "Xcode"]), .wrongEnvironment),
                // Another purchase, since this is remembered.
                (
                    "revoked",
                    try signed(["transactionId": "2", "originalTransactionId": "2", "revocationDate": now]), .revoked
                ),
                (
                    "expired",
                    try signed(["expiresDate": now - 1, "type": "Auto-Renewable Subscription"], "monthly"), .expired
                ),
                ("unknown product", try signed([:], "unheard"), .unknownProduct),
                ("no purchase", .receipt(try shop.receipt([], environment: .production)), .nothingToRedeem),
                ("too many of it", try signed(["quantity": 2_000_000]), .malformedReceipt),
                ("good", .receipt(good), nil),
            ]
            for (name, evidence, expected) in table {
                #expect(try await code(evidence) == expected, "\(name)")
                if let expected { #expect(expected.text != nil) }
            }
        }
    }

    @Test func theEnvironmentOfAnOldReceiptCannotBeWashed() async throws {
        let policy = MerchantPolicy(environments: [.production])
        try await TestMerchant.with(.sqlite, policy: policy) { shop async throws in
            for (id, expected) in [("2000000000000001", MerchantErrorCode.wrongEnvironment), ("100000000000001", nil)] {
                let date = ReceiptDate(milliseconds: shop.clock.milliseconds)
                let receipt = TransactionReceipt(
                    quantity: 1, productID: "coins", transactionID: id, originalTransactionID: id,
                    bundleID: TestMerchant.bundleID.rawValue, bundleVersion: "1", purchaseDate: date,
                    originalPurchaseDate: date)
                let signer = shop.authority.receiptSigner(for: .sandbox)
                // Signed by the sandbox, and said to be production's.
                let washed = try SignedTransactionReceipt.signed(
                    receipt, environment: .production, certificate: signer.leafCertificate
                ) { try signer.signature(overSHA1Of: $0) }
                #expect(
                    try await shop.code { _ = try await shop.merchant.redeem(.receipt(washed.bytes), for: "ann") }
                        == expected)
            }
        }
    }

    @Test func notificationsProveThemselves() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            let transaction = shop.transaction("coins", "2000000000000001")
            _ = try await shop.merchant.redeem(.signedTransaction(try shop.sign(transaction)), for: "ann")
            let refund = try shop.notification("REFUND", transaction, id: "n-1")
            #expect(try await shop.merchant.receive(signedPayload: refund) == .applied)
            #expect(try await shop.merchant.receive(signedPayload: refund) == .duplicate)
            #expect(try await shop.gems("ann") == 0)
            func code(_ payload: [UInt8]) async throws -> MerchantErrorCode? {
                try await shop.code { _ = try await shop.merchant.receive(signedPayload: payload) }
            }
            var forged = refund
            forged[forged.count - 4] = forged[forged.count - 4] == 0x41 ? 0x42 : 0x41
            #expect(try await code(forged) == .notGenuine)
            let other = shop.transaction("coins", "2", ["bundleId": "com.example.other"])
            #expect(try await code(try shop.notification("REFUND", other, id: "n-2")) == .wrongApp)
            let renewal: [String: Any] = [
                "originalTransactionId": "3", "environment": "Sandbox", "signedDate": shop.clock.milliseconds,
            ]
            #expect(
                try await code(try shop.notification("DID_RENEW", transaction, id: "n-3", renewal: renewal))
                    == .notGenuine)
            // A transaction is no notification, and a notification no transaction.
            #expect(try await code(try shop.sign(transaction)) == .malformedReceipt)
            #expect(
                try await shop.code { _ = try await shop.merchant.redeem(.signedTransaction(refund), for: "ann") }
                    == .malformedReceipt)
            let test = try shop.sign([
                "notificationType": "TEST", "notificationUUID": "n-4", "signedDate": shop.clock.milliseconds,
                "data": ["bundleId": "com.example.books", "environment": "Sandbox"],
            ])
            #expect(try await shop.merchant.receive(signedPayload: test) == .ignored)
            // What is bought elsewhere, and what is not known yet.
            for (part, app, isOurs) in [
                ("externalPurchaseToken", "com.example.books", true), ("somethingNew", "com.example.books", true),
                ("externalPurchaseToken", "com.example.other", false),
            ] {
                let payload = try shop.sign([
                    "notificationType": "EXTERNAL_PURCHASE_TOKEN", "subtype": "UNREPORTED",
                    "notificationUUID": "n-\(part)-\(app)", "version": "2.0", "signedDate": shop.clock.milliseconds,
                    part: [
                        "externalPurchaseId": "SANDBOX_1", "tokenCreationDate": 1, "appAppleId": 1,
                        "bundleId": app,
                    ],
                ])
                if isOurs {
                    #expect(try await shop.merchant.receive(signedPayload: payload) == .ignored)
                } else {
                    #expect(try await code(payload) == .wrongApp)
                }
            }
        }
    }

    @Test func theUserNamedByTheEvidenceIsTheOwner() async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            let token = try await shop.merchant.describe("ann").accountToken
            let signed = shop.transaction("coins", "2000000000000001", ["appAccountToken": token])
            let answer = try await shop.merchant.redeem(.signedTransaction(try shop.sign(signed)), for: "bob")
            #expect(answer.redeemed.map(\.wentToNamedOwner) == [true])
            #expect(try await shop.gems("ann", in: .sandbox) == 100)
            #expect(try await shop.gems("bob") == 0)
            // Apple's app receipts name nobody.
            let receipt = try shop.receipt([shop.inApp("coins", "2000000000000002")])
            #expect(
                try await shop.merchant.redeem(.receipt(receipt), for: "bob").redeemed.map(\.wentToNamedOwner) == [
                    false
                ]
            )
            #expect(try await shop.gems("bob", in: .sandbox) == 100)
        }
    }

    @Test func transactionsAreCountedOnce() async throws {
        func entries(_ numbers: ClosedRange<Int>) -> String {
            numbers.map { number in
                """
                {"quantity": "1", "product_id": "unheard", "transaction_id": "\(2_000_000_000_000_000 + number)",
                "original_transaction_id": "\(2_000_000_000_000_000 + number)", "purchase_date_ms": "1770091506000"}
                """
            }.joined(separator: ",")
        }
        // Apple names a renewal in both lists.
        for (both, more, expected) in [(1_001, 999, MerchantErrorCode.unknownProduct), (1_001, 1_000, .tooLarge)] {
            let json = """
                {"status": 0, "environment": "Sandbox", "receipt": {"bundle_id": "com.example.books",
                "request_date_ms": "1770091506000", "in_app": [\(entries(1...both)), \(entries(5_001...5_000 + more))]},
                "latest_receipt_info": [\(entries(1...both))]}
                """
            try await TestMerchant.with(.sqlite, way: .remote(Oracle(json: json), anchors: ["there": "test"])) {
                shop async throws in
                #expect(
                    try await shop.code { _ = try await shop.merchant.redeem(.receipt([0x30]), for: "ann") }
                        == expected)
            }
        }
    }

    /// Answers as a store does.
    struct Oracle: RemoteVerifying {
        var json: String
        var fails = false

        func verify(receipt: [UInt8]) async throws -> RemoteAnswer {
            if fails { throw RemoteVerificationError(.circuitOpen, "closed for today", retryAfter: 9) }
            return RemoteAnswer(json: Array(json.utf8), store: "there")
        }
    }

    @Test(arguments: [
        (21_002, MerchantErrorCode.malformedReceipt), (21_003, .notGenuine), (21_004, .storeUnavailable),
        (21_007, .wrongEnvironment), (21_008, .wrongEnvironment), (21_010, .notGenuine), (21_005, .storeUnavailable),
    ]) func aStoresRefusalHasItsCode(_ status: Int, _ expected: MerchantErrorCode) async throws {
        try await TestMerchant.with(
            .sqlite, way: .remote(Oracle(json: "{\"status\":\(status)}"), anchors: ["there": "test"])
        ) { shop async throws in
            let receipt = try shop.receipt([shop.inApp("coins", "1")])
            #expect(
                try await shop.code { _ = try await shop.merchant.redeem(.receipt(receipt), for: "ann") } == expected)
        }
    }

    @Test func aStoresAnswerIsTaken() async throws {
        let json = """
            {"status": 0, "environment": "Sandbox", "receipt": {"bundle_id": "com.example.books",
            "request_date_ms": "1770091506000", "in_app": [{"quantity": "2", "product_id": "coins",
            "transaction_id": "2000000000000001", "original_transaction_id": "2000000000000001",
            "purchase_date_ms": "1770091506000", "is_trial_period": "false"}]},
            "latest_receipt_info": [{"quantity": "1", "product_id": "monthly", "transaction_id": "2000000000000002",
            "original_transaction_id": "2000000000000002", "purchase_date_ms": "1770091506000",
            "expires_date_ms": "1770095106000", "web_order_line_item_id": "2000000000000003"}]}
            """
        try await TestMerchant.with(.sqlite, way: .remote(Oracle(json: json), anchors: ["there": "test"])) {
            shop async throws in
            let receipt = try shop.receipt([])
            _ = try await shop.merchant.redeem(.receipt(receipt), for: "ann")
            #expect(try await shop.gems("ann", in: .sandbox) == 210)
            // Proved by its signature, it is the same purchase.
            let signed = try shop.sign(shop.transaction("coins", "2000000000000001", ["quantity": 2]))
            _ = try await shop.merchant.redeem(.signedTransaction(signed), for: "ann")
            #expect(try await shop.gems("ann", in: .sandbox) == 210)
        }
        try await TestMerchant.with(.sqlite, way: .remote(Oracle(json: json), anchors: [:])) { shop async throws in
            #expect(
                try await shop.code { _ = try await shop.merchant.redeem(.receipt([0x30]), for: "ann") }
                    == .notGenuine)
        }
        try await TestMerchant.with(
            .sqlite, way: .remote(Oracle(json: "", fails: true), anchors: ["there": "test"])
        ) { shop async throws in
            #expect(
                try await shop.code { _ = try await shop.merchant.redeem(.receipt([0x30]), for: "ann") }
                    == .storeUnavailable)
        }
    }
}
