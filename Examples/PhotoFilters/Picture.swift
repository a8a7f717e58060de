/// A picture in memory.
public struct Picture: Sendable, Equatable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The red, green, blue and opacity values of each pixel, row by row from the top.
    public var pixels: [UInt8]

    /// The maximum width and height in pixels.
    public static let largestSide = 4096

    /// Creates a picture of one color. The width and height are limited to 1 through ``largestSide``.
    public init(width: Int, height: Int, red: UInt8 = 0, green: UInt8 = 0, blue: UInt8 = 0) {
        self.width = min(max(1, width), Self.largestSide)
        self.height = min(max(1, height), Self.largestSide)
        pixels = (0..<self.width * self.height).flatMap { _ in [red, green, blue, 255] }
    }

    /// Draws a sample picture for the filters: a sun over hills.
    public static func sample(width: Int = 320, height: Int = 200) -> Picture {
        var picture = Picture(width: width, height: height)
        let (width, height) = (picture.width, picture.height)
        for y in 0..<height {
            for x in 0..<width {
                // The coordinates are thousandths of the picture, so that it looks the same at every size.
                let color = sampleColor(x: x * 1000 / width, y: y * 1000 / height, aspect: width * 1000 / height)
                let start = (y * width + x) * 4
                (picture.pixels[start], picture.pixels[start + 1], picture.pixels[start + 2]) = color
            }
        }
        return picture
    }

    private static func sampleColor(x: Int, y: Int, aspect: Int) -> (UInt8, UInt8, UInt8) {
        func hill(top: Int, middle: Int, steepness: Int) -> Bool {
            y > top + (x - middle) * (x - middle) / steepness
        }
        if hill(top: 690, middle: 260, steepness: 900) { return (46, 125, 50) }
        if hill(top: 560, middle: 760, steepness: 1100) { return (102, 160, 72) }
        let (fromSunX, fromSunY) = ((x - 640) * aspect / 1000, y - 260)
        let distance = fromSunX * fromSunX + fromSunY * fromSunY
        if distance < 9000 { return (255, 214, 64) }
        if distance < 14000 { return (255, 236, 160) }
        // The sky, from deep blue to a pale horizon.
        return (UInt8(70 + y * 130 / 1000), UInt8(130 + y * 90 / 1000), UInt8(210 + y * 40 / 1000))
    }
}
