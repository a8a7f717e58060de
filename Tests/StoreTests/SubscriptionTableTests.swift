import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A period of a row with its identifiers and dates, as every interface has to tell it.
private struct TablePeriod {
    let expected: ExpectedPeriod
    /// The period in the ledger, of which only the identifiers are used.
    let entry: Transaction
    let originalID: TransactionID
    let originalPurchaseDate: Int64
    let purchaseDate: Int64
    var expiresDate: Int64
    /// When it was refunded or revoked; nil if it was not.
    var cancelledAt: Int64?
    let isShared: Bool

    var id: TransactionID { entry.transactionID }
    var isUpgraded: Bool { expected.marks.contains(.upgraded) }
    private var group: String { expected.product.hasPrefix("gym.") ? "21000002" : "21000001" }
    private var isTrial: Bool { expected.marks.contains(.trial) }
    private var isIntroductory: Bool { expected.marks.contains(.introductory) }

    private var cancellationReason: String? {
        for case .cancelled(let reason) in expected.marks { return reason }
        return nil
    }

    private var code: String? {
        for case .code(let name) in expected.marks { return name }
        return nil
    }

    private var promotionalOffer: String? {
        for case .promotional(let id) in expected.marks { return id }
        return nil
    }

    /// Apple's `revocationType`.
    private var revocationType: String? {
        guard cancelledAt != nil else { return nil }
        if isShared { return "FAMILY_REVOKE" }
        return isProrated ? "REFUND_PRORATED" : "REFUND_FULL"
    }

    /// Apple's `revocationPercentage`, in milliunits.
    private var revocationPercentage: Int64? {
        isProrated ? entry.refunded * 100_000 / max(entry.price.milliunits, 1) : nil
    }

    private var isProrated: Bool { expected.marks.contains(.prorated) }

    /// The periods of a row, the oldest first.
    /// - Parameters:
    ///   - first: when the first one was bought.
    ///   - ledger: the account's transactions, the oldest first.
    static func all(
        _ row: SubscriptionRow, since first: Int64, until now: Int64, _ ledger: [Transaction]
    ) throws -> [TablePeriod] {
        try #require(ledger.count == row.periods.count, "\(row.name)")
        var periods: [TablePeriod] = []
        for (expected, entry) in zip(row.periods, ledger) {
            let start: Int64 =
                switch expected.start {
                case .first: first
                case .endBefore: periods.last?.expiresDate ?? first
                case .now: now / 1000 * 1000
                }
            var end = start
            for length in expected.length.split(separator: "+") {
                end = try #require(SubscriptionPeriod(iso8601: length)).end(from: end)
            }
            var period = TablePeriod(
                expected: expected, entry: entry, originalID: ledger[0].transactionID, originalPurchaseDate: first,
                purchaseDate: start, expiresDate: end, cancelledAt: nil, isShared: row.isShared)
            if period.cancellationReason != nil { period.cancelledAt = now }
            periods.append(period)
        }
        return periods
    }

    /// A date's three forms in an answer.
    static func forms(_ name: String, _ milliseconds: Int64?) -> [String: String] {
        guard let date = milliseconds.map({ ReceiptDate(milliseconds: $0) }) else { return [:] }
        return [name: date.gmt, name + "_ms": date.millisecondsText, name + "_pst": date.pacific]
    }

    private static func wholeSeconds(_ milliseconds: Int64?) -> Int64? { milliseconds.map { $0 / 1000 * 1000 } }

    /// The members that all answers of `verifyReceipt` have.
    private var common: [String: String] {
        var members = [
            "quantity": "1", "product_id": expected.product, "transaction_id": id.description,
            "original_transaction_id": originalID.description, "is_trial_period": "\(isTrial)",
            "is_in_intro_offer_period": "\(isIntroductory)",
        ]
        members["web_order_line_item_id"] = entry.webOrderLineItemID.map { "\($0)" }
        members.merge(Self.forms("purchase_date", purchaseDate)) { $1 }
        members.merge(Self.forms("original_purchase_date", originalPurchaseDate)) { $1 }
        return members
    }

    /// The element of `in_app`, which is made from the receipt.
    var inApp: [String: String] {
        var members = common
        members["in_app_ownership_type"] = isShared ? "FAMILY_SHARED" : "PURCHASED"
        members["promotional_offer_id"] = promotionalOffer
        members.merge(Self.forms("expires_date", expiresDate)) { $1 }
        members.merge(Self.forms("cancellation_date", Self.wholeSeconds(cancelledAt))) { $1 }
        return members
    }

    /// The element of `latest_receipt_info`, which is made from the ledger and says more.
    var latest: [String: String] {
        var members = inApp
        members["subscription_group_identifier"] = group
        members["offer_code_ref_name"] = code
        members["cancellation_reason"] = cancellationReason
        members["is_upgraded"] = isUpgraded ? "true" : nil
        return members
    }

    /// The purchase in the app receipt, without the attributes that Apple does not document.
    func purchase(in environment: StoreEnvironment) -> InAppPurchase {
        InAppPurchase(
            quantity: 1, productID: expected.product, transactionID: id.description,
            purchaseDate: Date(milliseconds: purchaseDate), originalTransactionID: originalID.description,
            originalPurchaseDate: Date(milliseconds: originalPurchaseDate), productType: 3,
            expiresDate: Date(milliseconds: expiresDate), itemID: environment == .sandbox ? 0 : entry.itemID,
            webOrderLineItemID: entry.webOrderLineItemID,
            cancellationDate: Self.wholeSeconds(cancelledAt).map { Date(milliseconds: $0) },
            isTrialPeriod: isTrial, isInIntroOfferPeriod: isIntroductory, promotionalOfferID: promotionalOffer,
            otherAttributes: [])
    }

    /// The object of an iOS 6 receipt in an answer. Only production names the app and its version.
    func transactionReceipt(of app: AppRecord, in environment: StoreEnvironment) -> [String: String] {
        var members = common
        let expires = ReceiptDate(milliseconds: expiresDate)
        members["expires_date"] = expires.millisecondsText
        members["expires_date_formatted"] = expires.gmt
        members["expires_date_formatted_pst"] = expires.pacific
        members["item_id"] = "\(entry.itemID)"
        members["bid"] = TestStore.bundleID.rawValue
        members["bvrs"] = "7"
        members["unique_vendor_identifier"] = TestStore.device.uuidString
        if environment == .production {
            members["app_item_id"] = "\(app.appID)"
            members["version_external_identifier"] = "\(app.versionExternalIdentifier("7"))"
        }
        // These dates have their milliseconds.
        members.merge(Self.forms("cancellation_date", cancelledAt)) { $1 }
        if cancelledAt != nil { members["cancellation_reason"] = cancellationReason }
        return members
    }

    /// The price in milliunits.
    var price: Int64? { isShared ? 0 : expected.price }

    /// The texts in a signed transaction of version 2; nil for those that are missing.
    func signedTexts(in environment: StoreEnvironment) -> [String: String?] {
        [
            "transactionId": id.description, "originalTransactionId": originalID.description,
            "webOrderLineItemId": entry.webOrderLineItemID.map { "\($0)" }, "bundleId": TestStore.bundleID.rawValue,
            "productId": expected.product, "subscriptionGroupIdentifier": group, "type": "Auto-Renewable Subscription",
            "inAppOwnershipType": isShared ? "FAMILY_SHARED" : "PURCHASED", "offerIdentifier": expected.offer?.id,
            "offerDiscountType": expected.offer?.mode, "offerPeriod": expected.offer?.period,
            "transactionReason": expected.isRenewal ? "RENEWAL" : "PURCHASE", "environment": environment.rawValue,
            "storefront": "USA", "storefrontId": "143441", "currency": "USD", "revocationType": revocationType,
        ]
    }

    /// The numbers in a signed transaction of version 2; nil for those that are missing.
    var signedNumbers: [String: Int64?] {
        [
            "purchaseDate": purchaseDate, "originalPurchaseDate": originalPurchaseDate, "expiresDate": expiresDate,
            "quantity": 1, "revocationDate": cancelledAt, "revocationReason": cancellationReason.flatMap { Int64($0) },
            "offerType": expected.offer?.type, "price": price,
            "revocationPercentage": revocationPercentage,
        ]
    }

    /// The transaction on a device.
    func description(id: TransactionID, purchaseDate: Int64, key: UUID?) -> TransactionDescription {
        TransactionDescription(
            transactionID: id, originalTransactionID: originalID, bundleID: TestStore.bundleID,
            productID: ProductID(expected.product), kind: .autoRenewableSubscription, quantity: 1,
            purchaseDate: purchaseDate, originalPurchaseDate: originalPurchaseDate, expiresDate: expiresDate,
            applicationUsername: nil, idempotencyKey: key)
    }
}

/// The events of ``SubscriptionRow/all`` happen, and every interface is compared with the row, member by member.
@Suite("Apple's table of subscriptions", .timeLimit(.minutes(1))) struct SubscriptionTableTests {
    @Test(arguments: Backend.available, SubscriptionRow.groups)
    func everyInterfaceTellsTheSame(_ backend: Backend, _ group: SubscriptionRow.Group) async throws {
        try await backend.withStore(group.environment) { test async throws in
            test.store.catalog.replace(with: try SubscriptionRow.catalog())
            let api = try await TestAPI(test)
            for (number, row) in group.rows.enumerated() { try await check(row, number, at: test, api) }
        }
    }

    private func check(_ row: SubscriptionRow, _ number: Int, at test: TestStore, _ api: TestAPI) async throws {
        let account = try await test.account("ape\(number)@example.com")
        let buyer = row.isShared ? try await organizer(number, of: account, at: test) : account
        let bought = try await test.buy(row.first, by: buyer)
        let first = try #require(try await ledger(of: account, at: test).first)
        // A refunded transaction gets no new receipt of iOS 6, but an old one stays good.
        let old = try await test.store.transactionReceipt(first.transactionID, TestStore.receiptRequest, for: account)
        try await row.play(
            SubscriptionRow.Play(test: test, account: buyer, id: bought.originalTransactionID, member: account))

        let now = test.store.clock.milliseconds
        let subscriptions =
            row.isShared
            ? try await test.store.sharedSubscriptions(of: account) : try await test.store.subscriptions(of: account)
        let subscription = try #require(subscriptions.first)
        #expect(subscriptions.count == 1 && subscription.state == row.state, "\(row.name)")
        let news = try await test.store.news(of: first.transactionID).reversed().map {
            [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        }
        #expect(news == row.news, "\(row.name)")

        let periods = try TablePeriod.all(
            row, since: bought.purchaseDate, until: now, try await ledger(of: account, at: test))
        let pending = try await checkAppReceipt(row, periods, of: account, at: test)
        try await checkTransactionReceipt(old, sold: first, row, periods, at: test)
        try await checkSnapshot(of: subscription, row, periods, pending, at: test)
        try await checkServerAPI(row, periods, pending, at: api)
        try await checkDevice(row, periods, of: account, at: test)
        for period in periods {
            #expect(period.entry.price.milliunits == period.price, "\(row.name)")
            guard period.expected.marks.contains(.prorated) else { continue }
            // Half of the time was left.
            #expect((4_990...5_000).contains(period.entry.refunded), "\(row.name)")
        }
        if periods.count > 1, !row.isStill, !row.isShared, !periods[0].isUpgraded {
            // The line item of the next period is allocated with the first one, and survives a lapse. Numbers follow
            // one another in a store that has made only a few.
            let lines = periods.compactMap(\.entry.webOrderLineItemID)
            #expect(lines.count == periods.count && lines[1] == lines[0] + 1, "\(row.name)")
        }
    }

    /// A new account that has the given one in its family.
    private func organizer(_ number: Int, of member: Account, at test: TestStore) async throws -> Account {
        let organizer = try await test.account("organizer\(number)@example.com")
        _ = try await test.store.createFamily(of: organizer)
        _ = try await test.store.addToFamily(of: organizer, member)
        return organizer
    }

    private func ledger(of account: Account, at test: TestStore) async throws -> [Transaction] {
        try await test.ledger().filter { $0.accountID == account.accountID }
    }

    // MARK: Receipts

    /// The app receipt, and what `verifyReceipt` answers to it.
    /// - Returns: the element of `pending_renewal_info`; nil for none.
    private func checkAppReceipt(
        _ row: SubscriptionRow, _ periods: [TablePeriod], of account: Account, at test: TestStore
    ) async throws -> [String: String]? {
        let bytes = try await test.appReceipt(account)
        let receipt = try await TestStore.verified(bytes)
        #expect(receipt.environment == row.environment, "\(row.name)")
        var purchases = receipt.inApp.sorted { $0.transactionID < $1.transactionID }
        #expect(purchases.allSatisfy { $0.isFamilyShared == row.isShared }, "\(row.name)")
        for index in purchases.indices { purchases[index].otherAttributes = [] }
        #expect(purchases == periods.map { $0.purchase(in: row.environment) }, "\(row.name)")

        let answer = try await test.verify(bytes, password: test.sharedSecret)
        #expect(answer.status == 0, "\(row.name)")
        #expect(answer.object["environment"] as? String == row.environment.rawValue, "\(row.name)")
        #expect(
            Set(answer.object.keys) == [
                "status", "environment", "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
            ], "\(row.name)")
        // The one that ends last comes first.
        let newest = periods.sorted { ($0.expiresDate, $0.id) > ($1.expiresDate, $1.id) }
        #expect(answer.latest.compactMap { $0 as? [String: String] } == newest.map(\.latest), "\(row.name)")
        let inApp = answer.inApp.compactMap { $0 as? [String: String] }
        #expect(inApp.count == periods.count && Set(inApp) == Set(periods.map(\.inApp)), "\(row.name)")
        let latest = try await TestStore.verified(try #require(answer.latestReceipt))
        #expect(latest.inApp == receipt.inApp, "\(row.name)")

        var wanted = row.pending
        wanted?["original_transaction_id"] = periods[0].id.description
        if let grace = wanted?.removeValue(forKey: "grace_period_expires_date"), let last = periods.last {
            let end = try #require(SubscriptionPeriod(iso8601: grace)).end(from: last.expiresDate)
            wanted?.merge(TablePeriod.forms("grace_period_expires_date", end)) { $1 }
        }
        let pending = answer.pending.compactMap { $0 as? [String: String] }
        #expect(pending == [wanted].compactMap(\.self), "\(row.name)")
        return pending.first
    }

    /// What `verifyReceipt` answers to the iOS 6 receipt of the first period.
    /// - Parameter first: the period when it was sold.
    private func checkTransactionReceipt(
        _ bytes: [UInt8], sold first: Transaction, _ row: SubscriptionRow, _ periods: [TablePeriod], at test: TestStore
    ) async throws {
        let app = try #require(test.store.apps[TestStore.bundleID])
        let answer = try await test.verify(bytes, password: test.sharedSecret)
        var sold = try #require(periods.first)
        sold.expiresDate = try #require(first.expiresDate)
        sold.cancelledAt = nil
        #expect(
            answer.receipt as? [String: String] == sold.transactionReceipt(of: app, in: row.environment),
            "\(row.name)")

        let last = try #require(periods.last)
        let isExpired = last.expiresDate <= test.store.clock.milliseconds
        #expect(answer.status == (isExpired ? 21006 : 0), "\(row.name)")
        let information = isExpired ? "latest_expired_receipt_info" : "latest_receipt_info"
        let latest = last.transactionReceipt(of: app, in: row.environment)
        #expect(answer.object[information] as? [String: String] == latest, "\(row.name)")
        var keys: Set = ["status", "receipt", information, "auto_renew_status", "auto_renew_product_id"]
        let status = row.pending?["auto_renew_status"] ?? "0"
        #expect(answer.object["auto_renew_status"] as? Int == Int(status), "\(row.name)")
        let next = row.pending?["auto_renew_product_id"] ?? last.expected.product
        #expect(answer.object["auto_renew_product_id"] as? String == next, "\(row.name)")
        if isExpired {
            keys.formUnion(["expiration_intent", "is_in_billing_retry_period"])
            // Without an element of pending_renewal_info the customer has cancelled.
            let intent = row.pending?["expiration_intent"] ?? "1"
            #expect(answer.object["expiration_intent"] as? String == intent, "\(row.name)")
            let retry = row.pending?["is_in_billing_retry_period"] ?? "0"
            #expect(answer.object["is_in_billing_retry_period"] as? String == retry, "\(row.name)")
        } else if last.cancelledAt == nil {
            keys.insert("latest_receipt")
            let newest = try await test.verify(try #require(answer.latestReceipt), password: test.sharedSecret)
            #expect(newest.status == 0 && newest.receipt as? [String: String] == latest, "\(row.name)")
        }
        #expect(Set(answer.object.keys) == keys, "\(row.name)")
    }

    // MARK: Devices

    /// What StoreKit gets: the transactions that it has not finished, and those of a restore afterwards.
    private func checkDevice(
        _ row: SubscriptionRow, _ periods: [TablePeriod], of account: Account, at test: TestStore
    ) async throws {
        let bundleID = TestStore.bundleID
        let unfinished = try await test.store.unfinishedTransactions(of: account, in: bundleID, after: nil).transactions
        let keys = unfinished.map(\.idempotencyKey)
        // No payment made a member's transactions.
        #expect(keys.allSatisfy { ($0 == nil) == row.isShared }, "\(row.name)")
        let expected = zip(periods, keys).map { period, key in
            period.description(id: period.id, purchaseDate: period.purchaseDate, key: key)
        }
        #expect(unfinished == expected && unfinished.count == periods.count, "\(row.name)")

        for transaction in unfinished { try await test.store.finish(transaction.transactionID, of: account) }
        let rest = try await test.store.unfinishedTransactions(of: account, in: bundleID, after: nil)
        #expect(rest.transactions.isEmpty, "\(row.name)")
        let request = RestoreRequest(
            idempotencyKey: UUID(), bundleID: bundleID, deviceID: TestStore.device, applicationUsername: nil,
            after: nil)
        let restored = try await test.store.restore(request, for: account).transactions
        let lasting = periods.filter { $0.cancelledAt == nil }
        let now = test.store.clock.milliseconds
        let again = zip(lasting, restored).map { period, found in
            period.description(id: found.transactionID, purchaseDate: now, key: nil)
        }
        #expect(restored == again && restored.count == lasting.count, "\(row.name)")
        #expect(Set(restored.map(\.transactionID)).isDisjoint(with: periods.map(\.id)), "\(row.name)")
    }

    // MARK: The App Store Server API and notifications

    /// Apple's `status`.
    private func status(_ state: Subscription.State) -> Int? {
        let states: [Subscription.State] = [.active, .expired, .billingRetry, .gracePeriod, .revoked]
        return states.firstIndex(of: state).map { $0 + 1 }
    }

    /// The status of the subscription, and its periods in the history.
    private func checkServerAPI(
        _ row: SubscriptionRow, _ periods: [TablePeriod], _ pending: [String: String]?, at api: TestAPI
    ) async throws {
        let statuses = try await api.statuses(periods[0].id)
        let answer = try #require(statuses.first, "\(row.name)")
        #expect(statuses.count == 1 && answer.status == status(row.state), "\(row.name)")
        #expect(answer.transaction["transactionId"] as? String == periods.last?.id.description, "\(row.name)")
        #expect(
            answer.renewal["autoRenewStatus"] as? Int == Int(row.pending?["auto_renew_status"] ?? "0"), "\(row.name)")
        for (name, value) in try renewalMembers(row, periods, pending) {
            #expect(text(name, of: answer.renewal) == value, "\(name) of \(row.name) at the Server API")
        }
        let page = try await api.page(periods[0].id.description)
        let signed = try #require(page.object["signedTransactions"] as? [String])
        #expect(Set(page.ids) == Set(periods.map(\.id.description)) && signed.count == periods.count, "\(row.name)")
        for text in signed {
            let payload = try api.payload(text)
            let id = payload["transactionId"] as? String
            let period = try #require(periods.first { $0.id.description == id }, "\(row.name)")
            for (name, value) in period.signedTexts(in: row.environment) {
                #expect(payload[name] as? String == value, "\(name) of \(row.name)")
            }
            for (name, value) in period.signedNumbers {
                #expect(payload[name] as? Int64 == value, "\(name) of \(row.name)")
            }
            #expect(payload["isUpgraded"] as? Bool ?? false == period.isUpgraded, "\(row.name)")
        }
    }

    /// The last news tell the state that `verifyReceipt` tells, too.
    private func checkSnapshot(
        of subscription: Subscription, _ row: SubscriptionRow, _ periods: [TablePeriod], _ pending: [String: String]?,
        at test: TestStore
    ) async throws {
        let snapshot = try #require(try await test.snapshots(of: subscription.originalTransactionID).last)
        #expect(snapshot.status == status(row.state), "\(row.name)")
        func renewal(_ member: String) -> String? { ReadSnapshot.text(snapshot.renewal[member]) }
        func transaction(_ member: String) -> String? { ReadSnapshot.text(snapshot.transaction[member]) }

        let period = try #require(periods.first { $0.id.description == transaction("transactionId") }, "\(row.name)")
        #expect(transaction("productId") == period.expected.product, "\(row.name)")
        #expect(transaction("purchaseDate") == "\(period.purchaseDate)", "\(row.name)")
        #expect(transaction("expiresDate") == "\(period.expiresDate)", "\(row.name)")
        #expect(transaction("originalTransactionId") == periods[0].id.description, "\(row.name)")
        let ownership = row.isShared ? "FAMILY_SHARED" : "PURCHASED"
        #expect(transaction("inAppOwnershipType") == ownership, "\(row.name)")

        for (name, value) in try renewalMembers(row, periods, pending) {
            #expect(renewal(name) == value, "\(name) of \(row.name) in the news")
        }
    }

    /// The members of renewal information, as text; nil for those that are missing.
    /// - Parameter pending: the element of `pending_renewal_info`; nil for none.
    private func renewalMembers(
        _ row: SubscriptionRow, _ periods: [TablePeriod], _ pending: [String: String]?
    ) throws -> [String: String?] {
        let last = try #require(periods.last)
        let start = row.startsAnew ? last.purchaseDate : periods[0].purchaseDate
        let (price, offer) = (row.renewalPrice, row.nextOffer)
        var members: [String: String?] = [
            "originalTransactionId": periods[0].id.description, "environment": row.environment.rawValue,
            "renewalDate": "\(last.expiresDate)", "recentSubscriptionStartDate": "\(start)",
            "renewalPrice": price.map { "\($0)" }, "currency": price.map { _ in "USD" },
            "eligibleWinBackOfferIds": row.winBackOffers, "offerIdentifier": offer?.id,
            "offerType": offer.map { "\($0.type)" }, "offerDiscountType": offer?.mode, "offerPeriod": offer?.period,
        ]
        guard let pending else { return members }
        for (name, key) in [
            ("autoRenewProductId", "auto_renew_product_id"), ("productId", "product_id"),
            ("autoRenewStatus", "auto_renew_status"), ("expirationIntent", "expiration_intent"),
            ("gracePeriodExpiresDate", "grace_period_expires_date_ms"),
            ("priceIncreaseStatus", "price_increase_status"),
        ] {
            members.updateValue(pending[key], forKey: name)
        }
        let isRetrying = pending["is_in_billing_retry_period"].map { $0 == "1" ? "true" : "false" }
        members.updateValue(isRetrying, forKey: "isInBillingRetryPeriod")
        return members
    }

    /// A member of a signed payload as text; nil when it is missing.
    private func text(_ name: String, of payload: [String: Any]) -> String? {
        // A number is no flag, although it can be read as one.
        if name == "isInBillingRetryPeriod" { return (payload[name] as? Bool).map { "\($0)" } }
        if let texts = payload[name] as? [String] { return texts.joined(separator: ", ") }
        return payload[name] as? String ?? (payload[name] as? Int64).map { "\($0)" }
    }
}
