import Store
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct DrawingTests {
    /// A picture whose left half is red and whose right half is blue.
    static func halves(_ width: Int, _ height: Int, _ format: ItemImageAddress.Format) throws -> [UInt8] {
        let drawing = try Drawing(width: width, height: height, color: 0xFF0000)
        drawing.fill(x: width / 2..<width, y: 0..<height, color: 0x0000FF)
        return try drawing.encoded(format, quality: 100)
    }

    @Test(
        arguments: [
            // width, height, box, result
            (1024, 1024, 100, 100, 100, 100), (1024, 512, 100, 100, 100, 50), (512, 1024, 100, 100, 50, 100),
            (60, 40, 100, 100, 60, 40), (60, 40, 999_999, 999_999, 60, 40), (640, 1136, 268, nil, 268, 476),
            (100, 4000, 268, nil, 100, 4000), (4000, 1, 100, 100, 100, 1), (1, 4000, 100, 100, 1, 100),
            (3, 2, 2, 2, 2, 1), (8192, 8192, 1, 1, 1, 1), (600, 400, 300, 100, 150, 100), (600, 400, 100, 300, 100, 67),
            (1, 1, 1, 1, 1, 1),
        ] as [(Int, Int, Int, Int?, Int, Int)])
    func aPictureFitsIntoItsBox(_ row: (Int, Int, Int, Int?, Int, Int)) {
        let size = Drawing.size(row.0, row.1, inBoxOf: row.2, row.3)
        #expect(size.width == row.4 && size.height == row.5, "\(row) \(size)")
    }

    @Test(arguments: ItemImageAddress.Format.allCases, ItemImageAddress.Format.allCases)
    func aScaledPictureKeepsItsColours(_ source: ItemImageAddress.Format, _ target: ItemImageAddress.Format) throws {
        let file = try Self.halves(200, 100, source)
        let scaled = try Drawing(decoding: file, PictureHeader(file)).scaled(toWidth: 40, height: 20, background: nil)
        let answer = try scaled.encoded(target, quality: 90)
        let header = try PictureHeader(answer)
        #expect(header.width == 40 && header.height == 20 && header.isPNG == (target == .png))
        let picture = try Drawing(decoding: answer, header)
        for (x, wanted) in [(5, 0xFF0000), (35, 0x0000FF)] as [(Int, UInt32)] {
            let pixel = picture.pixel(x, 10)
            for shift in [0, 8, 16] as [UInt32] {
                let difference = Int(pixel >> shift & 0xFF) - Int(wanted >> shift & 0xFF)
                #expect(abs(difference) <= 6, "\(String(pixel, radix: 16)) at \(x)")
            }
        }
    }

    @Test func aLowerQualityMakesASmallerFile() throws {
        let drawing = try Drawing(width: 256, height: 256, color: 0)
        for y in 0..<256 {
            for x in 0..<256 { drawing.fill(x: x..<x + 1, y: y..<y + 1, color: UInt32(x * y * 7919 & 0xFF_FFFF)) }
        }
        #expect(try drawing.encoded(.jpg, quality: 10).count < drawing.encoded(.jpg, quality: 90).count / 2)
    }

    @Test func transparencyStaysInPNGAndBecomesWhiteInJPEG() throws {
        let file = try Drawing(width: 8, height: 8, color: nil).encoded(.png, quality: 0)
        let picture = try Drawing(decoding: file, PictureHeader(file))
        #expect(try picture.scaled(toWidth: 4, height: 4, background: nil).pixel(1, 1) >> 24 == 127)
        #expect(try picture.scaled(toWidth: 4, height: 4, background: 0xFFFFFF).pixel(1, 1) == 0xFFFFFF)
    }

    @Test func aPNGCutAtAnyByteIsRefused() throws {
        let whole = try Self.halves(12, 9, .png)
        var refused = 0
        // The last twelve bytes are the chunk that ends the file.
        for length in 0..<whole.count - 12 {
            let cut = Array(whole.prefix(length))
            guard let header = try? PictureHeader(cut) else { continue }
            #expect(throws: Drawing.Failure.self, "\(length)") { _ = try Drawing(decoding: cut, header).width }
            refused += 1
        }
        #expect(refused > 20)
    }

    @Test func damagedFilesDoNotStopTheProcess() throws {
        for format in ItemImageAddress.Format.allCases {
            let whole = try Self.halves(12, 9, format)
            for index in whole.indices {
                for change in [0x01, 0x80, 0xFF] as [UInt8] {
                    var damaged = whole
                    damaged[index] ^= change
                    guard let header = try? PictureHeader(damaged), header.width * header.height < 1 << 16 else {
                        continue
                    }
                    if let picture = try? Drawing(decoding: damaged, header).width { #expect(picture == header.width) }
                }
                let cut = Array(whole.prefix(index))
                if let header = try? PictureHeader(cut) { _ = try? Drawing(decoding: cut, header).width }
            }
        }
    }

    @Test func resultsAreBounded() {
        var results = ScaledPictures(capacity: 1_000)
        func key(_ width: Int) -> ScaledPictures.Key {
            .init(number: 1, picture: .artwork, digest: nil, width: width, height: 1, quality: 80, format: .jpg)
        }
        let picture = ScaledPicture([UInt8](repeating: 1, count: 100), isCurrent: true)
        for width in 1...50 {
            results.insert(picture, for: key(width))
            #expect(results.bytes <= 1_000)
            // A picture that is asked for again and again stays.
            #expect(results.value(for: key(1)) != nil, "\(width)")
        }
        #expect(results.value(for: key(50)) != nil && results.value(for: key(20)) == nil)
        results.insert(ScaledPicture([UInt8](repeating: 1, count: 501), isCurrent: true), for: key(99))
        #expect(results.value(for: key(99)) == nil)
    }
}
