/// Reads a JSON object (RFC 8259) in one pass, member by member, without building it. It checks everything, including
/// skipped values: grammar, UTF-8, surrogate pairs, depth. Each call receives the span to read from, so that the
/// scanner can be stored in a variable.
package struct FlatJSONScanner {
    /// An error in the JSON, or in the value of a member.
    package struct Failure: Error, Equatable {
        /// The byte where the error is.
        package var offset: Int
        /// The problem, as the end of a sentence whose subject is the member, or as a clause of its own without a
        /// member.
        package var reason: String
        /// The member that is wrong, after the names of the objects around it: `agreedPrice.currency`. Nil when the
        /// bytes are not valid JSON.
        package var member: String?

        package init(offset: Int, reason: String, member: String? = nil) {
            self.offset = offset
            self.reason = reason
            self.member = member
        }

        /// A sentence for the one who sent the JSON. It contains none of its values.
        package var sentence: String {
            if let member { "“\(member)” \(reason)." } else { "The JSON is invalid at byte \(offset): \(reason)." }
        }
    }

    /// The range of a string's content, and whether it contains escapes.
    package struct StringToken {
        package var range: Range<Int>
        package var hasEscapes: Bool
    }

    /// The deepest nesting of values, counted from the object's members.
    package static let maximumDepth = 32

    package private(set) var position = 0

    package init() {}

    /// Skips white space and the `{`.
    package mutating func beginObject(_ json: Span<UInt8>) throws(Failure) {
        try expect(UInt8(ascii: "{"), json, "expected an object")
    }

    /// Reads the next member's name; nil at the end of the object. The caller must read the member's value afterwards.
    /// `isFirst` is true for the first call of an object.
    package mutating func nextName(_ json: Span<UInt8>, isFirst: Bool) throws(Failure) -> StringToken? {
        if take(UInt8(ascii: "}"), json) { return nil }
        if !isFirst { try expect(UInt8(ascii: ","), json, "expected a comma between two members") }
        let name = try string(json)
        try expect(UInt8(ascii: ":"), json, "expected a colon after a name")
        return name
    }

    /// Checks that nothing but white space follows.
    package mutating func end(_ json: Span<UInt8>) throws(Failure) {
        if peek(json) != nil { throw failure("something follows the object") }
    }

    /// Peeks at the next byte that is not white space; nil at the end.
    package mutating func peek(_ json: Span<UInt8>) -> UInt8? {
        while position < json.count {
            switch json[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }

    /// Continues after a string that the caller has read up to its closing quotation mark.
    package mutating func move(behindClosingMarkAt index: Int) {
        position = index + 1
    }

    /// Reads a string and returns the range of its content.
    package mutating func string(_ json: Span<UInt8>) throws(Failure) -> StringToken {
        try expect(UInt8(ascii: "\""), json, "expected a string")
        let start = position
        var hasEscapes = false
        while position < json.count {
            let byte = json[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return StringToken(range: start..<position - 1, hasEscapes: hasEscapes)
            } else if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                try escape(json)
            } else if byte < 0x20 {
                throw failure("a string contains a control character")
            } else if byte < 0x80 {
                position += 1
            } else {
                try character(json)
            }
        }
        throw failure("a string does not end")
    }

    /// Reads and discards a value of any type.
    package mutating func skipValue(_ json: Span<UInt8>) throws(Failure) {
        try skipValue(json, depth: 0)
    }

    /// Reads `true`, `false` or `null` (nil). Any other value is skipped and returns `other`.
    package mutating func flag(_ json: Span<UInt8>, other: () -> Void) throws(Failure) -> Bool? {
        switch peek(json) {
        case UInt8(ascii: "t"):
            try word("true", json)
            return true
        case UInt8(ascii: "f"):
            try word("false", json)
            return false
        case UInt8(ascii: "n"):
            try word("null", json)
        default:
            other()
            try skipValue(json)
        }
        return nil
    }

    // MARK: Pieces

    private func failure(_ reason: String) -> Failure { Failure(offset: position, reason: reason) }

    private mutating func take(_ byte: UInt8, _ json: Span<UInt8>) -> Bool {
        guard peek(json) == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8, _ json: Span<UInt8>, _ reason: String) throws(Failure) {
        guard take(byte, json) else { throw failure(reason) }
    }

    private mutating func word(_ word: StaticString, _ json: Span<UInt8>) throws(Failure) {
        for index in 0..<word.utf8CodeUnitCount {
            guard position < json.count, json[position] == word.withUTF8Buffer({ $0[index] }) else {
                throw failure("a value is not valid JSON")
            }
            position += 1
        }
    }

    private mutating func skipValue(_ json: Span<UInt8>, depth: Int) throws(Failure) {
        guard depth <= Self.maximumDepth else { throw failure("nested too deep") }
        switch peek(json) {
        case UInt8(ascii: "\""): _ = try string(json)
        case UInt8(ascii: "t"): try word("true", json)
        case UInt8(ascii: "f"): try word("false", json)
        case UInt8(ascii: "n"): try word("null", json)
        case UInt8(ascii: "{"):
            position += 1
            var isFirst = true
            while try nextName(json, isFirst: isFirst) != nil {
                isFirst = false
                try skipValue(json, depth: depth + 1)
            }
        case UInt8(ascii: "["):
            position += 1
            var isFirst = true
            while !take(UInt8(ascii: "]"), json) {
                if !isFirst { try expect(UInt8(ascii: ","), json, "expected a comma between two elements") }
                isFirst = false
                try skipValue(json, depth: depth + 1)
            }
        default: try number(json)
        }
    }

    private mutating func number(_ json: Span<UInt8>) throws(Failure) {
        if position < json.count, json[position] == UInt8(ascii: "-") { position += 1 }
        if position < json.count, json[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try digits(json)
        }
        if position < json.count, json[position] == UInt8(ascii: ".") {
            position += 1
            try digits(json)
        }
        if position < json.count, json[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < json.count, json[position] == UInt8(ascii: "+") || json[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits(json)
        }
    }

    private mutating func digits(_ json: Span<UInt8>) throws(Failure) {
        let start = position
        while position < json.count, case UInt8(ascii: "0")...UInt8(ascii: "9") = json[position] { position += 1 }
        if position == start { throw failure("a value is not valid JSON") }
    }

    /// Reads an escape, or both escapes of a surrogate pair.
    private mutating func escape(_ json: Span<UInt8>) throws(Failure) {
        guard position + 1 < json.count else { throw failure("a string does not end") }
        switch json[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            guard let first = Hexadecimal.unit(json, at: position + 2) else {
                throw failure("an escape is not four hexadecimal digits")
            }
            if !UTF16.isSurrogate(first) {
                position += 6
                return
            }
            guard UTF16.isLeadSurrogate(first), position + 7 < json.count, json[position + 6] == UInt8(ascii: "\\"),
                json[position + 7] == UInt8(ascii: "u"), let second = Hexadecimal.unit(json, at: position + 8),
                UTF16.isTrailSurrogate(second)
            else { throw failure("a surrogate is not part of a pair") }
            position += 12
        default: throw failure("an escape is not valid JSON")
        }
    }

    /// Reads a character of two to four bytes of UTF-8 (the table of RFC 3629, section 4).
    private mutating func character(_ json: Span<UInt8>) throws(Failure) {
        var second: ClosedRange<UInt8> = 0x80...0xBF
        let length: Int
        switch json[position] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw failure("a string is not UTF-8")
        }
        guard position + length <= json.count, second.contains(json[position + 1]) else {
            throw failure("a string is not UTF-8")
        }
        for index in position + 2..<position + length where json[index] & 0xC0 != 0x80 {
            throw failure("a string is not UTF-8")
        }
        position += length
    }
}
