import Database
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct StoreSchemaTests {
    @Test func writingARowBuildsNoTemporaryTable() async throws {
        #expect(try await SQLiteProgram.tablesWithCostlyRows(StoreSchema.migrations) == [])
        // Without the sixth migration it is not so, which shows that the test can fail.
        #expect(try await SQLiteProgram.tablesWithCostlyRows(Array(StoreSchema.migrations.prefix(5))) == ["purchases"])
    }

    /// The sixth migration writes the table anew; a store that was there before keeps each purchase as it was.
    @Test(arguments: Backend.available) func purchasesSurviveTheMoveToANewTable(_ backend: Backend) async throws {
        let columns = """
            idempotency_key, account_id, bundle_id, product_id, quantity, application_username, state, failure_code, failure_message,
            transaction_id, amount, currency, payment_reference, created_at, promotional_offer_id
            """
        let rows = [
            "('a', 'one', 'com.example.app', 'hats', 2, 'Ann', 'purchased', NULL, NULL, 7, 1990, 'USD', 'R-1', 1000, 'offer')",
            "('b', 'one', 'com.example.app', 'hats', 1, NULL, 'deferred', NULL, NULL, NULL, 0, 'USD', NULL, 2000, NULL)",
            "('c', 'two', 'com.example.app', 'hats', 1, NULL, 'failed', 'interrupted', 'Later.', NULL, 0, 'EUR', NULL, 3000, NULL)",
        ]
        try await backend.withLocation { location async throws in
            let all = "SELECT \(columns) FROM purchases ORDER BY idempotency_key"
            let before = try await Database.open(
                location, migrations: Array(StoreSchema.migrations.prefix(5)), logger: .silent)
            try await before.write { connection in
                for row in rows { try connection.execute("INSERT INTO purchases (\(columns)) VALUES \(row)") }
            }
            let written = try await before.read { try $0.query(all) }
            await before.close()

            let after = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
            #expect(written.count == rows.count)
            #expect(try await after.read { try $0.query(all) } == written)
            let unknown = rows[1].replacing("'b'", with: "'d'").replacing("'deferred'", with: "'lost'")
            for refused in [unknown, rows[1]] {
                await #expect(throws: DatabaseError.self) {
                    try await after.write { try $0.execute("INSERT INTO purchases (\(columns)) VALUES \(refused)") }
                }
            }
            await after.close()
        }
    }
}
