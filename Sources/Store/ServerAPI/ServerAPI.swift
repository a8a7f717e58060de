import CornerstoreEncoding
import Crypto
import Database
import Foundation
import StoreReceipts
import StoreWire

/// The App Store Server API of one environment. The answers are JSON in Apple's words, with signed transactions and
/// renewal information.
public struct ServerAPI: Sendable {
    /// The elements of a page (Apple's number).
    static let page = 20

    let store: Store
    /// Returns the signer of the payloads. Its certificates can change.
    let currentIdentity: @Sendable () -> JWSIdentity
    var identity: JWSIdentity { currentIdentity() }
    let keys: APIKeys
    /// The machine's time. Tokens follow it, and payloads the store's clock.
    let realTime: @Sendable () -> Date

    /// Creates the API of an environment.
    /// - Parameters:
    ///   - identity: returns the signer of the payloads.
    ///   - realTime: the machine's clock.
    public init(
        _ store: Store, identity: @escaping @Sendable () -> JWSIdentity, keys: APIKeys,
        realTime: @escaping @Sendable () -> Date
    ) {
        self.store = store
        currentIdentity = identity
        self.keys = keys
        self.realTime = realTime
    }

    /// Returns the app that a request may ask about; nil when its token is not good.
    /// - Parameter authorization: the value of the header `Authorization`.
    public func bundleID(authorizing authorization: String?) -> BundleID? {
        APIToken.bundleID(authorizing: authorization, keys, at: realTime().timeIntervalSince1970)
    }

    /// The failure that the operator ordered for this request; nil for none.
    public func orderedFailure() -> APIError? {
        store.faults.next(.serverAPI).map { $0.status == 429 ? .rateLimitExceeded : .unknown }
    }

    /// When a caller whose rate is too high may try again: Apple's `Retry-After`, in milliseconds since 1970 by the
    /// machine's clock.
    public var retryDate: Int64 { Int64(realTime().timeIntervalSince1970 * 1000) + 1_000 }

    /// Counts a request against the app's rate limit.
    /// - Parameter rateClass: the class of the request; nil for one that Apple does not limit.
    /// - Returns: nil when the app may make the request; otherwise when its hour is over: Apple's `Retry-After`, in
    ///   milliseconds since 1970 by the machine's clock.
    public func retryDate(counting rateClass: RateClass?, of bundleID: BundleID) -> Int64? {
        guard let rateClass,
            let date = store.rateLimits.take(rateClass, of: bundleID, at: realTime().timeIntervalSince1970)
        else { return nil }
        return Int64((date * 1_000).rounded(.up))
    }

    // MARK: Transactions

    /// Answers `GET /inApps/v1/transactions/{transactionId}`.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func transaction(_ id: String, of bundleID: BundleID) async throws -> [UInt8] {
        let known = try await found(id, of: bundleID)
        var json = JSONBytes(capacity: 6_144)
        json.beginObject()
        json.member(
            "signedTransactionInfo", try signed(known.transaction, known.customer, at: store.clock.milliseconds))
        json.endObject()
        return json.bytes
    }

    /// The transaction with an identifier, after everything that is due for its account is done.
    /// - Throws: ``APIError`` `appTransactionNotSupported` for the identifier of an app transaction, and others;
    ///   ``DatabaseError``.
    func found(_ text: String, of bundleID: BundleID) async throws -> KnownTransaction {
        guard AppTransactionID(text) == nil else { throw APIError.appTransactionNotSupported }
        guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text), number > 0
        else { throw APIError.invalidTransactionID }
        guard let known = try await known(TransactionID(rawValue: number), of: bundleID) else {
            throw APIError.transactionNotFound
        }
        return known
    }

    /// A customer, by the identifier of any transaction or of the app transaction, after everything that is due for the
    /// account is done.
    /// - Throws: ``APIError``; ``DatabaseError``.
    func customer(_ text: String, of bundleID: BundleID) async throws -> AccountID {
        guard let id = AppTransactionID(text) else { return try await found(text, of: bundleID).transaction.accountID }
        guard let accountID = try await store.database.read({ try AppCustomers.accountID(of: id, in: bundleID, $0) })
        else { throw APIError.transactionNotFound }
        try await store.settleSubscriptions(of: accountID)
        return accountID
    }

    /// The transaction of an app with an identifier, bought or delivered by a restore, after everything that is due for
    /// its account is done; nil when there is none.
    /// - Throws: ``DatabaseError``.
    func known(_ id: TransactionID, of bundleID: BundleID) async throws -> KnownTransaction? {
        func read() async throws -> KnownTransaction? {
            try await store.database.read { connection in
                guard
                    let transaction = try Transactions.find(id, connection)
                        ?? RestoredTransactions.find(id, connection),
                    transaction.bundleID == bundleID
                else { return nil }
                let customer = try AppCustomers.find(transaction.accountID, in: bundleID, connection)
                return KnownTransaction(transaction: transaction, customer: customer.appTransactionID)
            }
        }
        guard let known = try await read() else { return nil }
        guard try await store.settleSubscriptions(of: known.transaction.accountID) else { return known }
        return try await read()
    }

    /// The identifier of a customer's app transaction; nil for a customer who never bought anything in the app.
    /// - Throws: ``DatabaseError``.
    func appTransactionID(of accountID: AccountID, in bundleID: BundleID) async throws -> AppTransactionID? {
        try await store.database.read { try AppCustomers.find(accountID, in: bundleID, $0).appTransactionID }
    }

    /// Signs transactions of one customer in one app.
    /// - Throws: ``DatabaseError``, and the key's error.
    func signed(_ transactions: [Transaction]) async throws -> [String] {
        guard let one = transactions.first else { return [] }
        let appTransaction = try await appTransactionID(of: one.accountID, in: one.bundleID)
        let now = store.clock.milliseconds
        return try transactions.map { try signed($0, appTransaction, at: now) }
    }

    private func signed(_ transaction: Transaction, _ customer: AppTransactionID?, at date: Int64) throws -> String {
        var json = JSONBytes(capacity: 1_536)
        json.beginObject()
        transaction.writePayload(store.environment, signedDate: date, appTransactionID: customer, to: &json)
        json.endObject()
        return try identity.sign(json.bytes)
    }

    // MARK: Pages

    /// The place that a revision names in a list; nil for the beginning.
    /// - Throws: ``APIError`` `invalidRevision`, also for the revision of another list.
    func revision(_ text: String, for list: String, of bundleID: BundleID) throws -> PageRevision? {
        guard !text.hasSameBytes(as: Self.noRevision) else { return nil }
        return try PageRevision(text, for: list, secret: secret(of: bundleID))
    }

    /// The key of an app's revisions and pagination tokens in this environment. It is made of the signer's key, which
    /// stays when its certificates are issued again.
    func secret(of bundleID: BundleID) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: identity.privateKey.rawRepresentation),
            info: Data("pages of \(bundleID)".utf8), outputByteCount: 32)
    }

    // MARK: History

    /// Answers `GET /inApps/v2/history/{transactionId}`, and version 1.
    /// - Parameters:
    ///   - items: the names and values of the query, as they were decoded.
    ///   - version: 2, or 1, which leaves finished consumables out.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func history(
        _ id: String, _ items: [(name: String, value: String)], version: Int, of bundleID: BundleID
    ) async throws -> [UInt8] {
        let query = try HistoryQuery(items, version: version)
        let accountID = try await customer(id, of: bundleID)
        let list = "history \(accountID) \(query.canonicalText)"
        let asked = items.last { $0.name == "revision" }?.value
        let after = try asked.flatMap { try revision($0, for: list, of: bundleID) }
        let page = try await store.database.read { connection in
            try Transactions.history(of: accountID, in: bundleID, query, after: after, limit: Self.page, connection)
        }
        var json = JSONBytes(capacity: 4_096 + page.transactions.count * 6_144)
        json.beginObject()
        json.member("revision", page.end?.text(for: list, secret: secret(of: bundleID)) ?? Self.noRevision)
        writeApp(bundleID, to: &json)
        json.member("hasMore", page.hasMore)
        json.beginArray("signedTransactions")
        for signed in try await signed(page.transactions) { json.element(signed) }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// The revision of the beginning of a list, which an empty list has.
    static let noRevision = "0"

    private func writeApp(_ bundleID: BundleID, to json: inout JSONBytes) {
        json.member("bundleId", bundleID.rawValue)
        // Apple's sandbox omits it.
        if store.environment == .production, let app = store.apps[bundleID] {
            json.member("appAppleId", number: app.appID)
        }
        json.member("environment", store.environment.signedName)
    }

    // MARK: Statuses

    /// Answers `GET /inApps/v1/subscriptions/{transactionId}`: each of the customer's subscriptions, and those that a
    /// family shares with the customer, by group.
    /// - Parameter statuses: the values of the parameter `status`; empty for all.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func statuses(_ id: String, _ statuses: [String], of bundleID: BundleID) async throws -> [UInt8] {
        let wanted = try statuses.map { text in
            guard let status = Int(text), (1...5).contains(status) else { throw APIError.invalidStatus }
            return status
        }
        let accountID = try await customer(id, of: bundleID)
        let appTransaction = try await appTransactionID(of: accountID, in: bundleID)
        let now = store.clock.milliseconds
        let snapshots = try await store.database.read { [recorder = store.recorder] connection in
            let all =
                try Subscriptions.all(of: accountID, in: bundleID, connection)
                + FamilyShares.subscriptions(of: accountID, in: bundleID, connection)
            return try all.compactMap {
                try SubscriptionSnapshot($0, period: nil, at: now, recorder, connection)
            }
        }
        let asked = snapshots.filter { wanted.isEmpty || wanted.contains($0.status) }
        var groups: [(id: SubscriptionGroupID, snapshots: [SubscriptionSnapshot])] = []
        for snapshot in asked {
            if let index = groups.firstIndex(where: { $0.id == snapshot.groupID }) {
                groups[index].snapshots.append(snapshot)
            } else {
                groups.append((snapshot.groupID, [snapshot]))
            }
        }
        var json = JSONBytes(capacity: 4_096 + asked.count * 12_288)
        json.beginObject()
        writeApp(bundleID, to: &json)
        json.beginArray("data")
        for group in groups {
            json.beginObject()
            json.member("subscriptionGroupIdentifier", group.id.rawValue)
            json.beginArray("lastTransactions")
            for snapshot in group.snapshots {
                json.beginObject()
                json.member("originalTransactionId", snapshot.originalTransactionID.description)
                json.member("status", number: Int64(snapshot.status))
                json.member(
                    "signedTransactionInfo",
                    try identity.sign(snapshot.transactionPayload(signedDate: now, appTransactionID: appTransaction)))
                json.member(
                    "signedRenewalInfo",
                    try identity.sign(snapshot.renewalPayload(signedDate: now, appTransactionID: appTransaction)))
                json.endObject()
            }
            json.endArray()
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

/// A transaction, and the customer's app transaction.
struct KnownTransaction: Sendable {
    let transaction: Transaction
    /// The identifier of the app transaction; nil for a customer who never bought anything in the app.
    let customer: AppTransactionID?
}
