import Foundation
import StoreWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TimeOrderedUUIDTests {
    @Test func theLayoutIsThatOfVersion7() throws {
        let chance = try #require(UUID(uuidString: "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF"))
        // The example of RFC 9562, appendix A.6: 2022-02-22 14:22:22 -05:00.
        let key = UUID(timeOrdered: Date(timeIntervalSince1970: 1_645_557_742), chance: chance)
        #expect(key.uuidString == "017F22E2-79B0-7FFF-BFFF-FFFFFFFFFFFF")
    }

    @Test func laterKeysSortAfterEarlierOnes() {
        let keys = (0..<100).map {
            UUID(timeOrdered: Date(timeIntervalSince1970: 1_700_000_000 + Double($0)), chance: UUID())
        }
        #expect(keys.map(\.uuidString) == keys.map(\.uuidString).sorted())
    }

    @Test(arguments: [-1.0, 1e300])
    func aClockOutOfRangeStillMakesAKey(_ seconds: Double) {
        let key = UUID(timeOrdered: Date(timeIntervalSince1970: seconds), chance: UUID())
        #expect(key.uuid.6 >> 4 == 7)
    }
}
