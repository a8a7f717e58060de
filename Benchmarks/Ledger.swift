import Crypto
import Database
import Foundation
import Logging
import Store
import StoreWire

/// A sandbox ledger, written before the store starts: signed-in accounts with finished purchases.
struct Ledger: Sendable {
    var accounts: Int
    /// The transactions of all accounts. The first ones of each account are months of a subscription, the others
    /// consumables.
    var transactions: Int
    /// The months of each subscription.
    var months = 1
    /// When subscriptions renew, in milliseconds since 1970; nil for subscriptions that have ended.
    var renewalDate: Int64?
    /// How many of the subscriptions renew then, the others ten years later; nil for all.
    var renewals: Int?
    /// The notifications that wait to be sent to the app's server.
    var notifications = 0
    private static let perStatement = 500
    static let firstID: Int64 = 2_000_000_000_010_000
    static let date: Int64 = 1_780_000_000_000

    /// The token of an account's device.
    static func token(_ account: Int) -> String { "bench-token-\(account)" }

    /// The id of one month of an account's subscription, which is the original id for the first month.
    func subscriptionID(_ account: Int, month: Int = 0) -> Int64 { Self.firstID + Int64(month * accounts + account) }

    /// The id of any transaction, by its number.
    func transactionID(_ number: Int) -> Int64 { Self.firstID + Int64(number) }

    /// The purchase date of one month of a subscription, the last one being ``date``.
    func purchaseDate(month: Int) -> Int64 { Self.date - Int64(months - 1 - month) * Self.month }

    static let month: Int64 = 30 * 86_400_000

    /// Writes the ledger into a data directory or PostgreSQL. The purchases of different accounts are interleaved.
    /// - Parameter postgreSQL: a URL and the prefix of the store's schemas; nil for SQLite.
    func write(to data: URL, postgreSQL: (url: String, prefix: String)? = nil) async throws {
        let location: DatabaseLocation
        if let postgreSQL {
            location = .postgresql(url: postgreSQL.url, schema: postgreSQL.prefix + "_sandbox", connections: 1)
        } else {
            let folder = data.appending(path: "databases")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            location = .sqlite(path: folder.appending(path: "sandbox.sqlite").path)
        }
        let database = try await Database.open(
            location, migrations: StoreSchema.migrations,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        for start in stride(from: 0, to: accounts, by: Self.perStatement) {
            let numbers = start..<min(start + Self.perStatement, accounts)
            try await database.write { connection in
                for number in numbers { try Self.insertAccount(number, connection) }
            }
        }
        for start in stride(from: 0, to: transactions, by: Self.perStatement * 8) {
            let numbers = start..<min(start + Self.perStatement * 8, transactions)
            try await database.write { connection in
                for number in numbers { try insertTransaction(number, connection) }
            }
        }
        try await writeNotifications(database)
        await database.close()
    }

    private static func insertAccount(_ number: Int, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO accounts (account_id, email, password_salt, password_hash, password_rounds, storefront,
                payments_allowed, asks_to_buy, failed_sign_ins, locked, created_at)
            VALUES ($1, $2, $3, $3, 1, 'USA', $4, $5, 0, $5, $6)
            """, [accountID(number), "bench-\(number)@example.com", [UInt8](), true, false, date])
        try connection.execute(
            "INSERT INTO device_tokens (token_digest, account_id, device_id, created_at) VALUES ($1, $2, $3, $4)",
            [Array(SHA256.hash(data: Data(token(number).utf8))), accountID(number), "bench", date])
    }

    private func insertTransaction(_ number: Int, _ connection: Connection) throws {
        let account = number % accounts
        let month = number / accounts < months ? number / accounts : nil
        // As the device makes its keys, one a second.
        let made = Date(timeIntervalSince1970: Double(Self.date) / 1000 - Double(transactions - number))
        try Self.insertTransaction(
            number, account, original: month == nil ? number : account, month.map { purchaseDate(month: $0) }, made,
            connection)
        guard month == 0 else { return }
        let later = renewals.map { account >= $0 } ?? false
        try Self.insertSubscription(
            number, last: number + (months - 1) * accounts, renewalDate.map { later ? $0 + 120 * Self.month : $0 },
            connection)
    }

    /// Writes the rows of a purchase.
    /// - Parameter subscribedAt: the purchase date of a month of a subscription; nil for a consumable.
    static func insertTransaction(
        _ number: Int, _ account: Int, original: Int, _ subscribedAt: Int64?, _ made: Date, _ connection: Connection
    ) throws {
        let isSubscription = subscribedAt != nil
        let key = UUID(timeOrdered: made, chance: UUID()).uuidString
        let product = "\(SampleReceipts.bundleID).\(isSubscription ? "monthly" : "credit")"
        let id = firstID + Int64(number)
        try connection.execute(
            """
            INSERT INTO purchases (idempotency_key, account_id, bundle_id, product_id, quantity, state, transaction_id, amount,
                currency, payment_reference, created_at)
            VALUES ($1, $2, $3, $4, 1, 'purchased', $5, 990, 'USD', 'bench', $6)
            """, [key, accountID(account), SampleReceipts.bundleID, product, id, date])
        try connection.execute(
            """
            INSERT INTO transactions (account_id, transaction_id, original_transaction_id, bundle_id, product_id, item_id, kind,
                quantity, price, currency, storefront, purchase_date, original_purchase_date, expires_date,
                web_order_line_item_id, subscription_group_id, idempotency_key, finished_at)
            VALUES ($1, $2, $11, $3, $4, 1, $5, 1, 990, 'USD', 'USA', $6, $12, $7, $8, $9, $10, $6)
            """,
            [
                accountID(account), id, SampleReceipts.bundleID, product,
                isSubscription ? ProductKind.autoRenewableSubscription.rawValue : ProductKind.consumable.rawValue,
                subscribedAt ?? date,
                subscribedAt.map { $0 + month }, isSubscription ? id : nil as Int64?,
                isSubscription ? "BE9C0003" : nil as String?, key, firstID + Int64(original), date,
            ])
    }

    /// Writes the row of a subscription, as a renewal does, and one piece of news.
    /// - Parameter last: the number of the last month's transaction.
    static func insertSubscription(
        _ number: Int, last: Int, _ renewalDate: Int64?, _ connection: Connection
    ) throws {
        let id = firstID + Int64(number)
        let product = "\(SampleReceipts.bundleID).monthly"
        try connection.execute(
            """
            INSERT INTO subscriptions (original_transaction_id, account_id, bundle_id, subscription_group_id,
                original_purchase_date, state, product_id, transaction_id, expires_date, renewal_product_id, will_renew,
                next_line_item_id, renewals, due_at, revision)
            VALUES ($1, $2, $3, 'BE9C0003', $4, $5, $6, $10, $7, $6, $8, $10, 0, $9, 1)
            """,
            [
                id, accountID(number), SampleReceipts.bundleID, date, renewalDate == nil ? "expired" : "active",
                product,
                renewalDate ?? date, renewalDate != nil, renewalDate, firstID + Int64(last),
            ])
        try connection.execute(
            """
            INSERT INTO subscription_news (number, original_transaction_id, type, subtype, date, transaction_id, snapshot)
            VALUES ($1, $1, 'SUBSCRIBED', 'INITIAL_BUY', $2, $1, $3)
            """, [id, date, snapshot])
    }

    /// As many bytes as the snapshot of a renewal has.
    private static let snapshot = String(repeating: "s", count: 1_200)

    static func accountID(_ number: Int) -> String {
        // Account ids are random in life; the digest scatters these over the tables as those are.
        SHA256.hash(data: Data("account-\(number)".utf8)).prefix(8).map { String(format: "%02x", $0) }.joined()
    }
}
