import Foundation
import Testing

@testable import PhotoFilters

@Suite("Pictures", .timeLimit(.minutes(1)))
struct PictureTests {
    @Test func `a picture comes back from a file as it was`() throws {
        for picture in [Picture.sample(), .sample(width: 1, height: 1), .sample(width: 3, height: 7)] {
            #expect(try Picture(png: picture.png()) == picture)
        }
    }

    @Test func `the sample is a view with sky, sun and hills`() {
        let sample = Picture.sample()
        let colors = Set(stride(from: 0, to: sample.pixels.count, by: 4).map { Array(sample.pixels[$0..<$0 + 3]) })
        #expect(sample.width == 320 && sample.height == 200 && colors.count > 50)
        for color in [[46, 125, 50], [102, 160, 72], [255, 214, 64]] as [[UInt8]] { #expect(colors.contains(color)) }
    }

    @Test func `files of other programs can be read, with all PNG filters`() throws {
        // Rows by hand: each of the five filters, in gray, so that the result is known.
        let rows: [[UInt8]] = [
            [0, 10, 20, 30], [1, 10, 10, 10], [2, 1, 1, 1], [3, 5, 5, 5], [4, 1, 1, 1],
        ]
        let expected: [[UInt8]] = [
            [10, 20, 30], [10, 20, 30], [11, 21, 31],
            // Average: half of left and above, rounded down, and 5.
            [10, 20, 30],
            // Paeth: 10 above the first; then whichever is nearest to left + above - corner.
            [11, 21, 31],
        ]
        let picture = try Picture(png: Self.file(width: 3, height: 5, color: 0, rows: rows.flatMap { $0 }))
        for (row, values) in expected.enumerated() {
            for (column, value) in values.enumerated() {
                let start = (row * 3 + column) * 4
                #expect(Array(picture.pixels[start..<start + 4]) == [value, value, value, 255], "\(row) \(column)")
            }
        }
        let grayAndOpacity = try Picture(png: Self.file(width: 1, height: 1, color: 4, rows: [0, 7, 9]))
        #expect(grayAndOpacity.pixels == [7, 7, 7, 9])
        let color = try Picture(png: Self.file(width: 1, height: 1, color: 2, rows: [0, 1, 2, 3]))
        #expect(color.pixels == [1, 2, 3, 255])
    }

    @Test func `damaged pictures are refused`() throws {
        let good = try Picture.sample(width: 8, height: 4).png()
        for index in good.indices {
            var bad = good
            bad[index] ^= 0x11
            #expect(throws: PictureError.self, "byte \(index)") { try Picture(png: bad) }
            #expect(throws: PictureError.self, "cut at \(index)") { try Picture(png: good.prefix(index)) }
        }
        for (width, height, color, rows) in [
            (0, 1, 0, [0]), (1, 1, 3, [0, 0]), (1, 1, 0, [9, 0]), (2, 1, 0, [0, 0]), (1, 1, 0, [0, 0, 0]),
            (100_000, 1, 0, [0]),
        ] as [(UInt32, UInt32, UInt8, [UInt8])] {
            #expect(throws: PictureError.self) {
                try Picture(png: Self.file(width: width, height: height, color: color, rows: rows))
            }
        }
    }

    @Test func `filters change colours as named`() {
        let picture = Picture(width: 2, height: 1, red: 200, green: 100, blue: 50)
        let mono = PhotoFilter.mono.apply(to: picture)
        #expect(mono.pixels == [124, 124, 124, 255, 124, 124, 124, 255])
        let sepia = PhotoFilter.sepia.apply(to: picture)
        #expect(sepia.pixels[0] > sepia.pixels[1] && sepia.pixels[1] > sepia.pixels[2] && sepia.pixels[3] == 255)
        let white = PhotoFilter.sepia.apply(to: Picture(width: 1, height: 1, red: 255, green: 255, blue: 255))
        #expect(white.pixels[0] == 255)
    }

    /// A PNG file with these rows, compressed without compressing (RFC 1950 and 1951, stored blocks).
    private static func file(width: UInt32, height: UInt32, color: UInt8, rows: [UInt8]) -> Data {
        func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
        func crc(_ bytes: [UInt8]) -> UInt32 {
            var sum = UInt32.max
            for byte in bytes {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
            }
            return ~sum
        }
        func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
            let named = Array(name.utf8) + content
            return number(UInt32(content.count)) + named + number(crc(named))
        }
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in rows {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let count = UInt16(rows.count)
        let length = [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
        var stored: [UInt8] = [0x78, 0x01, 0x01]
        stored += length
        stored += rows
        stored += number(high << 16 | low)
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += chunk("IHDR", number(width) + number(height) + [8, color, 0, 0, 0])
        file += chunk("IDAT", stored)
        file += chunk("IEND", [])
        return Data(file)
    }
}
