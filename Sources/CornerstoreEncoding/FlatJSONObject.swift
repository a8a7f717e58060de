/// The members of one JSON object. They are found in one pass and decoded only when requested. Nested values are
/// checked, and decoded only on request.
package struct FlatJSONObject: Sendable, Equatable {
    private struct Member: Sendable, Equatable {
        var name: Range<Int>
        /// The content of a string, or any other value unchanged.
        var value: Range<Int>
        var kind: Kind
        var hasEscapes: Bool
    }

    private enum Kind {
        case string
        case number
        case flag
        case null
        case object
        case array
    }

    /// The most members of an object. No expected object has more, and finding names would take long.
    package static let maximumMembers = 256

    private let json: [UInt8]
    private var members: [Member] = []

    /// Finds the members of an object.
    /// - Throws: ``FlatJSONScanner/Failure`` if the bytes are not exactly one JSON object, or if it has a member twice
    ///   or more than ``maximumMembers`` members.
    package init(_ json: [UInt8]) throws(FlatJSONScanner.Failure) {
        self.json = json
        let span = json.span
        var scanner = FlatJSONScanner()
        try scanner.beginObject(span)
        while let name = try scanner.nextName(span, isFirst: members.isEmpty) {
            guard members.count < Self.maximumMembers else {
                throw .init(offset: name.range.lowerBound, reason: "there are more than \(Self.maximumMembers) members")
            }
            // No requested name is written with escapes.
            if !name.hasEscapes, let twice = index(where: { equal($0, name.range) }) {
                throw .init(offset: members[twice].name.lowerBound, reason: "a member is repeated")
            }
            members.append(try Self.member(name, &scanner, span))
        }
        try scanner.end(span)
    }

    private static func member(
        _ name: FlatJSONScanner.StringToken, _ scanner: inout FlatJSONScanner, _ json: Span<UInt8>
    ) throws(FlatJSONScanner.Failure) -> Member {
        let kind: Kind
        switch scanner.peek(json) {
        case UInt8(ascii: "\""):
            let token = try scanner.string(json)
            return Member(name: name.range, value: token.range, kind: .string, hasEscapes: token.hasEscapes)
        case UInt8(ascii: "t"), UInt8(ascii: "f"): kind = .flag
        case UInt8(ascii: "n"): kind = .null
        case UInt8(ascii: "{"): kind = .object
        case UInt8(ascii: "["): kind = .array
        default: kind = .number
        }
        let start = scanner.position
        try scanner.skipValue(json)
        return Member(name: name.range, value: start..<scanner.position, kind: kind, hasEscapes: false)
    }

    // MARK: Reading

    /// A string; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type.
    package func string(_ name: StaticString) throws(FlatJSONScanner.Failure) -> String? {
        guard let member = try member(name, .string) else { return nil }
        if member.hasEscapes {
            return String(
                decoding: JSONText.unescaped(.init(range: member.value, hasEscapes: true), of: json.span), as: UTF8.self
            )
        }
        return String(decoding: json[member.value], as: UTF8.self)
    }

    /// A number; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type, or beyond the range of a Double.
    package func number(_ name: StaticString) throws(FlatJSONScanner.Failure) -> Double? {
        guard let member = try member(name, .number) else { return nil }
        if let whole = integer(member.value) { return Double(whole) }
        guard let number = Double(String(decoding: json[member.value], as: UTF8.self)), number.isFinite else {
            throw .init(offset: member.value.lowerBound, reason: "a number is too large")
        }
        return number
    }

    /// A whole number; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type, or of more than 18 digits.
    package func wholeNumber(_ name: StaticString) throws(FlatJSONScanner.Failure) -> Int64? {
        guard let member = try member(name, .number) else { return nil }
        guard let number = integer(member.value) else {
            throw .init(offset: member.value.lowerBound, reason: "\(name) is not a whole number, or too large")
        }
        return number
    }

    /// A boolean; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type.
    package func flag(_ name: StaticString) throws(FlatJSONScanner.Failure) -> Bool? {
        guard let member = try member(name, .flag) else { return nil }
        return json[member.value.lowerBound] == UInt8(ascii: "t")
    }

    /// A nested object; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type.
    package func object(_ name: StaticString) throws(FlatJSONScanner.Failure) -> FlatJSONObject? {
        guard let member = try member(name, .object) else { return nil }
        return try FlatJSONObject(Array(json[member.value]))
    }

    private func member(_ name: StaticString, _ kind: Kind) throws(FlatJSONScanner.Failure) -> Member? {
        guard let index = index(where: { json.span.holds(name, at: $0) }), members[index].kind != .null else {
            return nil
        }
        guard members[index].kind == kind else {
            throw .init(offset: members[index].value.lowerBound, reason: "\(name) is of another type")
        }
        return members[index]
    }

    private func index(where isIt: (Range<Int>) -> Bool) -> Int? {
        members.firstIndex { isIt($0.name) }
    }

    private func equal(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        guard one.count == other.count else { return false }
        for offset in 0..<one.count where json[one.lowerBound + offset] != json[other.lowerBound + offset] {
            return false
        }
        return true
    }

    /// The value of digits with or without a sign, if they are few enough for any value of them to fit; nil otherwise.
    private func integer(_ range: Range<Int>) -> Int64? {
        var value: Int64 = 0
        let isNegative = json[range.lowerBound] == UInt8(ascii: "-")
        guard range.count <= 18 + (isNegative ? 1 : 0) else { return nil }
        for index in range.dropFirst(isNegative ? 1 : 0) {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = json[index] else { return nil }
            value = value * 10 + Int64(json[index] - UInt8(ascii: "0"))
        }
        return isNegative ? -value : value
    }
}
