/// A version of hosted content: numbers joined by full stops. Versions are compared number by number and not as text,
/// so that `1.10` is above `1.9` and `1` equals `1.0`. `ContentInfo.plist` stores it as a string under the key
/// `ContentVersion`.
public struct ContentVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The most numbers in a version, and the most digits in a number.
    public static let limits = (numbers: 8, digits: 9)

    /// The version as it was written.
    public let text: String
    /// The numbers, without zero numbers at the end, by which versions are compared.
    private let numbers: [Int]

    /// Reads a version. Returns nil when a part is empty, is not decimal digits, or exceeds the limits.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...Self.limits.numbers).contains(parts.count) else { return nil }
        var numbers: [Int] = []
        for part in parts {
            guard (1...Self.limits.digits).contains(part.utf8.count),
                part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        self.text = String(text)
        self.numbers = numbers
    }

    /// The version as it was written.
    public var description: String { text }

    /// Whether both versions have the same numbers, apart from trailing zeros.
    public static func == (left: Self, right: Self) -> Bool { left.numbers == right.numbers }

    /// Whether the first version is lower, number by number.
    public static func < (left: Self, right: Self) -> Bool { left.numbers.lexicographicallyPrecedes(right.numbers) }

    /// Feeds the numbers to the hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(numbers) }
}
