import CGD
import Store

/// A decoded picture in memory: 24 bits of colour and 7 bits of transparency for each pixel. Every function blocks
/// for as long as the work takes.
struct Drawing: ~Copyable {
    private let image: gdImagePtr

    /// A picture that libgd cannot decode, scale or encode.
    struct Failure: Error {}

    /// libgd prints errors to standard error otherwise.
    private static let silence: Void = gdSetErrorMethod { _, _, _ in }

    /// Creates a picture of one colour, `0xRRGGBB`; transparent without one.
    init(width: Int, height: Int, color: UInt32?) throws(Failure) {
        _ = Self.silence
        guard let width = Int32(exactly: width), let height = Int32(exactly: height), width > 0, height > 0,
            let image = gdImageCreateTrueColor(width, height)
        else { throw Failure() }
        gdImageAlphaBlending(image, 0)
        gdImageFilledRectangle(image, 0, 0, width - 1, height - 1, Int32(color.map { $0 & 0xFF_FFFF } ?? 0x7FFF_FFFF))
        self.image = image
    }

    /// Decodes a PNG or JPEG file whose header was checked. The missing end of a JPEG becomes gray.
    init(decoding file: [UInt8], _ header: PictureHeader) throws(Failure) {
        _ = Self.silence
        guard let length = Int32(exactly: file.count) else { throw Failure() }
        let decoded = file.withUnsafeBytes { bytes in
            // libgd only reads the bytes.
            let data = UnsafeMutableRawBufferPointer(mutating: bytes).baseAddress
            return header.isPNG ? gdImageCreateFromPngPtr(length, data) : gdImageCreateFromJpegPtrEx(length, data, 1)
        }
        guard let decoded else { throw Failure() }
        guard Int(decoded.pointee.sx) == header.width, Int(decoded.pointee.sy) == header.height,
            gdImagePaletteToTrueColor(decoded) != 0
        else {
            gdImageDestroy(decoded)
            throw Failure()
        }
        image = decoded
    }

    deinit { gdImageDestroy(image) }

    var width: Int { Int(image.pointee.sx) }
    var height: Int { Int(image.pointee.sy) }

    /// The pixel at a position as `0xAARRGGBB`, where the transparency `AA` goes from 0 to 127.
    func pixel(_ x: Int, _ y: Int) -> UInt32 { UInt32(bitPattern: gdImageGetTrueColorPixel(image, Int32(x), Int32(y))) }

    /// Fills a rectangle with a colour, `0xRRGGBB`.
    func fill(x: Range<Int>, y: Range<Int>, color: UInt32) {
        gdImageFilledRectangle(
            image, Int32(x.lowerBound), Int32(y.lowerBound), Int32(x.upperBound - 1), Int32(y.upperBound - 1),
            Int32(color & 0xFF_FFFF))
    }

    /// The size of a picture of `width` × `height` pixels in a box: it keeps its shape and is never enlarged.
    /// - Parameter boxHeight: the greatest height; nil for any.
    static func size(
        _ width: Int, _ height: Int, inBoxOf boxWidth: Int, _ boxHeight: Int?
    ) -> (width: Int, height: Int) {
        let boxHeight = min(boxHeight ?? height, height)
        let boxWidth = min(boxWidth, width)
        if width * boxHeight > height * boxWidth {
            return (boxWidth, max(1, (height * boxWidth + width / 2) / width))
        }
        return (max(1, (width * boxHeight + height / 2) / height), boxHeight)
    }

    /// Returns a scaled copy; each of its pixels is the mean of the pixels that it covers.
    /// - Parameter background: the colour behind transparent pixels; nil keeps them transparent.
    func scaled(toWidth width: Int, height: Int, background: UInt32?) throws(Failure) -> Drawing {
        let copy = try Drawing(width: width, height: height, color: background)
        gdImageAlphaBlending(copy.image, background == nil ? 0 : 1)
        gdImageCopyResampled(
            copy.image, image, 0, 0, 0, 0, Int32(width), Int32(height), image.pointee.sx, image.pointee.sy)
        return copy
    }

    /// Encodes the picture.
    /// - Parameter quality: the quality of a JPEG, from 1 to 100.
    func encoded(_ format: ItemImageAddress.Format, quality: Int) throws(Failure) -> [UInt8] {
        var length: Int32 = 0
        gdImageSaveAlpha(image, 1)
        let encoded =
            switch format {
            case .png: gdImagePngPtr(image, &length)
            case .jpg: gdImageJpegPtr(image, &length, Int32(quality))
            }
        guard let encoded else { throw Failure() }
        defer { gdFree(encoded) }
        return Array(UnsafeRawBufferPointer(start: encoded, count: Int(length)))
    }
}
