import CZlib
import Foundation

/// The reason why a picture cannot be read or written.
public struct PictureError: LocalizedError, Equatable, CustomStringConvertible {
    /// The reason as text.
    public var description: String
    /// The reason as text.
    public var errorDescription: String? { description }

    init(_ description: String) { self.description = description }
}

/// Reading and writing PNG (ISO/IEC 15948): 8 bits a channel, with or without opacity, gray or in color, not
/// interlaced.
extension Picture {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The maximum size of a file to read, in bytes.
    public static let largestFile = 64 << 20

    // MARK: Writing

    /// Returns the picture as a PNG file.
    public func png() throws -> Data {
        var rows: [UInt8] = []
        rows.reserveCapacity(height * (width * 4 + 1))
        for row in 0..<height {
            // Filter 0: the bytes are unchanged.
            rows.append(0)
            rows += pixels[row * width * 4..<(row + 1) * width * 4]
        }
        let header = Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height)) + [8, 6, 0, 0, 0]
        var file = Self.signature
        file += Self.chunk("IHDR", header)
        file += Self.chunk("IDAT", try Zlib.compress(rows))
        file += Self.chunk("IEND", [])
        return Data(file)
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + content
        return bigEndian(UInt32(content.count)) + named + bigEndian(Zlib.crc(named))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    // MARK: Reading

    /// Reads a PNG file.
    /// - Throws: ``PictureError``.
    public init(png file: Data) throws {
        let bytes = [UInt8](file)
        guard bytes.count <= Self.largestFile else { throw PictureError("the file is larger than 64 MiB") }
        guard bytes.starts(with: Self.signature) else { throw PictureError("the file is not a PNG") }
        var header: Header?
        var compressed: [UInt8] = []
        var rest = bytes[Self.signature.count...]
        var isWhole = false
        while !isWhole {
            let (name, content) = try Self.nextChunk(&rest)
            switch name {
            case "IHDR": header = try Header(Array(content))
            case "IDAT": compressed += content
            case "IEND": isWhole = true
            // A capital first letter marks a critical chunk, which decoders must not ignore.
            case _ where name.first?.isUppercase == true && name != "PLTE":
                throw PictureError("the file has a part “\(name)” that is not known")
            default: break
            }
        }
        guard let header else { throw PictureError("the file has no header") }
        let rows = try Zlib.expand(compressed, to: header.height * (header.width * header.channels + 1))
        self.init(width: header.width, height: header.height)
        try fill(rows, channels: header.channels)
    }

    private struct Header {
        var width: Int
        var height: Int
        var channels: Int

        init(_ bytes: [UInt8]) throws {
            guard bytes.count == 13 else { throw PictureError("the header has \(bytes.count) bytes, not 13") }
            func number(_ start: Int) -> Int { bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
            width = number(0)
            height = number(4)
            guard (1...Picture.largestSide).contains(width), (1...Picture.largestSide).contains(height) else {
                throw PictureError("the picture is empty or larger than \(Picture.largestSide) pixels a side")
            }
            let channels = [0: 1, 2: 3, 4: 2, 6: 4][bytes[9]]
            guard bytes[8] == 8, let channels, bytes[10...] == [0, 0, 0] else {
                throw PictureError("only pictures of 8 bits a channel, without a palette and not interlaced, are read")
            }
            self.channels = channels
        }
    }

    private static func nextChunk(_ rest: inout ArraySlice<UInt8>) throws -> (String, ArraySlice<UInt8>) {
        let cutOff = PictureError("the file is cut off")
        guard rest.count >= 12 else { throw cutOff }
        func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        let length = number(rest.prefix(4))
        guard length <= rest.count - 12 else { throw cutOff }
        let named = rest.dropFirst(4).prefix(4 + length)
        guard number(rest.dropFirst(8 + length).prefix(4)) == Int(Zlib.crc(Array(named))) else {
            throw PictureError("the file was damaged: a checksum is wrong")
        }
        rest = rest.dropFirst(12 + length)
        return (String(decoding: named.prefix(4), as: UTF8.self), named.dropFirst(4))
    }

    /// Reverses the rows' filters (clause 9 of the standard) and expands each pixel to four channels.
    private mutating func fill(_ rows: [UInt8], channels: Int) throws {
        let length = width * channels
        var above = [UInt8](repeating: 0, count: length)
        for row in 0..<height {
            let start = row * (length + 1)
            var line = Array(rows[start + 1..<start + 1 + length])
            for index in 0..<length {
                let left = index >= channels ? line[index - channels] : 0
                let corner = index >= channels ? above[index - channels] : 0
                let guess: UInt8
                switch rows[start] {
                case 0: guess = 0
                case 1: guess = left
                case 2: guess = above[index]
                case 3: guess = UInt8((Int(left) + Int(above[index])) / 2)
                case 4: guess = Self.nearest(Int(left), Int(above[index]), Int(corner))
                default: throw PictureError("a row has the unknown filter \(rows[start])")
                }
                line[index] &+= guess
            }
            for column in 0..<width {
                let pixel = line[column * channels..<(column + 1) * channels]
                let first = pixel.startIndex
                let isColor = channels > 2
                let place = (row * width + column) * 4
                pixels[place] = pixel[first]
                pixels[place + 1] = isColor ? pixel[first + 1] : pixel[first]
                pixels[place + 2] = isColor ? pixel[first + 2] : pixel[first]
                pixels[place + 3] = channels % 2 == 0 ? pixel[pixel.endIndex - 1] : 255
            }
            above = line
        }
    }

    /// Returns the Paeth predictor: the one of the three values that is nearest to left + above − corner.
    private static func nearest(_ left: Int, _ above: Int, _ corner: Int) -> UInt8 {
        let estimate = left + above - corner
        let (fromLeft, fromAbove, fromCorner) = (abs(estimate - left), abs(estimate - above), abs(estimate - corner))
        if fromLeft <= fromAbove, fromLeft <= fromCorner { return UInt8(left) }
        return UInt8(fromAbove <= fromCorner ? above : corner)
    }
}

/// The zlib functions that PNG needs.
private enum Zlib {
    static func crc(_ bytes: [UInt8]) -> UInt32 {
        UInt32(truncatingIfNeeded: crc32(0, bytes, uInt(bytes.count)))
    }

    static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
        var length = compressBound(uLong(bytes.count))
        var result = [UInt8](repeating: 0, count: Int(length))
        guard compress2(&result, &length, bytes, uLong(bytes.count), Z_DEFAULT_COMPRESSION) == Z_OK else {
            throw PictureError("the picture could not be compressed")
        }
        return Array(result.prefix(Int(length)))
    }

    /// Expands the bytes to exactly `count` bytes.
    static func expand(_ bytes: [UInt8], to count: Int) throws -> [UInt8] {
        var length = uLongf(count)
        var result = [UInt8](repeating: 0, count: count)
        guard uncompress(&result, &length, bytes, uLong(bytes.count)) == Z_OK, Int(length) == count else {
            throw PictureError("the picture's data is damaged or not as long as its header says")
        }
        return result
    }
}
