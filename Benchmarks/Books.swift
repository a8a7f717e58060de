import Database
import Foundation
import Logging
import Merchant

/// A merchant's users and their ledger, written before the merchant starts: each user got credits once and has spent
/// some of them nine times.
struct Books: Sendable {
    var users: Int
    /// The number of entries of each user.
    static let entries = 10
    static let currency = "coins"
    private static let granted: Int64 = 1_000_000
    private static let date: Int64 = 1_780_000_000_000
    private static let usersPerTransaction = 1_000

    static func user(_ number: Int) -> String { "user-\(number)" }

    func write(_ location: DatabaseLocation) async throws {
        let database = try await Database.open(
            location, migrations: MerchantSchema.migrations,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        for start in stride(from: 0, to: users, by: Self.usersPerTransaction) {
            let numbers = start..<min(start + Self.usersPerTransaction, users)
            try await database.write { connection in
                for number in numbers { try Self.insert(number, connection) }
            }
        }
        await database.close()
    }

    private static func insert(_ number: Int, _ connection: Connection) throws {
        let user = user(number)
        for entry in 1...entries {
            let isGrant = entry == 1
            let amount = isGrant ? granted : -1
            try connection.execute(
                """
                INSERT INTO ledger_entries (user_id, currency, entry, kind, amount, counter_account, counter_amount,
                    balance, reference, created_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                """,
                [
                    user, currency, entry, isGrant ? "grant" : "spend", amount, isGrant ? "store" : "shop", -amount,
                    granted - Int64(entry - 1), isGrant ? "bench" : "spend-\(entry)", date,
                ])
        }
    }
}
