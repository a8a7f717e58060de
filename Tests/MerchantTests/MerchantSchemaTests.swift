import Database
import Merchant
import TestSupport
import Testing

@Suite struct MerchantSchemaTests {
    @Test func aRowIsWrittenWithoutATableBuiltForIt() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let path = directory.path("merchant.sqlite")
            let database = try await Database.open(
                .sqlite(path: path), migrations: MerchantSchema.migrations, logger: .silent)
            await database.close()
            #expect(try SQLiteProgram.tablesWithCostlyRows(in: path) == [])
        }
    }
}
