import CornerstoreEncoding
import Foundation
import StoreWire

/// Writes one object of a search or lookup as Apple's servers do: pairs joined by a comma and a space, and a line feed
/// before a pair whose value is longer than 150 bytes (`Documentation/StoreItems.md`, section 1).
struct SearchObject {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]
    private var isEmpty = true

    /// The longest value that gets no line of its own.
    private static let longestInLine = 150

    init() { bytes.reserveCapacity(2048) }

    mutating func end() { bytes.append(UInt8(ascii: "}")) }

    mutating func add(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        let start = begin(name)
        Self.append(text, to: &bytes)
        finish(name, start)
    }

    /// Adds a text of two parts, such as a base URL and a path.
    mutating func add(_ name: StaticString, _ first: String, _ rest: String) {
        let start = begin(name)
        bytes.append(UInt8(ascii: "\""))
        JSONText.appendEscaped(first, to: &bytes)
        JSONText.appendEscaped(rest, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        finish(name, start)
    }

    /// Adds a value that is JSON already.
    mutating func add(_ name: StaticString, json: [UInt8]) {
        let start = begin(name)
        bytes += json
        finish(name, start)
    }

    mutating func add(_ name: StaticString, _ number: Int64?) {
        guard let number else { return }
        _ = begin(name)
        Self.append(number, to: &bytes)
    }

    mutating func add(_ name: StaticString, _ flag: Bool) {
        _ = begin(name)
        bytes += (flag ? "true" : "false").utf8
    }

    mutating func add(_ name: StaticString, _ texts: [String]) {
        add(name, json: Self.json(texts))
    }

    /// A JSON array of texts.
    static func json(_ texts: [String]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes += ", ".utf8 }
            append(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }

    mutating func add(_ name: StaticString, numbers: [Int64]) {
        let start = begin(name)
        bytes += ("[" + numbers.map(String.init).joined(separator: ", ") + "]").utf8
        finish(name, start)
    }

    /// An amount with two decimals, or three if it needs them: `0.99`, `120.00`.
    mutating func add(_ name: StaticString, price: Money?) {
        guard let price else { return }
        _ = begin(name)
        Self.append(decimal: price.milliunits, to: &bytes)
    }

    /// The price of something that is not sold that way: `-1.00`.
    mutating func addNoPrice(_ name: StaticString) {
        _ = begin(name)
        bytes += "-1.00".utf8
    }

    /// A rating: the exact value of the binary number that is nearest to five decimals.
    mutating func add(_ name: StaticString, rating: Double) {
        _ = begin(name)
        bytes += Self.expansion((rating * 100_000).rounded() / 100_000).utf8
    }

    static func append(decimal milliunits: Int64, to bytes: inout [UInt8]) {
        let (units, thousandths) = milliunits.quotientAndRemainder(dividingBy: 1000)
        append(units, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        let digits = UInt64(thousandths.magnitude)
        for digit in [digits / 100, digits / 10 % 10] { bytes.append(UInt8(ascii: "0") + UInt8(digit)) }
        if digits % 10 > 0 { bytes.append(UInt8(ascii: "0") + UInt8(digits % 10)) }
    }

    /// All decimals of a binary number below 10. There are at most 52.
    static func expansion(_ number: Double) -> String {
        guard number != number.rounded() else { return String(Int(number)) }
        var text = Substring(String(format: "%.52f", number))
        while text.last == "0" { text.removeLast() }
        return String(text)
    }

    // MARK: Pieces

    /// Writes the name, and returns the index at which the pair begins.
    private mutating func begin(_ name: StaticString) -> Int {
        if !isEmpty { bytes += ", ".utf8 }
        isEmpty = false
        let start = bytes.count
        bytes.append(UInt8(ascii: "\""))
        bytes += UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        bytes += "\":".utf8
        return start
    }

    /// Gives a long value a line of its own.
    private mutating func finish(_ name: StaticString, _ start: Int) {
        if bytes.count - start - name.utf8CodeUnitCount - 3 > Self.longestInLine {
            bytes.insert(UInt8(ascii: "\n"), at: start)
        }
    }

    /// Writes a number's digits.
    static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = number.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    /// Writes a JSON string. `</` is written `<\/`; other slashes stay.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        JSONText.appendEscaped(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }
}
