import MerchantWire
import Testing

@Suite struct MerchantServerSkeletonTests {
    @Test func theUserIsASubject() { #expect(UserID("ann").rawValue == "ann") }
}
