import CornerstoreEncoding

/// The properties of an item that searches filter by: where it is available, the systems it runs on, and more.
///
/// They are words of the index beside the item's own, so a search need not read all items that it leaves out. An item
/// that is available everywhere has no word for it: its postings would be as many as there are items. An item that only
/// some storefronts have has words for these storefronts, or for the others, whichever list is shorter in the whole
/// catalog (``ItemIndex/Reader/commonCountries``): a search passes over all postings of the storefront that it is for.
struct ItemFacets {
    private let item: CatalogItem

    init(_ item: CatalogItem) { self.item = item }

    /// Words of the index that name properties.
    enum Word {
        static func kind(_ kind: ItemKind) -> String { "k\(kind.rawValue)" }
        static func platform(_ platform: ItemPlatform) -> String { "p\(platform.rawValue)" }
        static let explicit = "explicit"
        /// Only some storefronts have the item.
        static let limited = "limited"
        static func only(_ country: String) -> String { "only\(country.lowercased())" }
        static func except(_ country: String) -> String { "except\(country.lowercased())" }
        static func year(_ year: String) -> String { "y\(year)" }
        static func genre(_ number: String) -> String { "g\(number)" }
        static func rating(_ rating: String) -> String {
            // The index splits texts at signs such as the one of `12+`.
            "r" + Hexadecimal.encoded(rating.lowercased().utf8)
        }
    }

    /// Appends the words to `bytes`.
    /// - Parameter common: the countries of most items that only some storefronts have.
    func append(to bytes: inout [UInt8], common: Set<String>) {
        func add(_ word: String) {
            bytes.append(0x20)
            bytes += ItemIndex.Marker.facet.bytes
            bytes += word.utf8
        }
        add(Word.kind(item.kind))
        for platform in item.platforms { add(Word.platform(platform)) }
        if item.explicitness == .explicit { add(Word.explicit) }
        switch item.availability {
        case .everywhere: break
        case .only(let countries):
            add(Word.limited)
            for country in countries where !common.contains(country) { add(Word.only(country)) }
            for country in common where !countries.contains(country) { add(Word.except(country)) }
        case .except(let countries):
            for country in countries { add(Word.except(country)) }
        }
        add(Word.year(String(CivilTime(secondsSince1970: item.releaseDate.flooredQuotient(1000)).year)))
        for genre in item.genres { add(Word.genre(String(genre.number))) }
        if let rating = item.contentRating { add(Word.rating(rating)) }
    }

    /// The expressions that a search's items match and do not match.
    /// - Parameter common: see ``append(to:common:)``.
    static func expression(of search: ItemSearch, common: Set<String>) -> (required: [String], excluded: [String]) {
        func quoted(_ word: String) -> String { "\"\(ItemIndex.Marker.facet.text)\(word)\"" }
        var required: [String] = []
        var excluded: [String] = []
        if search.kinds.count < ItemKind.allCases.count {
            let kinds = search.kinds.map { quoted(Word.kind($0)) }.sorted()
            required.append("(" + kinds.joined(separator: " OR ") + ")")
        }
        if let platforms = search.platforms {
            let allowed = platforms.map { Word.platform($0) } + search.kinds.filter { $0 != .app }.map { Word.kind($0) }
            required.append("(" + allowed.map(quoted).sorted().joined(separator: " OR ") + ")")
        }
        if !search.includesExplicit { excluded.append(quoted(Word.explicit)) }
        let country = search.storefront.countryCode
        excluded.append(quoted(Word.except(country)))
        if !common.contains(country) {
            excluded.append("(\(quoted(Word.limited)) NOT \(quoted(Word.only(country))))")
        }
        return (required, excluded)
    }

    /// The properties as a text beside a name: `x` for explicit, the systems' first letters, and the countries after
    /// `+` (only these) or `-` (all but these).
    var text: String {
        var text = item.explicitness == .explicit ? "x" : ""
        for platform in item.platforms { text += Self.letter(platform) }
        switch item.availability {
        case .everywhere: break
        case .only(let countries): text += "+" + countries.sorted().joined(separator: " ")
        case .except(let countries): text += "-" + countries.sorted().joined(separator: " ")
        }
        return text
    }

    /// Whether an item of a kind with these properties is found by a search.
    static func allows(_ text: String, of kind: ItemKind, in search: ItemSearch) -> Bool {
        let platforms = kind == .app ? search.platforms : nil
        if text.isEmpty, platforms == nil { return true }
        let flags = text.prefix { $0 != "+" && $0 != "-" }
        if !search.includesExplicit, flags.contains("x") { return false }
        if let platforms, !platforms.contains(where: { flags.contains(letter($0)) }) { return false }
        let rest = text[flags.endIndex...]
        guard let sign = rest.first else { return true }
        let isNamed = rest.dropFirst().split(separator: " ").contains { $0 == search.storefront.countryCode }
        return isNamed == (sign == "+")
    }

    private static func letter(_ platform: ItemPlatform) -> String {
        switch platform {
        case .iPhone: "i"
        case .iPad: "p"
        case .mac: "m"
        }
    }
}

extension ItemSearch {
    /// Whether the search finds items with these properties, as ``ItemFacets/expression(of:common:)`` decides it.
    func allows(_ kind: ItemKind, _ platforms: [ItemPlatform], _ explicitness: ItemExplicitness) -> Bool {
        guard kinds.contains(kind), includesExplicit || explicitness != .explicit else { return false }
        guard kind == .app, let wanted = self.platforms else { return true }
        return platforms.contains { wanted.contains($0) }
    }
}
