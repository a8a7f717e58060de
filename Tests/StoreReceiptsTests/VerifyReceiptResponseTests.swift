import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1))) struct VerifyReceiptResponseTests {
    static let receipt = AppReceipt(
        receiptType: "ProductionSandbox", appItemID: 0, bundleID: "com.example.app", bundleIDValue: [],
        applicationVersion: "14.06",
        opaqueValue: [], deviceHash: [], downloadDate: nil, fulfillmentToolVersion: nil, ageRating: "4+",
        developerID: 0,
        creationDate: Date(timeIntervalSince1970: 1_537_851_180), systemVersion: nil, downloadID: 0,
        versionExternalIdentifier: 0,
        inApp: [purchase], originalPurchaseDate: Date(timeIntervalSince1970: 1_375_340_400),
        originalApplicationVersion: "1.0",
        expirationDate: nil, otherAttributes: []
    )

    static let purchase = InAppPurchase(
        quantity: 2, productID: "credits.10", transactionID: "2000000000000001",
        purchaseDate: Date(timeIntervalSince1970: 1_531_643_137),
        originalTransactionID: "2000000000000001", originalPurchaseDate: Date(timeIntervalSince1970: 1_531_643_137),
        productType: 0,
        expiresDate: nil, itemID: 0, webOrderLineItemID: 0, cancellationDate: nil, isTrialPeriod: false,
        isInIntroOfferPeriod: false,
        promotionalOfferID: "", otherAttributes: []
    )

    static let subscription = InAppPurchase(
        quantity: 1, productID: "monthly", transactionID: "1000000166965327",
        purchaseDate: Date(timeIntervalSince1970: 1_439_189_672),
        originalTransactionID: "1000000166965150", originalPurchaseDate: Date(timeIntervalSince1970: 1_439_189_598),
        productType: 3,
        expiresDate: Date(timeIntervalSince1970: 1_439_189_972), itemID: 0, webOrderLineItemID: 1_000_000_030_274_154,
        cancellationDate: nil,
        isTrialPeriod: true, isInIntroOfferPeriod: nil, promotionalOfferID: nil, otherAttributes: []
    )

    private func text(_ response: VerifyReceiptResponse) -> String { String(decoding: response.json, as: UTF8.self) }

    private func object(_ response: VerifyReceiptResponse) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(response.json)) as? [String: Any])
    }

    @Test func anAppReceiptIsAnsweredInApplesOrderAndTypes() {
        let information = ReceiptInformation(Self.receipt, requestDate: ReceiptDate(milliseconds: 1_537_851_189_557))
        let response = VerifyReceiptResponse.appReceipt(
            AppReceiptResponse(environment: .sandbox, receipt: information, latest: nil))
        let expected = """
            {"environment":"Sandbox","receipt":{"receipt_type":"ProductionSandbox","adam_id":0,"app_item_id":0,\
            "bundle_id":"com.example.app","application_version":"14.06","download_id":0,"version_external_identifier":0,\
            "receipt_creation_date":"2018-09-25 04:53:00 Etc/GMT","receipt_creation_date_ms":"1537851180000",\
            "receipt_creation_date_pst":"2018-09-24 21:53:00 America/Los_Angeles",\
            "request_date":"2018-09-25 04:53:09 Etc/GMT","request_date_ms":"1537851189557",\
            "request_date_pst":"2018-09-24 21:53:09 America/Los_Angeles",\
            "original_purchase_date":"2013-08-01 07:00:00 Etc/GMT","original_purchase_date_ms":"1375340400000",\
            "original_purchase_date_pst":"2013-08-01 00:00:00 America/Los_Angeles","original_application_version":"1.0",\
            "in_app":[{"quantity":"2","product_id":"credits.10","transaction_id":"2000000000000001",\
            "original_transaction_id":"2000000000000001",\
            "purchase_date":"2018-07-15 08:25:37 Etc/GMT","purchase_date_ms":"1531643137000",\
            "purchase_date_pst":"2018-07-15 01:25:37 America/Los_Angeles",\
            "original_purchase_date":"2018-07-15 08:25:37 Etc/GMT","original_purchase_date_ms":"1531643137000",\
            "original_purchase_date_pst":"2018-07-15 01:25:37 America/Los_Angeles",\
            "is_trial_period":"false","in_app_ownership_type":"PURCHASED"}]},"status":0}
            """
        #expect(text(response) == expected)
    }

    @Test(arguments: [0, 999_999_999_999, 1_537_851_189_557, 5_000_000_000_000] as [Int64])
    func anEncodedAnswerIsTheSameAtAnotherDate(_ milliseconds: Int64) {
        func answer(_ milliseconds: Int64) -> AppReceiptResponse {
            let purchase = PurchaseInformation(Self.subscription)
            return AppReceiptResponse(
                environment: .sandbox,
                receipt: ReceiptInformation(Self.receipt, requestDate: ReceiptDate(milliseconds: milliseconds)),
                latest: AppReceiptResponse.Latest(
                    purchases: [purchase, purchase], receipt: [1, 2, 3], pendingRenewals: []))
        }
        let encoded = VerifyReceiptResponse.encodedAppReceipt(
            answer(1_531_643_137_000).encoded, requestDate: ReceiptDate(milliseconds: milliseconds))
        #expect(text(encoded) == text(.appReceipt(answer(milliseconds))))
        #expect(encoded.status == .ok)
    }

    @Test func aReceiptWithoutPurchasesHasAnEmptyArray() throws {
        var information = ReceiptInformation(Self.receipt, requestDate: ReceiptDate(milliseconds: 0))
        information.inApp = []
        let response = VerifyReceiptResponse.appReceipt(
            AppReceiptResponse(environment: .production, receipt: information, latest: nil))
        #expect(text(response).hasSuffix(#""in_app":[]},"status":0}"#))
        #expect(Set(try object(response).keys) == ["environment", "receipt", "status"])
    }

    @Test func aSubscriptionIsReadFromAReceipt() {
        let purchase = PurchaseInformation(Self.subscription, ownership: nil)
        #expect(purchase.expiresDate?.milliseconds == 1_439_189_972_000)
        #expect(purchase.webOrderLineItemID == "1000000030274154")
        #expect(purchase.originalTransactionID == "1000000166965150")
        #expect(purchase.isTrialPeriod)
        #expect(purchase.isInIntroOfferPeriod == false)
        #expect(purchase.ownership == nil)
    }

    @Test func everyMemberOfASubscriptionIsAString() throws {
        var purchase = PurchaseInformation(Self.subscription)
        purchase.cancellationDate = ReceiptDate(milliseconds: 1_595_916_053_000)
        purchase.cancellationReason = 1
        purchase.isUpgraded = true
        purchase.promotionalOfferID = "offer"
        purchase.offerCodeRefName = "code \"name\""
        purchase.subscriptionGroupIdentifier = "20939412"
        purchase.ownership = .familyShared
        purchase.appAccountToken = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
        let renewal = PendingRenewal(
            autoRenewProductID: "yearly", productID: "monthly", originalTransactionID: "1000000166965150",
            autoRenewStatus: false,
            expirationIntent: .billingError, isInBillingRetryPeriod: true,
            gracePeriodExpiresDate: ReceiptDate(milliseconds: 0),
            priceConsentStatus: true, priceIncreaseStatus: false, offerCodeRefName: "code", promotionalOfferID: "offer"
        )
        let latest = AppReceiptResponse.Latest(
            purchases: [purchase], receipt: [0xFF, 0xFE], pendingRenewals: [renewal])
        let information = ReceiptInformation(Self.receipt, requestDate: ReceiptDate(milliseconds: 0))
        let body = try object(
            .appReceipt(AppReceiptResponse(environment: .sandbox, receipt: information, latest: latest)))

        #expect(body["latest_receipt"] as? String == "//4=")
        let purchases = try #require(body["latest_receipt_info"] as? [[String: String]])
        #expect(
            purchases == [
                [
                    "quantity": "1", "product_id": "monthly", "transaction_id": "1000000166965327",
                    "original_transaction_id": "1000000166965150", "purchase_date": "2015-08-10 06:54:32 Etc/GMT",
                    "purchase_date_ms": "1439189672000", "purchase_date_pst": "2015-08-09 23:54:32 America/Los_Angeles",
                    "original_purchase_date": "2015-08-10 06:53:18 Etc/GMT",
                    "original_purchase_date_ms": "1439189598000",
                    "original_purchase_date_pst": "2015-08-09 23:53:18 America/Los_Angeles",
                    "expires_date": "2015-08-10 06:59:32 Etc/GMT", "expires_date_ms": "1439189972000",
                    "expires_date_pst": "2015-08-09 23:59:32 America/Los_Angeles",
                    "web_order_line_item_id": "1000000030274154",
                    "is_trial_period": "true", "is_in_intro_offer_period": "false",
                    "cancellation_date": "2020-07-28 06:00:53 Etc/GMT", "cancellation_date_ms": "1595916053000",
                    "cancellation_date_pst": "2020-07-27 23:00:53 America/Los_Angeles", "cancellation_reason": "1",
                    "is_upgraded": "true", "promotional_offer_id": "offer", "offer_code_ref_name": "code \"name\"",
                    "subscription_group_identifier": "20939412", "in_app_ownership_type": "FAMILY_SHARED",
                    "app_account_token": "7E3FB20B-4CDB-47CC-936D-99D65F608138",
                ]
            ]
        )
        let renewals = try #require(body["pending_renewal_info"] as? [[String: String]])
        #expect(
            renewals == [
                [
                    "expiration_intent": "2", "auto_renew_product_id": "yearly", "is_in_billing_retry_period": "1",
                    "product_id": "monthly",
                    "original_transaction_id": "1000000166965150", "auto_renew_status": "0",
                    "grace_period_expires_date": "1970-01-01 00:00:00 Etc/GMT", "grace_period_expires_date_ms": "0",
                    "grace_period_expires_date_pst": "1969-12-31 16:00:00 America/Los_Angeles",
                    "price_consent_status": "1",
                    "price_increase_status": "0", "offer_code_ref_name": "code", "promotional_offer_id": "offer",
                ]
            ]
        )
    }

    @Test func missingMembersAreNotWritten() throws {
        let renewal = PendingRenewal(
            autoRenewProductID: "a", productID: "a", originalTransactionID: "1", autoRenewStatus: true)
        let latest = AppReceiptResponse.Latest(purchases: [], receipt: [], pendingRenewals: [renewal, renewal])
        let information = ReceiptInformation(Self.receipt, requestDate: ReceiptDate(milliseconds: 0))
        let json = text(.appReceipt(AppReceiptResponse(environment: .sandbox, receipt: information, latest: latest)))
        let element =
            #"{"auto_renew_product_id":"a","product_id":"a","original_transaction_id":"1","auto_renew_status":"1"}"#
        #expect(
            json.hasSuffix(
                #","latest_receipt_info":[],"latest_receipt":"","pending_renewal_info":[\#(element),\#(element)],"status":0}"#
            )
        )
    }

    @Test func preorderAndVolumePurchaseDatesAreWritten() throws {
        var receipt = Self.receipt
        receipt.expirationDate = .distantFuture
        var information = ReceiptInformation(receipt, requestDate: ReceiptDate(milliseconds: 0))
        information.preorderDate = ReceiptDate(milliseconds: 0)
        let body = try object(
            .appReceipt(AppReceiptResponse(environment: .production, receipt: information, latest: nil)))
        let members = try #require(body["receipt"] as? [String: Any])
        #expect(members["expiration_date_ms"] as? String == "64092211200000")
        #expect(members["preorder_date"] as? String == "1970-01-01 00:00:00 Etc/GMT")
    }

    @Test func stringsOfEveryKindComeBackFromTheAnswer() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                let range: ClosedRange<UInt32> = Bool.random(using: &random) ? 0...0x7F : 0...0x10_FFFF
                if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { scalars.append(scalar) }
            }
            var receipt = Self.receipt
            receipt.applicationVersion = String(scalars)
            let information = ReceiptInformation(receipt, requestDate: ReceiptDate(milliseconds: 0))
            let body = try object(
                .appReceipt(AppReceiptResponse(environment: .sandbox, receipt: information, latest: nil)))
            let version = try #require((body["receipt"] as? [String: Any])?["application_version"] as? String)
            #expect(Array(version.unicodeScalars) == Array(scalars))
        }
    }

    @Test func oldTransactionsAreLeftOutByOriginalTransaction() {
        func purchase(_ id: String, _ original: String, _ bought: Int64, _ expires: Int64?) -> PurchaseInformation {
            PurchaseInformation(
                quantity: 1, productID: "p", transactionID: id, originalTransactionID: original,
                purchaseDate: ReceiptDate(milliseconds: bought), originalPurchaseDate: ReceiptDate(milliseconds: 0),
                expiresDate: expires.map { ReceiptDate(milliseconds: $0) }
            )
        }
        let all = [
            purchase("1", "1", 0, 10), purchase("2", "1", 20, 30), purchase("3", "1", 10, 20),
            purchase("4", "4", 0, nil),
            purchase("5", "4", 1, nil), purchase("6", "6", 0, 10), purchase("7", "6", 5, 10), purchase("8", "6", 3, 10),
        ]
        #expect(PurchaseInformation.excludingOldTransactions(all).map(\.transactionID) == ["2", "4", "5", "7"])
        #expect(PurchaseInformation.excludingOldTransactions([]).isEmpty)
    }

    /// Each field has its members in the answer, so a new field cannot be left out unseen.
    @Test func everyFieldIsWritten() throws {
        let date = ReceiptDate(milliseconds: 1_531_643_137_000)
        let purchase = PurchaseInformation(
            quantity: 2, productID: "p", transactionID: "2", originalTransactionID: "1", purchaseDate: date,
            originalPurchaseDate: date, expiresDate: date, webOrderLineItemID: "3", isTrialPeriod: true,
            isInIntroOfferPeriod: true, cancellationDate: date, cancellationReason: 1, isUpgraded: true,
            promotionalOfferID: "o", offerCodeRefName: "c", subscriptionGroupIdentifier: "g", ownership: .purchased,
            appAccountToken: "t")
        let renewal = PendingRenewal(
            autoRenewProductID: "p", productID: "q", originalTransactionID: "1", autoRenewStatus: true,
            expirationIntent: .billingError, isInBillingRetryPeriod: true, gracePeriodExpiresDate: date,
            priceConsentStatus: true, priceIncreaseStatus: true, offerCodeRefName: "c", promotionalOfferID: "o")
        var information = ReceiptInformation(Self.receipt, requestDate: date)
        (information.preorderDate, information.expirationDate, information.inApp) = (date, date, [purchase])
        let answer = AppReceiptResponse(
            environment: .sandbox, receipt: information,
            latest: .init(purchases: [purchase], receipt: [1], pendingRenewals: [renewal]))
        #expect(MessageCheck.emptyFields(of: answer, at: "answer") == [])
        let json = try object(.appReceipt(answer))
        func check(_ value: Any, _ json: Any?, more: Int = 0) throws {
            let fields = Mirror(reflecting: value).children.map { $0.value }
            let dates = fields.count { field in
                field is ReceiptDate || Mirror(reflecting: field).children.first?.value is ReceiptDate
            }
            let members = try #require(json as? [String: Any])
            #expect(members.count == fields.count + 2 * dates + more, "\(type(of: value))")
        }
        func first(_ name: String) -> Any? { (json[name] as? [Any])?.first }
        // `adam_id` repeats `app_item_id`.
        try check(information, json["receipt"], more: 1)
        try check(purchase, first("latest_receipt_info"))
        try check(renewal, first("pending_renewal_info"))
        #expect(json.count == 6)

        let request = VerifyReceiptRequest(receiptData: [1, 2], password: "p", excludeOldTransactions: true)
        #expect(MessageCheck.emptyFields(of: request, at: "request") == [])
        #expect(try VerifyReceiptRequest(body: request.body) == request)
        try check(request, try JSONSerialization.jsonObject(with: Data(request.body)))
    }
}
