/// Encodes bytes as pairs of lower-case hexadecimal digits.
enum Hexadecimal {
    static func digits(_ byte: UInt8) -> String {
        let text = String(byte, radix: 16)
        return byte < 16 ? "0" + text : text
    }

    static func digits(_ bytes: some Sequence<UInt8>) -> String { bytes.map(digits).joined() }
}
