import CornerstoreEncoding

/// The address of an item's picture on the storefront, in the form of Apple's:
/// `/image/thumb/NUMBER/KIND-INDEX-DIGEST/WxHbb.jpg`.
///
/// The last part of the path is the size, so clients that replace `100x100bb` by another size get that size. The digest
/// changes with the file, so a browser may keep a picture for good.
public struct ItemImageAddress: Sendable, Hashable {
    /// The pictures of an item.
    public enum Picture: Sendable, Hashable {
        /// The icon, cover or poster.
        case artwork
        /// A screenshot, by its position in ``CatalogItem/screenshots``.
        case screenshot(Int)
    }

    /// The format of the answer.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        case jpg
        case png
    }

    /// The item's number.
    public var number: Int64
    /// The picture.
    public var picture: Picture
    /// Eight hexadecimal digits that change with the picture's file. An address with old ones still names the picture.
    public var digest: String
    /// The greatest width in pixels, at least 1.
    public var width: Int
    /// The greatest height in pixels, at least 1; nil when the address limits only the width (`268x0w`).
    public var height: Int?
    /// The quality of a JPEG, 1 to 100, from a suffix such as `-80`; nil without one. Apple's `-999` means the best.
    public var quality: Int?
    /// The format of the answer.
    public var format: Format

    /// The largest number that a size may have. Clients ask for 100000 to get the original size.
    static let largest = 999_999

    /// Creates the address of a picture in a square, or in a box.
    public init(
        number: Int64, picture: Picture, digest: String, width: Int, height: Int?, quality: Int? = nil,
        format: Format = .jpg
    ) {
        self.number = number
        self.picture = picture
        self.digest = digest
        self.width = width
        self.height = height
        self.quality = quality
        self.format = format
    }

    /// Reads a path; nil when it has another form. Nothing is said about whether the item or the picture exists.
    public init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].isEmpty, parts[1] == "image", parts[2] == "thumb",
            let number = Self.number(parts[3], upTo: .max), number > 0
        else { return nil }
        let picture = parts[4].split(separator: "-", omittingEmptySubsequences: false)
        guard picture.count == 3, let index = Self.number(picture[1], upTo: 999),
            picture[2].utf8.count == 8, picture[2].utf8.allSatisfy(Self.isHexadecimal)
        else { return nil }
        switch picture[0] {
        case "artwork" where index == 0: self.picture = .artwork
        case "screenshot": self.picture = .screenshot(Int(index))
        default: return nil
        }
        guard let size = Self.size(parts[5]) else { return nil }
        (self.number, digest) = (number, String(picture[2]))
        (width, height, quality, format) = size
    }

    /// The path, such as `/image/thumb/123/artwork-0-1f3870be/100x100bb.jpg`.
    public var path: String {
        let box = height.map { "\(width)x\($0)bb" } ?? "\(width)x0w"
        let suffix = quality.map { "-\($0)" } ?? ""
        return "\(folder)\(box)\(suffix).\(format.rawValue)"
    }

    /// The part of the path that all sizes share, with the slash at its end.
    var folder: String {
        switch picture {
        case .artwork: "/image/thumb/\(number)/artwork-0-\(digest)/"
        case .screenshot(let index): "/image/thumb/\(number)/screenshot-\(index)-\(digest)/"
        }
    }

    private static func size(_ name: Substring) -> (width: Int, height: Int?, quality: Int?, format: Format)? {
        guard let dot = name.lastIndex(of: "."),
            let format = Format(rawValue: name[name.index(after: dot)...].lowercased())
        else { return nil }
        var rest = name[..<dot]
        var quality: Int?
        if let hyphen = rest.lastIndex(of: "-") {
            guard let found = number(rest[rest.index(after: hyphen)...], upTo: 999), found > 0 else { return nil }
            quality = min(Int(found), 100)
            rest = rest[..<hyphen]
        }
        let letters = rest.reversed().prefix { ("a"..."z").contains($0) }
        let box = rest.dropLast(letters.count).split(separator: "x", omittingEmptySubsequences: false)
        let fit = String(letters.reversed())
        guard box.count == 2, let width = number(box[0], upTo: Int64(largest)), width > 0,
            let height = number(box[1], upTo: Int64(largest))
        else { return nil }
        switch fit {
        case "w" where height == 0: return (Int(width), nil, quality, format)
        // Clients write "bb" (fit into the box), nothing, or "cc" and "sr" for cropping. This store never crops.
        case "", "bb", "cc", "sr": return height > 0 ? (Int(width), Int(height), quality, format) : nil
        default: return nil
        }
    }

    private static func number(_ digits: Substring, upTo largest: Int64) -> Int64? {
        guard (1...19).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(digits), number <= largest
        else { return nil }
        return number
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}

extension CatalogItem {
    /// The address of the artwork in a square of `size` pixels; nil for an item without artwork.
    public func artworkAddress(_ size: Int) -> ItemImageAddress? {
        artwork.map {
            ItemImageAddress(number: number, picture: .artwork, digest: $0.digest, width: size, height: size)
        }
    }

    /// The addresses of a system's screenshots in their own sizes.
    public func screenshotAddresses(_ platform: ItemPlatform) -> [ItemImageAddress] {
        screenshots.enumerated().filter { $0.element.platform == platform }.map { index, screenshot in
            ItemImageAddress(
                number: number, picture: .screenshot(index), digest: screenshot.picture.digest,
                width: max(screenshot.picture.width, 1), height: max(screenshot.picture.height, 1))
        }
    }

    /// The picture that an address names; nil when the item has none.
    public func picture(_ picture: ItemImageAddress.Picture) -> ItemPicture? {
        switch picture {
        case .artwork: artwork
        case .screenshot(let index): screenshots.indices.contains(index) ? screenshots[index].picture : nil
        }
    }
}

extension ItemPicture {
    /// Eight hexadecimal digits that change with the file's path and its modification time, for addresses.
    public var digest: String {
        // FNV-1a: the digest only has to differ after a change, and a search makes up to 200 of them.
        var hash: UInt32 = 0x811C_9DC5
        func add(_ byte: UInt8) { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        for byte in path.utf8 { add(byte) }
        add(UInt8(ascii: "\n"))
        for byte in String(modified).utf8 { add(byte) }
        return Hexadecimal.encoded(withUnsafeBytes(of: hash.bigEndian, Array.init))
    }
}
