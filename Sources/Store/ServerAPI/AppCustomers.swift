import Database
import StoreWire

/// A customer in an app, as signed payloads and notifications name it.
struct AppCustomer: Sendable, Equatable {
    /// The identifier of the app transaction; nil for a customer who never bought anything in the app.
    var appTransactionID: AppTransactionID?
    /// Whether the store keeps the identifier. One that it does not keep follows the ledger, where a transaction with a
    /// lower number can appear later.
    var isKept = false
    /// The `CFBundleVersion` of the app with which the customer last asked for a receipt; nil while it is unknown.
    var bundleVersion: String?
    /// The one with which the customer first asked for a receipt; nil while it is unknown.
    var originalVersion: String?
}

/// The table `app_customers`: what the store remembers of customers in apps beside the ledger.
enum AppCustomers {
    /// A customer in an app.
    static func find(
        _ accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> AppCustomer {
        let row = try connection.queryOne(
            """
            SELECT first_transaction_id, bundle_version, original_version FROM app_customers
            WHERE account_id = $1 AND bundle_id = $2
            """, [accountID.rawValue, bundleID.rawValue])
        let kept = try row?.optionalInt64(0).map { TransactionID(rawValue: $0) }
        var first = kept
        if first == nil { first = try Transactions.first(of: accountID, in: bundleID, connection) }
        return AppCustomer(
            appTransactionID: first.map { AppTransactionID($0) }, isKept: kept != nil,
            bundleVersion: try row?.optionalString(1), originalVersion: try row?.optionalString(2))
    }

    /// A customer in an app whose identifier is about to be told to the app's server, and so never changes again.
    static func findKeeping(
        _ accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> AppCustomer {
        var customer = try find(accountID, in: bundleID, connection)
        guard let id = customer.appTransactionID, !customer.isKept else { return customer }
        // Another transaction can have kept one meanwhile.
        let row = try connection.queryOne(
            """
            INSERT INTO app_customers (account_id, bundle_id, first_transaction_id) VALUES ($1, $2, $3)
            ON CONFLICT (account_id, bundle_id) DO UPDATE SET
                first_transaction_id = COALESCE(app_customers.first_transaction_id, excluded.first_transaction_id)
            RETURNING first_transaction_id
            """, [accountID.rawValue, bundleID.rawValue, id.first.rawValue])
        if let row { customer.appTransactionID = AppTransactionID(TransactionID(rawValue: try row.int64(0))) }
        customer.isKept = true
        return customer
    }

    /// The customer whose app transaction in an app has an identifier; nil when there is none.
    static func accountID(
        of id: AppTransactionID, in bundleID: BundleID, _ connection: Connection
    ) throws -> AccountID? {
        let kept = try connection.queryOne(
            "SELECT account_id FROM app_customers WHERE first_transaction_id = $1 AND bundle_id = $2",
            [id.first.rawValue, bundleID.rawValue])
        if let kept { return AccountID(try kept.string(0)) }
        guard let first = try Transactions.find(id.first, connection), first.bundleID == bundleID,
            try find(first.accountID, in: bundleID, connection).appTransactionID == id
        else { return nil }
        return first.accountID
    }

    /// Keeps the identifiers of an account's app transactions, before its transactions are deleted.
    static func keepIdentifiers(of accountID: AccountID, _ connection: Connection) throws {
        for bundleID in try Transactions.apps(of: accountID, connection) {
            _ = try findKeeping(accountID, in: bundleID, connection)
        }
    }

    /// The version of the app that a customer has; nil while it is unknown.
    static func version(
        of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> String? {
        try connection.queryOne(
            "SELECT bundle_version FROM app_customers WHERE account_id = $1 AND bundle_id = $2",
            [accountID.rawValue, bundleID.rawValue])?.optionalString(0)
    }

    /// Keeps the version of the app that a customer has. The first one also stays as the original version.
    static func keep(
        version: String, of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO app_customers (account_id, bundle_id, bundle_version, original_version)
            VALUES ($1, $2, $3, $3)
            ON CONFLICT (account_id, bundle_id) DO UPDATE SET bundle_version = excluded.bundle_version,
                original_version = COALESCE(app_customers.original_version, excluded.original_version)
            """, [accountID.rawValue, bundleID.rawValue, version])
    }
}

extension Store {
    /// The key of ``Store/versions``.
    struct CustomerKey: Hashable, Sendable {
        let accountID: AccountID
        let bundleID: BundleID
    }

    /// Remembers the version of the app with which a customer's device got a receipt, for app transactions and for
    /// `bundleVersion` of the app's notifications.
    /// - Throws: ``DatabaseError``.
    public func noteVersion(in request: AppReceiptRequest, of account: Account) async throws {
        let (bundleID, version) = (request.bundleID, request.bundleVersion)
        let key = CustomerKey(accountID: account.accountID, bundleID: bundleID)
        guard versions.value(for: key)?.hasSameBytes(as: version) != true else { return }
        let known = try await database.read { try AppCustomers.version(of: key.accountID, in: bundleID, $0) }
        if known?.hasSameBytes(as: version) != true {
            try await database.write { connection in
                try AppCustomers.keep(version: version, of: key.accountID, in: bundleID, connection)
            }
        }
        versions.insert(version, for: key)
    }
}
