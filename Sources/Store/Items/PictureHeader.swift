import Foundation

/// The size of a picture, read from the first bytes of a PNG or JPEG file without decoding it.
///
/// PNG: the IHDR chunk comes first (PNG specification, 5.6). JPEG: the size is in the first start-of-frame segment
/// (ITU-T T.81, B.2.2).
public struct PictureHeader: Equatable, Sendable {
    /// The file is no picture that the store shows.
    public struct Unreadable: Error, Equatable {
        /// The problem, and how to fix it.
        public var message: String
    }

    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int
    /// Whether the file is a PNG; otherwise it is a JPEG.
    public var isPNG: Bool

    /// The largest side in pixels. Decoding a picture takes up to eight bytes of memory for each pixel.
    public static let largestSide = 8_192
    /// The largest file in bytes.
    public static let largestFile: Int64 = 32 << 20
    /// The bytes in which the size of a JPEG must stand. Thumbnails and profiles come before it.
    static let headerLength = 1 << 20

    /// Reads the size from the beginning of a file.
    ///
    /// - Throws: ``Unreadable``.
    public init(_ bytes: [UInt8]) throws(Unreadable) {
        let png = Self.png(bytes)
        guard let size = png ?? Self.jpeg(bytes) else {
            throw Unreadable(message: "is not a PNG or JPEG picture; convert it to one")
        }
        guard (1...Self.largestSide).contains(size.width), (1...Self.largestSide).contains(size.height) else {
            throw Unreadable(
                message: "is \(size.width) × \(size.height) pixels; use a picture of 1 to \(Self.largestSide) a side")
        }
        (width, height, isPNG) = (size.width, size.height, png != nil)
    }

    private static func png(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        guard bytes.count >= 24, bytes.starts(with: start) else { return nil }
        func number(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
        return (number(16), number(20))
    }

    private static func jpeg(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var position = 2
        func number(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
        while position + 4 <= bytes.count, bytes[position] == 0xFF {
            let marker = bytes[position + 1]
            switch marker {
            case 0xFF:
                // Fill bytes may come before a marker.
                position += 1
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                guard position + 9 <= bytes.count else { return nil }
                return (number(position + 7), number(position + 5))
            case 0x01, 0xD0...0xD9:
                // Markers without a length do not come before the frame.
                return nil
            default:
                let length = number(position + 2)
                guard length >= 2 else { return nil }
                position += 2 + length
            }
        }
        return nil
    }
}
