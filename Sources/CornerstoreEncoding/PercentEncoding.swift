/// A set of ASCII characters, such as those that percent-encoding keeps.
package struct ASCIICharacters: Sendable {
    /// A bit for each character.
    private var bits: UInt128 = 0

    /// The characters of a text. Others than ASCII are left out.
    package init(_ characters: String) {
        for byte in characters.utf8 where byte < 0x80 { bits |= 1 << UInt128(byte) }
    }

    /// These characters and those of a text.
    package func adding(_ characters: String) -> ASCIICharacters {
        var all = ASCIICharacters(characters)
        all.bits |= bits
        return all
    }

    /// Whether the byte is one of the characters.
    package func contains(_ byte: UInt8) -> Bool { byte < 0x80 && bits >> UInt128(byte) & 1 == 1 }

    /// Letters and digits.
    package static let alphanumeric = ASCIICharacters("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    /// Characters that are safe in a file's name on every system, except for a dot at its start.
    package static let fileName = alphanumeric.adding("-_.")
    /// `unreserved` of RFC 3986, section 2.3, which mean the same with and without percent-encoding.
    package static let unreserved = alphanumeric.adding("-._~")
    /// `pchar` of RFC 3986, section 3.3: the characters of a path's segment.
    package static let pathSegment = unreserved.adding("!$&'()*+,;=:@")
}

extension Sequence<UInt8> {
    /// The UTF-8 text with every byte written as `%` and two digits (RFC 3986, section 2.1), except the kept
    /// characters.
    /// - Parameters:
    ///   - kept: the characters that stay as they are.
    ///   - letters: the case of the digits; RFC 3986 recommends capitals.
    package func percentEncoded(
        keeping kept: ASCIICharacters = .unreserved, _ letters: Hexadecimal.LetterCase = .upper
    ) -> String {
        var text: [UInt8] = []
        for byte in self {
            if kept.contains(byte) {
                text.append(byte)
            } else {
                text += [
                    UInt8(ascii: "%"), Hexadecimal.digit(byte >> 4, letters), Hexadecimal.digit(byte & 15, letters),
                ]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The UTF-8 text as the name of a file: percent-encoded except the kept characters, and so is a dot at the start,
    /// because `.` and `..` are folders. The name of an empty text is empty, and a long text can get a name that is too
    /// long for a file system.
    package func percentEncodedFileName(
        keeping kept: ASCIICharacters = .fileName, _ letters: Hexadecimal.LetterCase = .upper
    ) -> String {
        let name = percentEncoded(keeping: kept, letters)
        return name.hasPrefix(".")
            ? CollectionOfOne(UInt8(ascii: ".")).percentEncoded(keeping: ASCIICharacters(""), letters)
                + name.dropFirst() : name
    }
}

extension String {
    /// The text percent-encoded except RFC 3986's unreserved characters, as a value in a URL.
    package var percentEncoded: String { utf8.percentEncoded() }
}
