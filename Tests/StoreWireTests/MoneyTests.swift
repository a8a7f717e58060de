import Foundation
import StoreWire
import TestSupport
import Testing

@Suite("Money is exact", .timeLimit(.minutes(1)))
struct MoneyTests {
    @Test(arguments: [
        ("0", 0), ("0.99", 990), ("4.99", 4990), ("12", 12_000), ("1200.5", 1_200_500), ("0.001", 1), ("0.010", 10),
        ("007.5", 7500), ("120", 120_000), ("999999.999", 999_999_999), ("1000000", 1_000_000_000),
        ("1000000.000", 1_000_000_000),
    ])
    func readsADecimal(text: String, milliunits: Int64) {
        #expect(Money(decimal: text, currency: "USD") == Money(milliunits: milliunits, currency: "USD"))
    }

    @Test(arguments: [
        "", ".", ".5", "5.", "-1", "+1", " 1", "1 ", "1,5", "1.2345", "1.2.3", "1e3", "0x10", "1000000.001", "1000001",
        "10000000", "99999999999999999999", "NaN", "inf", "１", "٣", "1.٣", "1\n", "1\0", "$1", "1_000", "--1", "0.-1",
    ])
    func refuses(text: String) {
        #expect(Money(decimal: text, currency: "USD") == nil)
    }

    @Test(arguments: [
        (0, "0"), (1, "0.001"), (10, "0.01"), (500, "0.5"), (990, "0.99"), (4990, "4.99"), (120_000, "120"),
        (1_000_000_000, "1000000"), (-4990, "-4.99"), (-1, "-0.001"), (Int64.min, "-9223372036854775.808"),
    ])
    func writesADecimalWithoutNeedlessZeros(milliunits: Int64, text: String) {
        #expect(Money(milliunits: milliunits, currency: "USD").decimal == text)
    }

    @Test func amountsAreReadBackAndAgreeWithDecimalArithmetic() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<5000 {
            // All magnitudes alike, not mostly large ones.
            let largest = Money.largest >> Int64.random(in: 0...29, using: &generator)
            let money = Money(milliunits: Int64.random(in: 0...largest, using: &generator), currency: "EUR")
            #expect(Money(decimal: money.decimal, currency: "EUR") == money)
            let value = try #require(Decimal(string: money.decimal, locale: nil))
            #expect(value * 1000 == Decimal(money.milliunits))
        }
    }

    @Test func trailingZerosDoNotChangeAnAmount() {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<5000 {
            let units = Int64.random(in: 0...9999, using: &generator)
            let digits = Int.random(in: 1...3, using: &generator)
            let fraction = (0..<digits).map { _ in String(Int.random(in: 0...9, using: &generator)) }.joined()
            let expected = units * 1000 + (Int64((fraction + "00").prefix(3)) ?? -1)
            #expect(Money(decimal: "\(units).\(fraction)", currency: "JPY")?.milliunits == expected)
        }
    }

    @Test func multipliesWithoutOverflowing() {
        let price = Money(milliunits: 990, currency: "USD")
        #expect(price.times(10) == Money(milliunits: 9900, currency: "USD"))
        #expect(price.times(0)?.milliunits == 0)
        #expect(
            Money(milliunits: Money.largest, currency: "USD").times(StoreLimits.quantity)?.milliunits == 10_000_000_000)
        #expect(Money(milliunits: .max, currency: "USD").times(2) == nil)
        #expect(Money(milliunits: .min, currency: "USD").times(-1) == nil)
    }

    @Test func currenciesAreKeptApart() {
        #expect(Money(milliunits: 1, currency: "USD") != Money(milliunits: 1, currency: "EUR"))
    }
}
