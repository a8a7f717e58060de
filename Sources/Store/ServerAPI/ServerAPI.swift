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
    /// - Throws: ``DatabaseError`` when the database must be asked and does not answer.
    public func bundleID(authorizing authorization: String?) async throws -> BundleID? {
        try await keys.confirmed {
            APIToken.key(authorizing: authorization, keys, at: realTime().timeIntervalSince1970)
        }?.bundleID
    }

    /// The failure that the operator ordered for this request; nil for none.
    /// - Throws: ``DatabaseError``.
    public func orderedFailure() async throws -> APIError? {
        try await store.faults.next(.serverAPI).map { $0.status == 429 ? .rateLimitExceeded : .unknown }
    }

    /// When a caller whose rate is too high may try again: Apple's `Retry-After`, in milliseconds since 1970 by the
    /// machine's clock.
    public var retryDate: Int64 { Int64(realTime().timeIntervalSince1970 * 1000) + 1_000 }

    /// Counts a request against the app's rate limit.
    /// - Parameter rateClass: the class of the request; nil for one that Apple does not limit.
    /// - Returns: nil when the app may make the request; otherwise when its hour is over: Apple's `Retry-After`, in
    ///   milliseconds since 1970 by the machine's clock.
    /// - Throws: ``DatabaseError``.
    public func retryDate(counting rateClass: RateClass?, of bundleID: BundleID) async throws -> Int64? {
        guard let rateClass,
            let date = try await store.rateLimits.take(
                rateClass, of: bundleID, at: realTime().timeIntervalSince1970)
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
        let signed = try signed(known.transaction, known.customer, at: store.clock.milliseconds, identity)
        json.member("signedTransactionInfo", ascii: signed.span)
        json.endObject()
        return json.bytes
    }

    /// The transaction with an identifier, after everything that is due for its account is done.
    /// - Throws: ``APIError`` `appTransactionNotSupported` for the identifier of an app transaction, and others;
    ///   ``DatabaseError``.
    func found(_ text: String, of bundleID: BundleID) async throws -> KnownTransaction {
        guard AppTransactionID(text) == nil else { throw APIError.appTransactionNotSupported }
        guard let known = try await known(try Self.transactionID(text), of: bundleID) else {
            throw APIError.transactionNotFound
        }
        return known
    }

    private static func transactionID(_ text: String) throws -> TransactionID {
        guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text), number > 0
        else { throw APIError.invalidTransactionID }
        return TransactionID(rawValue: number)
    }

    /// A customer, by the identifier of any transaction or of the app transaction, after everything that is due for the
    /// account is done.
    /// - Throws: ``APIError``; ``DatabaseError``.
    func customer(_ text: String, of bundleID: BundleID) async throws -> AccountID {
        try await read(text, of: bundleID) { _, _ in }.customer.accountID
    }

    /// Reads what a customer has, by the identifier of any transaction or of the app transaction, after everything that
    /// is due for the account is done.
    /// - Parameter body: reads. It can run twice.
    /// - Throws: ``APIError``; ``DatabaseError``; what the body throws.
    func read<T: Sendable>(
        _ text: String, of bundleID: BundleID, _ body: @escaping @Sendable (APICustomer, Connection) throws -> T
    ) async throws -> (customer: APICustomer, found: T) {
        let appTransaction = AppTransactionID(text)
        let id = try appTransaction == nil ? Self.transactionID(text) : nil
        @Sendable func once(_ connection: Connection) throws -> (customer: APICustomer, found: T) {
            let accountID: AccountID?
            if let id {
                accountID = try Self.find(id, of: bundleID, connection)?.accountID
            } else {
                accountID = try appTransaction.flatMap { try AppCustomers.accountID(of: $0, in: bundleID, connection) }
            }
            guard let accountID else { throw APIError.transactionNotFound }
            let customer = APICustomer(
                accountID: accountID, inApp: try AppCustomers.find(accountID, in: bundleID, connection))
            return (customer, try body(customer, connection))
        }
        var answer = try await store.database.read(once)
        if try await store.settleSubscriptions(of: answer.customer.accountID) {
            answer = try await store.database.read(once)
        }
        answer.customer.inApp = try await kept(answer.customer.inApp, of: answer.customer.accountID, in: bundleID)
        return answer
    }

    /// A customer in an app as it was found, with an identifier that never changes again.
    /// - Throws: ``DatabaseError``.
    private func kept(
        _ customer: AppCustomer, of accountID: AccountID, in bundleID: BundleID
    ) async throws -> AppCustomer {
        guard customer.appTransactionID != nil, !customer.isKept else { return customer }
        return try await store.database.write { try AppCustomers.findKeeping(accountID, in: bundleID, $0) }
    }

    private static func find(
        _ id: TransactionID, of bundleID: BundleID, _ connection: Connection
    ) throws -> Transaction? {
        let found = try Transactions.find(id, connection) ?? RestoredTransactions.find(id, connection)
        return found?.bundleID == bundleID ? found : nil
    }

    /// The transaction of an app with an identifier, bought or delivered by a restore, after everything that is due for
    /// its account is done; nil when there is none.
    /// - Throws: ``DatabaseError``.
    func known(_ id: TransactionID, of bundleID: BundleID) async throws -> KnownTransaction? {
        func read() async throws -> (transaction: Transaction, customer: AppCustomer)? {
            try await store.database.read { connection -> (transaction: Transaction, customer: AppCustomer)? in
                guard let transaction = try Self.find(id, of: bundleID, connection) else { return nil }
                return (transaction, try AppCustomers.find(transaction.accountID, in: bundleID, connection))
            }
        }
        guard var found = try await read() else { return nil }
        if try await store.settleSubscriptions(of: found.transaction.accountID) {
            guard let settled = try await read() else { return nil }
            found = settled
        }
        let customer = try await kept(found.customer, of: found.transaction.accountID, in: bundleID)
        return KnownTransaction(transaction: found.transaction, customer: customer.appTransactionID)
    }

    /// The identifier of a customer's app transaction; nil for a customer who never bought anything in the app.
    /// - Throws: ``DatabaseError``.
    func appTransactionID(of accountID: AccountID, in bundleID: BundleID) async throws -> AppTransactionID? {
        let customer = try await store.database.read { try AppCustomers.find(accountID, in: bundleID, $0) }
        return try await kept(customer, of: accountID, in: bundleID).appTransactionID
    }

    /// Writes an array of signed transactions of one customer in one app.
    /// - Throws: the key's error.
    func writeSigned(
        _ transactions: [Transaction], _ customer: AppTransactionID?, to json: inout JSONBytes
    ) throws {
        let (now, identity) = (store.clock.milliseconds, identity)
        json.beginArray("signedTransactions")
        for transaction in transactions {
            let text = try signed(transaction, customer, at: now, identity)
            json.element(ascii: text.span)
        }
        json.endArray()
    }

    private func signed(
        _ transaction: Transaction, _ customer: AppTransactionID?, at date: Int64, _ identity: JWSIdentity
    ) throws -> [UInt8] {
        if let kept = store.signatures.value(for: transaction.transactionID),
            kept.isGood(for: transaction, customer, at: date, identity)
        {
            return kept.jws
        }
        var json = JSONBytes(capacity: 1_536)
        json.beginObject()
        transaction.writePayload(store.environment, signedDate: date, appTransactionID: customer, to: &json)
        json.endObject()
        let jws = try identity.jws(of: json.bytes)
        let kept = KeptSignature(
            transaction: transaction, customer: customer, signedDate: date, certificate: identity.certificates.first,
            jws: jws)
        store.signatures.insert(kept, for: transaction.transactionID)
        return jws
    }

    // MARK: Pages

    /// The place that a revision names in a list; nil for the beginning.
    /// - Throws: ``APIError`` `invalidRevision`, also for the revision of another list.
    static func revision(_ text: String, for list: String, secret: SymmetricKey) throws -> PageRevision? {
        guard !text.hasSameBytes(as: noRevision) else { return nil }
        return try PageRevision(text, for: list, secret: secret)
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
        let (asked, secret) = (items.last { $0.name == "revision" }?.value, secret(of: bundleID))
        let (customer, (list, page)) = try await read(id, of: bundleID) { customer, connection in
            let list = "history \(customer.accountID) \(query.canonicalText)"
            let after = try asked.flatMap { try Self.revision($0, for: list, secret: secret) }
            return (
                list,
                try Transactions.history(
                    of: customer.accountID, in: bundleID, query, after: after, limit: Self.page, connection)
            )
        }
        var json = JSONBytes(capacity: 4_096 + page.transactions.count * 6_144)
        json.beginObject()
        json.member("revision", page.end?.text(for: list, secret: secret) ?? Self.noRevision)
        writeApp(bundleID, to: &json)
        json.member("hasMore", page.hasMore)
        try writeSigned(page.transactions, customer.appTransactionID, to: &json)
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
    /// - Parameter statuses: the values of the parameter `status`, at most 100; empty for all.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func statuses(_ id: String, _ statuses: [String], of bundleID: BundleID) async throws -> [UInt8] {
        guard statuses.count <= HistoryQuery.mostValues else { throw APIError.invalidStatus }
        let wanted = try statuses.map { text in
            guard let status = Int(text), (1...5).contains(status) else { throw APIError.invalidStatus }
            return status
        }
        let (clock, recorder) = (store.clock, store.recorder)
        let (customer, (now, snapshots)) = try await read(id, of: bundleID) { customer, connection in
            let now = clock.milliseconds
            let all =
                try Subscriptions.all(of: customer.accountID, in: bundleID, connection)
                + FamilyShares.subscriptions(of: customer.accountID, in: bundleID, connection)
            return (
                now, try all.compactMap { try SubscriptionSnapshot($0, period: nil, at: now, recorder, connection) }
            )
        }
        let (appTransaction, identity) = (customer.appTransactionID, identity)
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
                let transaction = try identity.jws(
                    of: snapshot.transactionPayload(signedDate: now, appTransactionID: appTransaction))
                json.member("signedTransactionInfo", ascii: transaction.span)
                let renewal = try identity.jws(
                    of: snapshot.renewalPayload(signedDate: now, appTransactionID: appTransaction))
                json.member("signedRenewalInfo", ascii: renewal.span)
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

/// The customer in an app that a request is about.
struct APICustomer: Sendable {
    let accountID: AccountID
    /// The store's facts about the customer in the app.
    var inApp: AppCustomer
    /// The identifier of the app transaction; nil for a customer who never bought anything in the app.
    var appTransactionID: AppTransactionID? { inApp.appTransactionID }
}
