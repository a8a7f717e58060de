import CornerstoreEncoding
import Database
import Foundation
import StoreWire

extension ServerAPI {
    /// Answers `POST /inApps/v1/transactions/{transactionId}/finish`: finishes a transaction, as the app would. Again
    /// it has no effect.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func finish(_ id: String, of bundleID: BundleID) async throws {
        let transaction = try await found(id, of: bundleID).transaction
        let (transactionID, accountID, now) = (
            transaction.transactionID, transaction.accountID, store.clock.milliseconds
        )
        _ = try await store.database.write { connection in
            try Transactions.finish(transactionID, of: accountID, at: now, connection)
                || RestoredTransactions.finish(transactionID, of: accountID, at: now, connection)
        }
        store.changed(.transactions)
    }

    /// Answers `PUT /inApps/v1/transactions/{originalTransactionId}/appAccountToken`. The token replaces the user name
    /// of all transactions of the purchase, and later renewals have it too.
    /// - Parameter body: `{"appAccountToken": "…"}` with a UUID. Other members are ignored.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func setAppAccountToken(_ id: String, _ body: [UInt8], of bundleID: BundleID) async throws {
        guard let members = try? FlatJSONObject(body) else { throw APIError.badRequest }
        guard let text = try? members.string("appAccountToken"), let token = UUID(uuidString: text) else {
            throw APIError.invalidAppAccountTokenUUID
        }
        let transaction = try await found(id, of: bundleID).transaction
        guard transaction.transactionID == transaction.originalTransactionID else { throw APIError.notOriginal }
        guard transaction.sharedFrom == nil else { throw APIError.familyShared }
        let recorder = store.recorder
        try await store.database.write { connection in
            try Transactions.setUsername(
                token.uuidString.lowercased(), ofPurchase: transaction, recorder, connection)
            // A renewal that is being paid has the token before. It is not recorded, because the subscription changed.
            if let subscription = try Subscriptions.find(transaction.transactionID, connection) {
                try Subscriptions.save(subscription, [], recorder, connection)
            }
        }
        store.changed(.transactions)
    }

    /// Answers `GET /inApps/v1/transactions/appTransactions/{transactionId}`.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func appTransaction(_ id: String, of bundleID: BundleID) async throws -> [UInt8] {
        let customer = try await read(id, of: bundleID) { _, _ in }.customer
        guard let app = store.apps[bundleID], customer.appTransactionID != nil,
            let account = try await store.accounts.account(customer.accountID)
        else { throw APIError.noAppTransaction }
        var json = JSONBytes(capacity: 6_144)
        json.beginObject()
        json.member(
            "signedAppTransactionInfo",
            try identity.sign(
                store.appTransactionPayload(
                    app, customer.inApp, since: ReceiptIssuer.originalPurchaseDate(of: account, store.environment),
                    at: store.clock.milliseconds)))
        json.endObject()
        return json.bytes
    }
}

extension Store {
    /// The members of Apple's app transaction. The server knows no device, so nothing binds it to one. Its version is
    /// that of the customer's last receipt. The original one is that of the first receipt, and in the sandbox always
    /// 1.0, as Apple's.
    /// - Parameter since: when the customer first had the app.
    func appTransactionPayload(
        _ app: AppRecord, _ customer: AppCustomer, since: Int64, at date: Int64
    ) -> [UInt8] {
        let isSandbox = environment == .sandbox
        let unknown = ReceiptIssuer.originalApplicationVersion
        let version = customer.bundleVersion ?? unknown
        var json = JSONBytes(capacity: 1_024)
        json.beginObject()
        json.member("receiptType", environment.signedName)
        if !isSandbox { json.member("appAppleId", number: app.appID) }
        json.member("bundleId", app.bundleID.rawValue)
        json.member("applicationVersion", version)
        json.member("versionExternalIdentifier", number: isSandbox ? 0 : app.versionExternalIdentifier(version))
        json.member("receiptCreationDate", number: date)
        json.member("originalPurchaseDate", number: since)
        json.member("originalApplicationVersion", isSandbox ? unknown : customer.originalVersion ?? unknown)
        if let id = customer.appTransactionID { json.member("appTransactionId", id.description) }
        json.member("originalPlatform", "iOS")
        json.endObject()
        return json.bytes
    }
}
