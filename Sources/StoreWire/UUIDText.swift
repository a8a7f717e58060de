import CornerstoreEncoding
import Foundation

extension UUID {
    /// The UUID's text with capital letters, equal to `uuidString`. Foundation on Linux makes `uuidString` with
    /// `snprintf`, which takes many times as long.
    public var text: String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            withUnsafeBytes(of: uuid) { bytes in
                var position = 0
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        buffer[position] = UInt8(ascii: "-")
                        position += 1
                    }
                    buffer[position] = Hexadecimal.digit(bytes[index] >> 4, .upper)
                    buffer[position + 1] = Hexadecimal.digit(bytes[index] & 0x0F, .upper)
                    position += 2
                }
            }
            return 36
        }
    }

    /// Reads a text of 32 hexadecimal digits in either case and four hyphens (RFC 9562, section 4). Returns nil for
    /// anything else.
    public init?(text: Span<UInt8>) {
        guard text.count == 36 else { return nil }
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isGood = withUnsafeMutableBytes(of: &bytes) { bytes in
            var position = 0
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    guard text[position] == UInt8(ascii: "-") else { return false }
                    position += 1
                }
                guard let high = Hexadecimal.value(text[position]),
                    let low = Hexadecimal.value(text[position + 1])
                else {
                    return false
                }
                bytes[index] = high << 4 | low
                position += 2
            }
            return true
        }
        guard isGood else { return nil }
        self.init(uuid: bytes)
    }
}
