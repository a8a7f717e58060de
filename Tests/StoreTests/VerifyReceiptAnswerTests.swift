import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// The answer as a client reads it.
struct Answer {
    var text: String
    var object: [String: Any]

    init(_ response: VerifyReceiptResponse) throws {
        let json = response.json
        text = String(decoding: json, as: UTF8.self)
        object = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    var status: Int? { object["status"] as? Int }
    var receipt: [String: Any] { object["receipt"] as? [String: Any] ?? [:] }
    var inApp: [[String: Any]] { receipt["in_app"] as? [[String: Any]] ?? [] }
    var latest: [[String: Any]] { object["latest_receipt_info"] as? [[String: Any]] ?? [] }
    var pending: [[String: Any]] { object["pending_renewal_info"] as? [[String: Any]] ?? [] }
    var latestReceipt: [UInt8]? {
        (object["latest_receipt"] as? String).flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
    }
}

extension TestStore {
    func verify(_ receipt: [UInt8], password: String? = nil, excludingOld: Bool = false) async throws -> Answer {
        let request = VerifyReceiptRequest(
            receiptData: receipt, password: password, excludeOldTransactions: excludingOld)
        return try Answer(await store.verifyReceipt(request.body))
    }

    func verify(body: String) async throws -> Answer { try Answer(await store.verifyReceipt(Array(body.utf8))) }

    /// Moves the clock to the end of a subscription's period, and returns the period that follows.
    func renew(_ transactionID: TransactionID) async throws -> Transaction {
        let period = try #require(try await database.read { try Transactions.find(transactionID, $0) })
        clock.milliseconds = try #require(period.expiresDate)
        try await store.settleSubscriptions()
        return try #require(try await ledger().last { $0.originalTransactionID == period.originalTransactionID })
    }
}

/// Whether an object has a date's three forms and they say the same.
func dateForms(_ object: [String: Any], _ name: String) throws -> Int64 {
    let text = try #require(object[name] as? String)
    let pacific = try #require(object[name + "_pst"] as? String)
    let digits = try #require(object[name + "_ms"] as? String)
    let milliseconds = try #require(Int64(digits))
    let date = Date(milliseconds: milliseconds)
    for (text, zone) in [(text, "Etc/GMT"), (pacific, "America/Los_Angeles")] {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: zone)
        format.dateFormat = "yyyy-MM-dd HH:mm:ss"
        #expect(text == format.string(from: date) + " " + zone, "\(name)")
    }
    return milliseconds
}

@Suite(.timeLimit(.minutes(1))) struct VerifyReceiptAnswerTests {
    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aReceiptWithoutSubscriptionsIsAnsweredWithItself(_ backend: Backend, _ environment: StoreEnvironment)
        async throws
    {
        try await backend.withStore(environment) { test async throws in
            let account = try await test.account()
            let credits = try await test.buy("credits5", by: account, quantity: 3)
            try await test.buy("hats", by: account)
            try await test.buy("season", by: account)
            let bytes = try await test.appReceipt(account)
            test.clock.milliseconds += 1234
            let answer = try await test.verify(bytes)
            #expect(answer.status == 0 && answer.object["environment"] as? String == environment.rawValue)
            #expect(Set(answer.object.keys) == ["status", "environment", "receipt"])
            let receipt = answer.receipt
            let isSandbox = environment == .sandbox
            #expect(receipt["receipt_type"] as? String == environment.receiptType)
            for name in ["adam_id", "app_item_id", "download_id", "version_external_identifier"] {
                let number = try #require(receipt[name] as? NSNumber, "\(name)")
                #expect((number.int64Value == 0) == isSandbox, "\(name)")
            }
            #expect(
                receipt["bundle_id"] as? String == "com.example.monkeys"
                    && receipt["application_version"] as? String == "7")
            #expect(receipt["original_application_version"] as? String == "1.0")
            #expect(try dateForms(receipt, "receipt_creation_date") == TestClock.start - 789)
            #expect(try dateForms(receipt, "request_date") == TestClock.start + 1234)
            let original = try dateForms(receipt, "original_purchase_date")
            #expect((original == 1_375_340_400_000) == isSandbox)
            #expect(answer.inApp.count == 3)
            for purchase in answer.inApp {
                #expect(purchase.values.allSatisfy { $0 is String })
                #expect(
                    Set(purchase.keys) == [
                        "quantity", "product_id", "transaction_id", "original_transaction_id", "purchase_date",
                        "purchase_date_ms",
                        "purchase_date_pst", "original_purchase_date", "original_purchase_date_ms",
                        "original_purchase_date_pst",
                        "is_trial_period", "in_app_ownership_type",
                    ])
                // A receipt holds whole seconds.
                #expect(try dateForms(purchase, "purchase_date") == TestClock.start - 789)
                #expect(try dateForms(purchase, "original_purchase_date") == TestClock.start - 789)
                #expect(purchase["is_trial_period"] as? String == "false")
            }
            let first = try #require(answer.inApp.first { $0["product_id"] as? String == "credits5" })
            #expect(
                first["quantity"] as? String == "3"
                    && first["transaction_id"] as? String == credits.transactionID.description)
        }
    }

    @Test(arguments: Backend.available) func aSubscriptionBringsTheLedgersState(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let token = UUID()
            try await test.buy("credits5", by: account)
            let trial = try await test.buy("club.monthly", by: account, username: token.uuidString)
            let bytes = try await test.appReceipt(account)
            let secret = test.sharedSecret
            let answer = try await test.verify(bytes, password: secret)
            #expect(answer.status == 0)
            #expect(
                Set(answer.object.keys) == [
                    "status", "environment", "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
                ])
            let id = trial.transactionID.description
            for list in [answer.inApp, answer.latest] {
                let entry = try #require(list.first { $0["transaction_id"] as? String == id })
                #expect(entry.values.allSatisfy { $0 is String })
                #expect(try dateForms(entry, "purchase_date") == TestClock.start - 789)
                #expect(try dateForms(entry, "expires_date") == trial.expiresDate)
                #expect(
                    entry["is_trial_period"] as? String == "true"
                        && entry["is_in_intro_offer_period"] as? String == "false")
                #expect(Int64(entry["web_order_line_item_id"] as? String ?? "") != nil)
                #expect(entry["original_transaction_id"] as? String == id)
            }
            let entry = try #require(answer.latest.first { $0["transaction_id"] as? String == id })
            #expect(entry["subscription_group_identifier"] as? String == "21000001")
            #expect(entry["app_account_token"] as? String == token.uuidString.lowercased())
            #expect(answer.latest.count == 2)
            let pending = try #require(answer.pending.first)
            #expect(answer.pending.count == 1 && pending.values.allSatisfy { $0 is String })
            #expect(
                pending["auto_renew_product_id"] as? String == "club.monthly"
                    && pending["product_id"] as? String == "club.monthly")
            #expect(
                pending["original_transaction_id"] as? String == id && pending["auto_renew_status"] as? String == "1")
            #expect(pending["expiration_intent"] == nil)

            // The latest receipt is one itself, of the same device.
            let latest = try #require(answer.latestReceipt)
            #expect(try await TestStore.verified(latest).inApp.count == 2)
            #expect(try await test.verify(latest, password: secret).status == 0)

            // Once over, an app receipt is still good, and says why it ended.
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds = try #require(trial.expiresDate)
            let over = try await test.verify(bytes, password: secret)
            #expect(over.status == 0)
            #expect(over.pending.first?["auto_renew_status"] as? String == "0")
            #expect(over.pending.first?["expiration_intent"] as? String == "1")
            #expect(over.pending.first?["is_in_billing_retry_period"] as? String == "0")
        }
    }

    @Test(arguments: Backend.available) func bothListsGiveTheSameDates(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            for product in ["credits5", "hats", "season", "news", "club.monthly"] as [ProductID] {
                test.clock.milliseconds += 1_111
                try await test.buy(product, by: account)
            }
            test.clock.milliseconds += 1_111
            let season = try #require(try await test.ledger().first { $0.productID == "season" })
            _ = try await test.store.refund(season.transactionID, reason: .app)
            let bytes = try await test.appReceipt(account)
            let answer = try await test.verify(bytes, password: test.sharedSecret)
            #expect(answer.inApp.count == 5 && answer.latest.count == 5)
            for entry in answer.inApp {
                let id = try #require(entry["transaction_id"] as? String)
                let latest = try #require(answer.latest.first { $0["transaction_id"] as? String == id })
                for (name, value) in entry where name.contains("_date") {
                    #expect(latest[name] as? String == value as? String, "\(name) of \(entry)")
                }
                #expect(
                    Set(latest.keys.filter { $0.contains("_date") }) == Set(entry.keys.filter { $0.contains("_date") }))
                #expect(try dateForms(latest, "purchase_date") % 1_000 == 0)
            }
            #expect(answer.latest.contains { $0["cancellation_date_ms"] != nil })
        }
    }

    @Test(arguments: Backend.available) func anOldReceiptIsAnsweredWithTheNewestLedger(_ backend: Backend) async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            let old = try await test.appReceipt(account)
            let renewal = try await test.renew(first.transactionID)
            let credits = try await test.buy("credits5", by: account)
            try await test.buy("hats", by: account)
            let answer = try await test.verify(old, password: test.sharedSecret)
            #expect(answer.inApp.count == 1 && answer.latest.count == 4)
            #expect(answer.pending.count == 1)
            let latest = try await TestStore.verified(try #require(answer.latestReceipt))
            #expect(
                Set(latest.inApp.map(\.transactionID))
                    == Set(answer.latest.compactMap { $0["transaction_id"] as? String }))
            #expect(latest.inApp.contains { $0.transactionID == renewal.transactionID.description })
            // What is finished is gone from it, and another answer is signed.
            try await test.store.finish(credits.transactionID, of: account)
            let later = try await test.verify(old, password: test.sharedSecret)
            #expect(later.latest.count == 3 && later.latestReceipt != answer.latestReceipt)
            // Of each subscription only the newest, when that is asked for.
            let newest = try await test.verify(old, password: test.sharedSecret, excludingOld: true)
            #expect(Set(newest.latest.compactMap { $0["product_id"] as? String }) == ["club.monthly", "hats"])
            #expect(newest.latest.contains { $0["transaction_id"] as? String == renewal.transactionID.description })
            #expect(newest.latest.count == 2 && newest.inApp.count == 1)
            let again = try await test.verify(old, password: test.sharedSecret)
            #expect(again.latestReceipt == later.latestReceipt)
        }
    }

    @Test(arguments: Backend.available) func theSharedSecretIsRequiredForSubscriptions(_ backend: Backend) async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("hats", by: account)
            let plain = try await test.appReceipt(account)
            let secret = test.sharedSecret
            #expect(secret.utf8.count == 32)
            #expect(try await test.verify(plain).status == 0)
            #expect(try await test.verify(plain, password: secret).status == 0)
            // An empty secret is none.
            #expect(try await test.verify(plain, password: "").status == 0)
            for wrong in [
                " ", "x", secret.uppercased() + " ", String(secret.dropLast()), String(secret.reversed()),
                secret + "\0",
            ] {
                #expect(
                    try await test.verify(plain, password: wrong).text == #"{"environment":"Sandbox","status":21004}"#)
            }
            let otherApp = try #require(test.store.apps["com.example.other"]?.sharedSecret)
            #expect(try await test.verify(plain, password: otherApp).status == 21004)
            let subscription = try await test.buy("club.monthly", by: account)
            let bytes = try await test.appReceipt(account)
            #expect(try await test.verify(bytes).status == 21004)
            #expect(try await test.verify(bytes, password: "").status == 21004)
            #expect(try await test.verify(bytes, password: otherApp).status == 21004)
            let old = try await test.store.transactionReceipt(
                subscription.transactionID, TestStore.receiptRequest, for: account)
            #expect(try await test.verify(old).status == 21004)
            #expect(try await test.verify(old, password: "").status == 21004)
            #expect(try await test.verify(old, password: secret).status == 0)
        }
    }

    /// Bodies, and the statuses that they are answered with.
    private static let noReceipts: [(body: String, status: Int)] = [
        // Not a JSON object.
        ("", 21000), ("null", 21000), ("[]", 21000), ("\"x\"", 21000), ("{", 21000),
        ("{\"receipt-data\":\"AA==\"", 21000),
        ("{\"receipt-data\":\"AA==\"}}", 21000), ("receipt-data=AA%3D%3D", 21000), ("\u{0}", 21000),
        (String(repeating: "[", count: 100_000), 21000),
        ("{\"receipt-data\":\"AA==\",\"receipt-data\":\"AA==\"}", 21000),
        // No receipt in it.
        ("{}", 21002), ("{\"receipt-data\":null}", 21002), ("{\"receipt-data\":5}", 21002),
        ("{\"receipt-data\":\"\"}", 21002),
        ("{\"receipt-data\":\"***\"}", 21002), ("{\"receipt-data\":\"AA\"}", 21002),
        ("{\"receipt-data\":\"AAAA\"}", 21002),
        ("{\"receipt-data\":\"MIIB\"}", 21002), ("{\"receipt-data\":[\"AAAA\"]}", 21002),
        ("{\"Receipt-Data\":\"AAAA\"}", 21002),
        ("{\"receipt-data\":\"AAAA\",\"password\":7}", 21002),
        ("{\"receipt-data\":\"AAAA\",\"exclude-old-transactions\":\"yes\"}", 21002),
        // A property list, but no receipt: { "a" = "b"; }
        ("{\"receipt-data\":\"eyAiYSIgPSAiYiI7IH0=\"}", 21002),
    ]

    @Test func whatIsNoReceiptIsToldApart() async throws {
        try await Backend.sqlite.withStore { test async throws in
            for (body, status) in Self.noReceipts {
                #expect(try await test.verify(body: body).text == "{\"status\":\(status)}", "\(body.prefix(100))")
            }
        }
    }

    @Test func base64WithoutPaddingIsRead() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let account = try await test.account()
            var bytes = try await test.appReceipt(account)
            // The bundle version changes the length until there is padding to leave out.
            var request = TestStore.receiptRequest
            while bytes.count % 3 == 0 {
                request.bundleVersion += "1"
                bytes = try await test.store.appReceipt(request, for: account)
            }
            let text = Data(bytes).base64EncodedString()
            let unpadded = String(text.prefix { $0 != "=" })
            #expect(unpadded != text)
            #expect(try await test.verify(body: "{\"receipt-data\":\"\(text)\"}").status == 0)
            #expect(try await test.verify(body: "{\"receipt-data\":\"\(unpadded)\"}").status == 0)
        }
    }

    @Test func otherMethodsAndOversizedBodiesHaveAStatus() async throws {
        try await Backend.sqlite.withStore { test async throws in
            #expect(try Answer(test.store.answerToOtherMethods).text == #"{"status":21000}"#)
            #expect(try Answer(test.store.answerToOversizedBody).text == #"{"status":21002}"#)
        }
    }

    @Test(arguments: Backend.available) func aModifiedReceiptIsRefused(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let hats = try await test.buy("hats", by: account)
            let good = try await test.appReceipt(account)
            #expect(try await test.verify(good).status == 0)
            var signature = good
            signature[good.count - 1] ^= 1
            #expect(try await test.verify(signature).text == #"{"environment":"Sandbox","status":21003}"#)
            // Another quantity of the same product: the signed octets differ.
            let name = Array("hats".utf8)
            let at = try #require((0..<good.count - 4).first { Array(good[$0..<$0 + 4]) == name })
            var payload = good
            payload[at] = UInt8(ascii: "c")
            #expect(try await test.verify(payload).status == 21003)
            for broken in [Array(good.dropLast()), good + [0], Array(good.prefix(20))] {
                #expect(try await test.verify(broken).status == 21002)
            }
            let old = try await test.store.transactionReceipt(
                hats.transactionID, TestStore.receiptRequest, for: account)
            #expect(try await test.verify(old).status == 0)
            let text = String(decoding: old, as: UTF8.self)
            let info = try #require(text.firstMatch(of: /"purchase-info" = "([^"]+)"/)?.1)
            let decoded = String(decoding: try #require(Data(base64Encoded: String(info))), as: UTF8.self)
            let forged = Data(decoded.replacing("\"quantity\" = \"1\"", with: "\"quantity\" = \"9\"").utf8)
                .base64EncodedString()
            #expect(forged != info)
            #expect(try await test.verify(Array(text.replacing(info, with: forged).utf8)).status == 21003)
        }
    }

    @Test func anotherAuthoritysReceiptIsRefused() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let stranger = try await CertificateAuthority.open(
                directory: directory.url.appendingPathComponent("authority"), at: Date(milliseconds: TestClock.start))
            try await Backend.sqlite.withStore { test async throws in
                let account = try await test.account()
                try await test.buy("hats", by: account)
                let receipt = try await TestStore.verified(try await test.appReceipt(account))
                let forged = try stranger.receiptSigner(for: .sandbox).sign(receipt).bytes
                #expect(try await test.verify(forged).status == 21003)
            }
        }
    }

    @Test(.enabled(if: Fixtures.url("app-receipts") != nil, "real receipts are not part of the repository"))
    func applesOwnReceiptsAreNotOurs() async throws {
        let folder = try #require(Fixtures.url("app-receipts"))
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { !$0.lastPathComponent.contains(".json") }
        try #require(!files.isEmpty)
        try await Backend.sqlite.withStore { test async throws in
            for file in files {
                let status = try await test.verify([UInt8](try Data(contentsOf: file))).status
                #expect(status == 21003 || status == 21002, "\(file.lastPathComponent)")
            }
        }
    }

    @Test(arguments: Backend.available) func aReceiptOfTheOtherEnvironmentIsRedirected(_ backend: Backend) async throws
    {
        try await backend.withStore(.sandbox) { sandbox async throws in
            try await backend.withStore(.production) { production async throws in
                for (home, other, status) in [(sandbox, production, 21007), (production, sandbox, 21008)] {
                    let account = try await home.account()
                    let club = try await home.buy("club.monthly", by: account)
                    let receipts = [
                        try await home.appReceipt(account),
                        try await home.store.transactionReceipt(
                            club.transactionID, TestStore.receiptRequest, for: account),
                    ]
                    for receipt in receipts {
                        #expect(try await home.verify(receipt, password: home.sharedSecret).status == 0)
                        // Whose it is comes before whether the secret is right.
                        for password in [nil, "x", home.sharedSecret] {
                            #expect(
                                try await other.verify(receipt, password: password).text == "{\"status\":\(status)}")
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: Backend.available) func aReceiptOfADeletedAccountIsReported(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let club = try await test.buy("club.monthly", by: account)
            let receipts = [
                try await test.appReceipt(account),
                try await test.store.transactionReceipt(club.transactionID, TestStore.receiptRequest, for: account),
            ]
            try await test.database.write { try $0.execute("DELETE FROM transactions") }
            for receipt in receipts {
                let answer = try await test.verify(receipt, password: test.sharedSecret)
                #expect(answer.text == #"{"environment":"Sandbox","status":21010,"is_retryable":false}"#)
            }
        }
    }

    @Test func temporaryStatusesCanBeOrdered() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("hats", by: account)
            let bytes = try await test.appReceipt(account)
            for status in [21005, 21009] + Array(21100...21199) {
                try await test.store.faults.order(
                    Faults.Fault(operation: .verifyReceipt, status: status, remaining: 2))
                for _ in 0..<2 {
                    let answer = try await test.verify(bytes)
                    #expect(answer.status == status && answer.object["is_retryable"] as? Bool == true)
                    #expect(answer.object["environment"] as? String == "Sandbox" && answer.object.count == 3)
                }
                #expect(try await test.verify(bytes).status == 0)
            }
        }
    }

    @Test(arguments: Backend.available) func aLostDatabaseIsATemporaryStatus(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let club = try await test.buy("club.monthly", by: account)
            let receipts = [
                try await test.appReceipt(account),
                try await test.store.transactionReceipt(club.transactionID, TestStore.receiptRequest, for: account),
            ]
            await test.database.close()
            for receipt in receipts {
                let answer = try await test.verify(receipt, password: test.sharedSecret)
                #expect(answer.status == 21009 && answer.object["is_retryable"] as? Bool == true)
            }
        }
    }
}
