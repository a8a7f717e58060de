import MerchantWire
import Testing

@Suite struct MerchantIdentifierTests {
    @Test func identifiersTravelAsPlainText() throws {
        #expect(UserID("ann").description == "ann")
        #expect(CurrencyID("gems") < CurrencyID("hints"))
    }
}
