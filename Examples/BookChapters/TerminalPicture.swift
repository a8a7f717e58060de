import PhotoFilters

/// Draws a picture with characters on a terminal with 24-bit colors.
public enum TerminalPicture {
    /// Returns the picture as text. Each character shows two pixels: an upper half block in the upper pixel's color on
    /// a background in the lower pixel's color.
    /// - Parameter width: the number of characters per line. The height follows from the picture's aspect ratio.
    public static func text(_ picture: Picture, width: Int) -> String {
        let columns = min(max(1, width), picture.width)
        let rows = max(2, picture.height * columns / picture.width / 2 * 2)
        func color(_ column: Int, _ row: Int) -> String {
            let start = 4 * ((row * picture.height / rows) * picture.width + column * picture.width / columns)
            return picture.pixels[start..<start + 3].map(String.init).joined(separator: ";")
        }
        return stride(from: 0, to: rows - 1, by: 2).map { row in
            (0..<columns).map { "\u{1B}[38;2;\(color($0, row))m\u{1B}[48;2;\(color($0, row + 1))m▀" }.joined()
                + "\u{1B}[0m"
        }.joined(separator: "\n")
    }
}
