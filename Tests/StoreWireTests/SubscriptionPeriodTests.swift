import Foundation
import StoreWire
import Testing

@Suite("Subscription periods", .timeLimit(.minutes(1)))
struct SubscriptionPeriodTests {
    @Test(arguments: SubscriptionPeriod.Unit.allCases, [1, 2, 3, 7, 30, 365, 999])
    func isReadBackAsWritten(unit: SubscriptionPeriod.Unit, count: Int) throws {
        let period = SubscriptionPeriod(unit: unit, count: count)
        #expect(SubscriptionPeriod(iso8601: period.description) == period)
        #expect(try JSONDecoder().decode([SubscriptionPeriod].self, from: JSONEncoder().encode([period])) == [period])
    }

    @Test(
        arguments: [("P1W", .week, 1), ("P3M", .month, 3), ("P7D", .day, 7), ("P1Y", .year, 1)]
            as [(String, SubscriptionPeriod.Unit, Int)])
    func readsISO8601(text: String, unit: SubscriptionPeriod.Unit, count: Int) {
        #expect(SubscriptionPeriod(iso8601: text) == SubscriptionPeriod(unit: unit, count: count))
    }

    @Test(arguments: [
        "", "P", "P1", "PM", "1M", "p1M", "P1m", "P0M", "P-1M", "P+1M", "P1000D", "P1.5M", "P1M2D", "PT1M", "PT1H",
        "P 1M",
        "P1M ", "P٣M", "P1S", "P99999999999999999999M",
    ])
    func refuses(text: String) {
        #expect(SubscriptionPeriod(iso8601: text) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([SubscriptionPeriod].self, from: JSONEncoder().encode([text]))
        }
    }
}
