import CornerstoreEncoding
import Database
import Foundation
import StoreReceipts
import StoreWire

/// The subscription that a sample is about: the payloads of its last transaction and of its renewal information.
private struct SampleSubscription: Sendable {
    var transaction: [UInt8]
    var renewal: [UInt8]
    /// Apple's number of the state.
    var status: Int64
    /// The price of the last period in milliunits.
    var price: Int64
    /// The customer in the app.
    var customer: AppCustomer
    /// The customer's account; nil for a made-up one.
    var accountID: AccountID?
}

extension NotificationOutbox {
    private static let day: Int64 = 86_400_000

    /// The content of a sample. It names no account and no transaction of the store in the outbox, so that no
    /// customer's history has it.
    /// - Throws: ``StoreError`` `unknown_app`; ``DatabaseError``; ``ReceiptAuthorityError`` when an app transaction
    ///   cannot be signed.
    func content(of sample: NotificationSample, for bundleID: BundleID) async throws -> NotificationContent {
        let date = store.clock.milliseconds
        var content = NotificationContent(
            type: sample.type, subtype: sample.subtype, bundleID: bundleID, date: date, isSample: true)
        switch sample.form {
        case .externalPurchase(let hasType):
            content.part = externalPurchase(of: bundleID, at: date, hasType: hasType)
        case .appTransaction:
            let subscription = try await firstSubscription(of: bundleID, at: date)
            content.part = try await consent(of: bundleID, at: date, subscription ?? madeUp(for: bundleID, at: date))
        case .advancedCommerce:
            let subscription = try await firstSubscription(of: bundleID, at: date) ?? madeUp(for: bundleID, at: date)
            content.status = subscription.status
            content.transactionInfo = Self.joined(
                subscription.transaction, advancedCommerce(sample.type, subscription, isRenewal: false))
            content.renewalInfo = Self.joined(
                subscription.renewal, advancedCommerce(sample.type, subscription, isRenewal: true))
        case .seats:
            // No subscription of the store has seats.
            let subscription = madeUp(for: bundleID, at: date, quantity: 5)
            content.status = subscription.status
            content.transactionInfo = Self.joined(
                subscription.transaction, Self.seats(areRefunded: sample.type == "REFUND"))
            content.renewalInfo = Self.joined(
                subscription.renewal, Self.renewingSeats(sample.subtype == "INCREASE_QUANTITY" ? 6 : 4))
        case .unclaimedSeats:
            content.part = unclaimedSeats(of: bundleID)
        }
        return content
    }

    // MARK: Subscriptions

    /// The first subscription in an app, as it is now; nil without one.
    private func firstSubscription(of bundleID: BundleID, at date: Int64) async throws -> SampleSubscription? {
        let recorder = store.recorder
        return try await store.database.write { connection -> SampleSubscription? in
            guard let subscription = try Subscriptions.first(in: bundleID, connection),
                let snapshot = try SubscriptionSnapshot(subscription, period: nil, at: date, recorder, connection)
            else { return nil }
            var customer = try AppCustomers.findKeeping(subscription.accountID, in: bundleID, connection)
            let id = customer.appTransactionID ?? AppTransactionID(subscription.originalTransactionID)
            customer.appTransactionID = id
            return SampleSubscription(
                transaction: snapshot.transactionPayload(signedDate: date, appTransactionID: id),
                renewal: snapshot.renewalPayload(signedDate: date, appTransactionID: id),
                status: Int64(snapshot.status), price: snapshot.period.price.milliunits, customer: customer,
                accountID: subscription.accountID)
        }
    }

    /// A subscription that nobody has. Its period ends at once, so that it gives no access.
    private func madeUp(for bundleID: BundleID, at date: Int64, quantity: Int = 1) -> SampleSubscription {
        let id = store.ids.next()
        let customer = AppTransactionID(id)
        let product = store.catalog.value.app(bundleID)?.products.first { $0.kind == .autoRenewableSubscription }
        let price = product?.price(in: .unitedStates) ?? Money(milliunits: 4_990, currency: "USD")
        let began = (date - 30 * Self.day) / 1_000 * 1_000
        let transaction = Transaction(
            accountID: AccountID("sample"), transactionID: id, originalTransactionID: id, bundleID: bundleID,
            productID: product?.productID ?? ProductID(bundleID.rawValue + ".sample"), itemID: product?.itemID ?? 0,
            kind: .autoRenewableSubscription, quantity: quantity, price: price,
            storefront: Storefront.unitedStates.countryCode, purchaseDate: began, originalPurchaseDate: began,
            expiresDate: date, webOrderLineItemID: store.ids.next().rawValue,
            subscriptionGroupID: product?.subscription?.groupID ?? SubscriptionGroupID("sample"))
        var bought = JSONBytes(capacity: 1_536)
        bought.beginObject()
        transaction.writePayload(store.environment, signedDate: date, appTransactionID: customer, to: &bought)
        bought.endObject()
        var renewal = JSONBytes(capacity: 1_024)
        renewal.beginObject()
        renewal.member("originalTransactionId", quotedNumber: id.rawValue)
        renewal.member("productId", transaction.productID.rawValue)
        renewal.member("autoRenewProductId", transaction.productID.rawValue)
        renewal.member("autoRenewStatus", number: 1)
        renewal.member("signedDate", number: date)
        renewal.member("environment", store.environment.signedName)
        renewal.member("recentSubscriptionStartDate", number: began)
        renewal.member("renewalDate", number: date)
        renewal.member("renewalPrice", number: price.milliunits)
        renewal.member("currency", price.currency)
        renewal.member("appTransactionId", customer.description)
        renewal.endObject()
        return SampleSubscription(
            transaction: bought.bytes, renewal: renewal.bytes, status: 1, price: price.milliunits,
            customer: AppCustomer(appTransactionID: customer))
    }

    /// An object with the members of both, as text.
    private static func joined(_ object: [UInt8], _ more: [UInt8]) -> String {
        var bytes = Array(object.dropLast())
        bytes.append(UInt8(ascii: ","))
        bytes += more.dropFirst()
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Contents

    /// `advancedCommerceInfo` of a transaction or of renewal information, with one item.
    private func advancedCommerce(
        _ type: String, _ subscription: SampleSubscription, isRenewal: Bool
    ) -> [UInt8] {
        var json = JSONBytes(capacity: 1_024)
        json.beginObject()
        if type == "MIGRATION", !isRenewal {
            json.member("previousOriginalTransactionId", quotedNumber: store.ids.next().rawValue)
        }
        json.beginObject("advancedCommerceInfo")
        json.beginObject("descriptors")
        json.member("displayName", "Sample")
        json.member("description", "A sample of Cornerstore")
        json.endObject()
        json.beginArray("items")
        json.beginObject()
        json.member("SKU", "sample")
        json.member("displayName", "Sample")
        json.member("description", "A sample of Cornerstore")
        json.member("price", number: subscription.price)
        if isRenewal, type == "PRICE_CHANGE" {
            json.beginObject("priceIncreaseInfo")
            json.beginArray("dependentSKUs")
            json.endArray()
            json.member("price", number: subscription.price + 1_000)
            json.member("status", "PENDING")
            json.endObject()
        }
        json.endObject()
        json.endArray()
        json.member("period", "P1M")
        json.member("requestReferenceId", UUID().text.lowercased())
        json.member("taxCode", "C003-00-2")
        if isRenewal {
            json.member("consistencyToken", "sample")
        } else {
            json.member("estimatedTax", number: 0)
            json.member("taxExclusivePrice", number: subscription.price)
            json.member("taxRate", "0")
        }
        json.endObject()
        json.endObject()
        return json.bytes
    }

    /// The members that only the transaction of a subscription with seats has.
    private static func seats(areRefunded: Bool) -> [UInt8] {
        var json = JSONBytes(capacity: 128)
        json.beginObject()
        json.member("invitationManagement", "DEVELOPER")
        if areRefunded {
            json.beginObject("multiSeatInfo")
            json.member("revokedSeatQuantity", number: 1)
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }

    /// The members that only the renewal information of a subscription with seats has.
    private static func renewingSeats(_ quantity: Int64) -> [UInt8] {
        var json = JSONBytes(capacity: 64)
        json.beginObject()
        json.member("renewalQuantity", number: quantity)
        json.endObject()
        return json.bytes
    }

    private func externalPurchase(of bundleID: BundleID, at date: Int64, hasType: Bool) -> String {
        var json = JSONBytes(capacity: 512)
        json.beginObject()
        json.beginObject("externalPurchaseToken")
        json.member(
            "externalPurchaseId", (store.environment == .sandbox ? "SANDBOX_" : "") + UUID().text.lowercased())
        json.member("tokenCreationDate", number: date)
        if hasType {
            json.member("tokenType", "SERVICES")
            json.member("tokenExpirationDate", number: date + 365 * Self.day)
        }
        if let app = store.apps[bundleID] { json.member("appAppleId", number: app.appID) }
        json.member("bundleId", bundleID.rawValue)
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// `appData`. The app transaction is signed now: the outbox signs only transactions and renewal information later.
    private func consent(
        of bundleID: BundleID, at date: Int64, _ subscription: SampleSubscription
    ) async throws -> String {
        guard let app = store.apps[bundleID] else {
            throw StoreError(.unknownApp, "The store no longer has this app.")
        }
        var firstDate = date
        if let id = subscription.accountID, let account = try await store.accounts.account(id) {
            firstDate = ReceiptIssuer.originalPurchaseDate(of: account, store.environment)
        }
        let signed = try identity().sign(
            store.appTransactionPayload(app, subscription.customer, since: firstDate, at: date))
        var json = JSONBytes(capacity: 8_192)
        json.beginObject()
        json.beginObject("appData")
        if store.environment == .production { json.member("appAppleId", number: app.appID) }
        json.member("signedAppTransactionInfo", signed)
        json.member("bundleId", bundleID.rawValue)
        json.member("environment", store.environment.signedName)
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func unclaimedSeats(of bundleID: BundleID) -> String {
        var json = JSONBytes(capacity: 512)
        json.beginObject()
        json.beginObject("unclaimInfo")
        if store.environment == .production, let app = store.apps[bundleID] {
            json.member("appAppleId", number: app.appID)
        }
        json.member("bundleId", bundleID.rawValue)
        json.member("environment", store.environment.signedName)
        json.beginArray("unclaimSeatIds")
        json.element(UUID().text.lowercased())
        json.endArray()
        json.endObject()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
