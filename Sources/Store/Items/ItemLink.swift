import CornerstoreEncoding
import Foundation

/// A link to an item or a creator: it reads the number out of any link of Apple's stores and of this storefront, and
/// it makes the storefront's own links.
///
/// Only the number and the country count. A link's slug may be missing, outdated or wrong.
/// `Documentation/StoreItems.md`, section 8, lists the forms and their sources.
public struct ItemLink: Sendable, Hashable {
    /// The target of a link.
    public enum Target: Sendable, Hashable {
        /// An item.
        case item
        /// A developer, artist, author, studio or show.
        case creator
    }

    /// The number of the item or creator.
    public var number: Int64
    /// The link's target.
    public var target: Target
    /// The country in the link, as ISO 3166-1 alpha-2 in upper case; nil for a link without one.
    public var country: String?

    /// The most bytes of a link that is read.
    static let longest = 4096

    /// Reads a link, or a bare number (`123`, `id123`).
    ///
    /// - Parameters:
    ///   - text: A web link, a link with one of the schemes of Apple's store apps, or digits.
    ///   - hosts: Host names of storefronts besides Apple's and this machine's own.
    /// - Returns: nil when the text is no such link, or its number is not a positive number of at most 63 bits.
    public init?(_ text: String, hosts: Set<String> = []) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty, text.utf8.count <= Self.longest else { return nil }
        if let number = Self.number(text[...]) ?? Self.numberAfterID(text[...]) {
            self.init(number: number, target: .item, country: nil)
            return
        }
        guard let parts = Self.parts(text), Self.isStore(parts.host, hosts) else { return nil }
        self.init(path: String(parts.path), query: String(parts.query))
    }

    /// Reads the path and the query of a link, as a storefront receives them.
    /// - Parameters:
    ///   - path: The path, percent-encoded or not.
    ///   - query: The text after the question mark.
    public init?(path: String, query: String) {
        let segments = path.split(separator: "/")
        let isServlet = segments.first == "WebObjects" || segments.dropFirst().first == "WebObjects"
        let kinds = Set(segments.map { $0.lowercased() })
        let isCreator = !kinds.isDisjoint(with: Self.creatorSegments)
        var number: Int64?
        if !isCreator { number = Self.value("i", query).flatMap { Self.number($0) } }
        // Links to music and to artists have no "id" before the number. The slug before it may look like one.
        if number == nil, let last = segments.last { number = Self.number(last) ?? Self.numberAfterID(last) }
        if number == nil { number = segments.reversed().lazy.compactMap { Self.numberAfterID($0) }.first }
        if number == nil, isServlet || segments.isEmpty { number = Self.value("id", query).flatMap { Self.number($0) } }
        guard let number else { return nil }
        self.init(
            number: number, target: isCreator ? .creator : .item,
            country: segments.first.flatMap { Self.country($0) })
    }

    private init(number: Int64, target: Target, country: String?) {
        self.number = number
        self.target = target
        self.country = country
    }

    private static let creatorSegments: Set = ["artist", "author", "developer", "studio", "tv-show", "viewartist"]
    private static let schemes: Set = [
        "http", "https", "itms", "itmss", "itms-apps", "itms-appss", "itms-bookss", "itms-books", "macappstore",
        "macappstores", "musics", "music",
    ]

    /// Splits a link by hand, because `URL` refuses slugs with characters that browsers accept.
    private static func parts(_ text: String) -> (host: Substring, path: Substring, query: Substring)? {
        let rest: Substring
        if let colon = text.range(of: "://") {
            guard schemes.contains(text[..<colon.lowerBound].lowercased()) else { return nil }
            rest = text[colon.upperBound...]
        } else {
            // People paste links without a scheme.
            guard text.contains("/"), text.contains(".") else { return nil }
            rest = text[...]
        }
        let bare = rest.prefix { $0 != "#" }
        let beforeQuery = bare.prefix { $0 != "?" }
        let authority = beforeQuery.prefix { $0 != "/" }
        return (authority, beforeQuery[authority.endIndex...], bare[beforeQuery.endIndex...].dropFirst())
    }

    /// Whether a link's host is one of Apple's, this machine, or one of the given ones. A port is ignored.
    private static func isStore(_ authority: Substring, _ hosts: Set<String>) -> Bool {
        let name = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let host: String
        if name.hasPrefix("[") {
            host = String(name.prefix { $0 != "]" }.dropFirst()).lowercased()
        } else {
            host = String(name.prefix { $0 != ":" }).lowercased()
        }
        return host == "apple.com" || host.hasSuffix(".apple.com") || ["localhost", "::1"].contains(host)
            || host.hasPrefix("127.") || hosts.contains(host)
    }

    private static func country(_ segment: Substring) -> String? {
        guard segment.utf8.count == 2, segment.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }) else {
            return nil
        }
        return segment.uppercased()
    }

    private static func value(_ name: String, _ query: some StringProtocol) -> Substring? {
        for pair in query.split(separator: "&") where pair.hasPrefix(name + "=") {
            return Substring(pair.dropFirst(name.utf8.count + 1))
        }
        return nil
    }

    private static func numberAfterID(_ segment: some StringProtocol) -> Int64? {
        guard segment.utf8.count > 2, segment.prefix(2).lowercased() == "id" else { return nil }
        return number(segment.dropFirst(2))
    }

    private static func number(_ digits: some StringProtocol) -> Int64? {
        guard (1...19).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(digits), number > 0
        else { return nil }
        return number
    }
}

extension ItemLink {
    /// Makes the link to an item's page, such as `http://127.0.0.1:8403/us/app/photo-filters/id123`.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - name: The name that the slug is made from.
    ///   - base: The storefront's base URL, without a trailing slash.
    ///   - country: The storefront's country, ISO 3166-1 alpha-2 in any case; nil for a link without a country.
    public static func link(to item: CatalogItem, name: String, base: String, country: String?) -> String {
        let start = Self.start(base, country)
        let slug = Self.slug(name)
        let number = item.number
        return switch item.kind {
        case .app: "\(start)/app/\(slug)id\(number)"
        case .song:
            item.place.map { "\(start)/album/\(slug)\($0.collection)?i=\(number)" } ?? "\(start)/song/\(slug)\(number)"
        case .album: "\(start)/album/\(slug)\(number)"
        case .film: "\(start)/movie/\(slug)id\(number)"
        case .episode:
            item.place.map { "\(start)/tv-season/\(slug)id\($0.collection)?i=\(number)" }
                ?? "\(start)/tv-season/\(slug)id\(number)"
        case .season: "\(start)/tv-season/\(slug)id\(number)"
        case .book: "\(start)/book/\(slug)id\(number)"
        }
    }

    /// Makes the link to an item's page from the item's default name.
    public static func link(to item: CatalogItem, base: String, country: String?) -> String {
        link(to: item, name: item.texts.first?.name ?? "", base: base, country: country)
    }

    /// Makes the link to the page of an item's creator.
    /// - Parameter kind: The kind of the creator's items.
    public static func link(
        to creator: ItemCreator, of kind: ItemKind, base: String, country: String?
    ) -> String {
        let start = Self.start(base, country)
        let slug = Self.slug(creator.name)
        return switch kind {
        case .app: "\(start)/developer/\(slug)id\(creator.number)"
        case .song, .album, .film: "\(start)/artist/\(slug)\(creator.number)"
        case .episode, .season: "\(start)/tv-show/\(slug)id\(creator.number)"
        case .book: "\(start)/author/\(slug)id\(creator.number)"
        }
    }

    private static func start(_ base: String, _ country: String?) -> String {
        country.map { "\(base)/\($0.lowercased())" } ?? base
    }

    /// The most characters of a slug, unless its first word is longer.
    private static let longestSlug = 60

    /// A name as a part of a path, percent-encoded, with a slash at its end; empty for a name without letters. Letters
    /// become lower case, apostrophes vanish, and other characters become one hyphen.
    static func slug(_ name: String) -> String {
        var slug: [UInt8] = []
        // The current word, percent-encoded, and its characters.
        var word: [UInt8] = []
        var count = 0
        var length = 0
        func close() {
            guard count > 0 else { return }
            length += count + 1
            if slug.isEmpty {
                slug = word
            } else if length <= longestSlug {
                slug.append(UInt8(ascii: "-"))
                slug += word
            }
            word.removeAll(keepingCapacity: true)
            count = 0
        }
        for scalar in name.lowercased().unicodeScalars {
            guard length <= longestSlug else { break }
            if isKept(scalar) {
                count += 1
                guard count <= longestSlug else { continue }
                if scalar.isASCII {
                    word.append(UInt8(scalar.value))
                } else {
                    word += String(scalar).percentEncoded.utf8
                }
            } else if scalar != "'", scalar != "\u{2019}", scalar != "\u{2BC}" {
                close()
            }
        }
        close()
        guard !slug.isEmpty else { return "" }
        slug.append(UInt8(ascii: "/"))
        return String(decoding: slug, as: UTF8.self)
    }

    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            let byte = UInt8(scalar.value)
            return (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
        }
        return scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || scalar.properties.canonicalCombiningClass != .notReordered
    }
}
