/// An exact amount in one currency, in thousandths of the currency's unit (“milliunits”), as signed transactions carry
/// it: 4990 is 4.99 USD, and 120000 is ¥120.
public struct Money: Hashable, Codable, Sendable {
    /// The amount in thousandths of the currency's unit.
    public var milliunits: Int64
    /// The currency's ISO 4217 code in upper case.
    public var currency: String

    /// Creates an amount.
    public init(milliunits: Int64, currency: String) {
        self.milliunits = milliunits
        self.currency = currency
    }

    /// The largest amount that a catalog or a payment may hold: a million units. It is more than any price tier, and
    /// ten times it cannot overflow.
    public static let largest: Int64 = 1_000_000_000

    /// Reads a decimal such as `0.99`, `12` or `1200.5` exactly. Returns nil when the text is not a plain non-negative
    /// decimal with at most three fraction digits, or when the amount exceeds ``largest``.
    public init?(decimal: some StringProtocol, currency: String) {
        let parts = decimal.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, (1...7).contains(whole.utf8.count) else { return nil }
        let fraction = parts.count == 2 ? String(parts[1]) : "0"
        guard (1...3).contains(fraction.utf8.count), whole.isDigits, fraction.isDigits,
            let units = Int64(whole), let thousandths = Int64(fraction.padding(to: 3))
        else { return nil }
        let milliunits = units * 1000 + thousandths
        guard milliunits <= Self.largest else { return nil }
        self.init(milliunits: milliunits, currency: currency)
    }

    /// The plain decimal, without the currency and without trailing zeros: `4.99`, `120`, `0.5`.
    public var decimal: String {
        let (units, thousandths) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        let sign = milliunits < 0 ? "-" : ""
        guard thousandths != 0 else { return "\(sign)\(units)" }
        var digits = Substring(String(thousandths + 1000).dropFirst())
        while digits.last == "0" { digits.removeLast() }
        return "\(sign)\(units).\(digits)"
    }

    /// The currencies that have no smaller unit (ISO 4217).
    public static let wholeCurrencies: Set<String> = ["CLP", "JPY", "KRW", "VND"]

    /// The part of the amount for `part` of `whole`, rounded down to the smallest unit of the currency: a cent, or a
    /// yen. At most the amount, and at least 0.
    public func share(_ part: Int64, of whole: Int64) -> Money {
        guard part > 0, whole > 0 else { return Money(milliunits: 0, currency: currency) }
        guard part < whole else { return self }
        let product = milliunits.multipliedFullWidth(by: part)
        let exact = whole.dividingFullWidth(product).quotient
        let unit: Int64 = Self.wholeCurrencies.contains(currency) ? 1000 : 10
        return Money(milliunits: exact / unit * unit, currency: currency)
    }

    /// The amount for `quantity` items; nil when it overflows.
    public func times(_ quantity: Int) -> Money? {
        let (product, overflow) = milliunits.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? nil : Money(milliunits: product, currency: currency)
    }
}

extension StringProtocol {
    fileprivate var isDigits: Bool { utf8.allSatisfy { (0x30...0x39).contains($0) } }

    /// Pads the digits on the right with zeros.
    fileprivate func padding(to length: Int) -> String {
        String(self) + String(repeating: "0", count: length - utf8.count)
    }
}
