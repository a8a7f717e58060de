/// JSON as it is written, straight into bytes and in the order of the calls. Names are literals of ASCII without
/// escapes. There are no spaces and line breaks, and slashes stand as they are.
package struct JSONBytes {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    package mutating func beginObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
    }

    package mutating func beginObject(_ name: StaticString) {
        self.name(name)
        bytes.append(UInt8(ascii: "{"))
    }

    package mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func beginArray(_ name: StaticString) {
        self.name(name)
        bytes.append(UInt8(ascii: "["))
    }

    mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
    }

    /// A string.
    package mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        quote { $0.appendEscaped(value) }
    }

    /// A string under a name that comes from outside.
    mutating func member(named name: String, _ value: String) {
        separate()
        quote { $0.appendEscaped(name) }
        bytes.append(UInt8(ascii: ":"))
        quote { $0.appendEscaped(value) }
    }

    /// A number.
    package mutating func member(_ name: StaticString, number: Int64) {
        self.name(name)
        bytes.append(decimal: number)
    }

    /// A number in quotation marks, as most of Apple's are.
    mutating func member(_ name: StaticString, quotedNumber: Int64) {
        self.name(name)
        quote { $0.append(decimal: quotedNumber) }
    }

    /// `true` or `false`.
    package mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        bytes.append(literal: value ? "true" : "false")
    }

    /// `"true"` or `"false"`.
    mutating func member(_ name: StaticString, quotedFlag: Bool) {
        self.name(name)
        bytes.append(literal: quotedFlag ? "\"true\"" : "\"false\"")
    }

    /// `"1"` or `"0"`.
    mutating func member(_ name: StaticString, quotedDigit: Bool) {
        self.name(name)
        bytes.append(literal: quotedDigit ? "\"1\"" : "\"0\"")
    }

    /// Bytes in Base64.
    mutating func member(_ name: StaticString, base64: [UInt8]) {
        self.name(name)
        quote { Base64.appendEncoded(base64.span, to: &$0) }
    }

    /// A date in its three forms: `name`, `name_ms` and `name_pst`.
    mutating func member(_ name: StaticString, date: ReceiptDate) {
        self.name(name)
        quote { $0.appendGMT(date) }
        self.name(name, suffix: "_ms")
        quote { $0.append(decimal: date.milliseconds) }
        self.name(name, suffix: "_pst")
        quote { $0.appendPacific(date) }
    }

    private mutating func name(_ name: StaticString, suffix: StaticString = "") {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(literal: name)
        bytes.append(literal: suffix)
        bytes.append(literal: "\":")
    }

    private mutating func quote(_ write: (inout [UInt8]) -> Void) {
        bytes.append(UInt8(ascii: "\""))
        write(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }
}

extension [UInt8] {
    /// Appends the string as it stands between the quotation marks of a JSON string (RFC 8259, section 7).
    mutating func appendEscaped(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            if utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
                for byte in utf8 { appendEscaped(byte) }
            } else {
                append(contentsOf: utf8)
            }
        }
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append(literal: "\\\"")
        case UInt8(ascii: "\\"): append(literal: "\\\\")
        case 0x0A: append(literal: "\\n")
        case 0x0D: append(literal: "\\r")
        case 0x09: append(literal: "\\t")
        case 0..<0x20:
            append(literal: "\\u00")
            append(UInt8(ascii: "0") + byte >> 4)
            append(Array("0123456789abcdef".utf8)[Int(byte & 15)])
        default: append(byte)
        }
    }
}
