import Foundation

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

    /// The object, and after it the names that contain escapes, without them.
    private var json: [UInt8]
    private var members: [Member] = []
    /// The names of the objects around this one, each with a period after it.
    private var path = ""

    /// Finds the members of an object.
    /// - Throws: ``FlatJSONScanner/Failure`` if the bytes are not exactly one JSON object, or if it has a member twice
    ///   or more than ``maximumMembers`` members.
    package init(_ json: [UInt8]) throws(FlatJSONScanner.Failure) {
        try self.init(json, path: "")
    }

    private init(_ json: [UInt8], path: String) throws(FlatJSONScanner.Failure) {
        self.json = json
        self.path = path
        // A signed transaction has about twenty.
        members.reserveCapacity(24)
        let span = json.span
        var names: [UInt8] = []
        var scanner = FlatJSONScanner()
        try scanner.beginObject(span)
        while let name = try scanner.nextName(span, isFirst: members.isEmpty) {
            guard members.count < Self.maximumMembers else {
                throw .init(
                    offset: name.range.lowerBound, reason: "an object has more than \(Self.maximumMembers) members")
            }
            var member = try Self.member(name, &scanner, span)
            if name.hasEscapes {
                let start = json.count + names.count
                names += JSONText.unescaped(name, of: span)
                member.name = start..<json.count + names.count
            }
            members.append(member)
        }
        try scanner.end(span)
        if !names.isEmpty { self.json += names }
        try refuseRepeatedNames()
    }

    private func refuseRepeatedNames() throws(FlatJSONScanner.Failure) {
        let json = self.json.span
        for second in members.indices.dropFirst() {
            for first in 0..<second where equal(members[first].name, members[second].name, json) {
                throw .init(
                    offset: members[second].value.lowerBound, reason: "appears twice",
                    member: path + String(decoding: self.json[members[second].name].prefix(64), as: UTF8.self))
            }
        }
    }

    private func equal(_ one: Range<Int>, _ other: Range<Int>, _ json: Span<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        for offset in 0..<one.count where json[one.lowerBound + offset] != json[other.lowerBound + offset] {
            return false
        }
        return true
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

    /// A string that must be there.
    /// - Throws: ``FlatJSONScanner/Failure`` when it is missing or null, or for a value of another type.
    package func string(required name: StaticString) throws(FlatJSONScanner.Failure) -> String {
        try required(string(name), name)
    }

    /// One of an enumeration's texts; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for any other text, or for a value of another type.
    package func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: StaticString, of type: Choice.Type
    ) throws(FlatJSONScanner.Failure) -> Choice? where Choice.RawValue == String {
        guard let text = try string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw failure(name, "must be \(Choice.allCases.map(\.rawValue).joined(separator: " or "))")
        }
        return choice
    }

    /// A number; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type, or beyond the range of a Double.
    package func number(_ name: StaticString) throws(FlatJSONScanner.Failure) -> Double? {
        guard let member = try member(name, .number) else { return nil }
        if let whole = integer(member.value) { return Double(whole) }
        guard let number = Double(String(decoding: json[member.value], as: UTF8.self)), number.isFinite else {
            throw failure(name, "is out of range")
        }
        return number
    }

    /// A whole number; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type, for a number with a fraction or an exponent
    ///   (`1.0` and `1e0` are refused too), or beyond the range of an Int64.
    package func wholeNumber(_ name: StaticString) throws(FlatJSONScanner.Failure) -> Int64? {
        guard let member = try member(name, .number) else { return nil }
        guard let number = integer(member.value) else {
            throw failure(name, "must be a whole number of at most 64 bits, without a fraction or an exponent")
        }
        return number
    }

    /// A whole number that must be there.
    /// - Throws: as ``wholeNumber(_:)``, and when it is missing or null.
    package func wholeNumber(required name: StaticString) throws(FlatJSONScanner.Failure) -> Int64 {
        try required(wholeNumber(name), name)
    }

    /// A boolean; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type.
    package func flag(_ name: StaticString) throws(FlatJSONScanner.Failure) -> Bool? {
        guard let member = try member(name, .flag) else { return nil }
        return json[member.value.lowerBound] == UInt8(ascii: "t")
    }

    /// A boolean that must be there.
    /// - Throws: as ``flag(_:)``, and when it is missing or null.
    package func flag(required name: StaticString) throws(FlatJSONScanner.Failure) -> Bool {
        try required(flag(name), name)
    }

    /// A nested object; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type, or if the nested object has a member twice.
    package func object(_ name: StaticString) throws(FlatJSONScanner.Failure) -> FlatJSONObject? {
        guard let member = try member(name, .object) else { return nil }
        return try FlatJSONObject(Array(json[member.value]), path: path + "\(name).")
    }

    /// Whether the object has a member, also with the value null.
    package func has(_ name: StaticString) -> Bool { members.contains { json.span.holds(name, at: $0.name) } }

    /// The strings of an array; nil when the member is missing or null.
    /// - Throws: ``FlatJSONScanner/Failure`` for a value of another type.
    package func strings(_ name: StaticString) throws(FlatJSONScanner.Failure) -> [String]? {
        guard let member = try member(name, .array) else { return nil }
        guard let texts = try? JSONDecoder().decode([String].self, from: Data(json[member.value])) else {
            throw failure(name, "must be an array of strings")
        }
        return texts
    }

    /// The failure of a member whose value was read and is not valid.
    /// - Parameter reason: the rest of the sentence that begins with the member's name: `must be above 0`.
    package func failure(_ name: StaticString, _ reason: String) -> FlatJSONScanner.Failure {
        let member = members.first { json.span.holds(name, at: $0.name) }
        return .init(offset: member?.value.lowerBound ?? 0, reason: reason, member: path + "\(name)")
    }

    private func required<Value>(_ value: Value?, _ name: StaticString) throws(FlatJSONScanner.Failure) -> Value {
        if let value { return value }
        let isNull = members.contains { json.span.holds(name, at: $0.name) }
        throw failure(name, isNull ? "is null and must not be" : "is missing")
    }

    private func member(_ name: StaticString, _ kind: Kind) throws(FlatJSONScanner.Failure) -> Member? {
        guard let member = members.first(where: { json.span.holds(name, at: $0.name) }), member.kind != .null else {
            return nil
        }
        guard member.kind == kind else { throw failure(name, "is of the wrong type") }
        return member
    }

    /// The value of digits with or without a sign; nil for any other number, and for one that does not fit.
    private func integer(_ range: Range<Int>) -> Int64? {
        var value: Int64 = 0
        let isNegative = json[range.lowerBound] == UInt8(ascii: "-")
        // Any 18 digits fit.
        guard range.count <= 18 + (isNegative ? 1 : 0) else {
            return Int64(String(decoding: json[range], as: UTF8.self))
        }
        for index in range.dropFirst(isNegative ? 1 : 0) {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = json[index] else { return nil }
            value = value * 10 + Int64(json[index] - UInt8(ascii: "0"))
        }
        return isNegative ? -value : value
    }
}
