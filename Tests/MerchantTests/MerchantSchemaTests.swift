import Merchant
import TestSupport
import Testing

@Suite struct MerchantSchemaTests {
    @Test func aRowIsWrittenWithoutATableBuiltForIt() async throws {
        #expect(try await SQLiteProgram.tablesWithCostlyRows(MerchantSchema.migrations) == [])
    }
}
