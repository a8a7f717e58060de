import CornerstoreSQLite
import Foundation

extension ItemIndex {
    /// The numbers of the items that a search finds: first the items with exactly the term as their name, then those
    /// whose names begin with it (in alphabetical order), those that have all its words in the name, those that have
    /// them in the name, creator and collection, and then those that have them in any text. The last three groups are
    /// in the order of the numbers, so further pages continue the first.
    ///
    /// - Throws: `SQLiteError` when the file cannot be read.
    public func search(_ search: ItemSearch) throws -> [Int64] {
        try self.search(search, comparing: Self.mostCompared)
    }

    /// The items that a search finds, in the order of ``search(_:)``.
    /// - Throws: `SQLiteError` when the file cannot be read.
    public func items(_ search: ItemSearch) throws -> [CatalogItem] {
        try read { reader in
            let results = try results(search, comparing: Self.mostCompared, reader)
            return try results.numbersOfPage.compactMap { try results.items[$0] ?? reader.item($0) }
        }
    }

    /// The most matches of a group that are read and compared with the search's filters one by one.
    ///
    /// Most terms have few matches, and reading them takes microseconds each. To intersect them with the words of the
    /// filters, which most items have, SQLite decodes long parts of those words' lists.
    private static let mostCompared = 1_000

    /// Finds items, and reads at most `most` matches of each group before it leaves the filters to the index.
    func search(_ search: ItemSearch, comparing most: Int) throws -> [Int64] {
        try read { try Array(results(search, comparing: most, $0).numbersOfPage) }
    }

    private func results(_ search: ItemSearch, comparing most: Int, _ reader: Reader) throws -> ItemSearchResults {
        var results = ItemSearchResults(search)
        guard search.limit > 0, search.offset >= 0, search.offset < ItemSearch.deepest, !search.kinds.isEmpty else {
            return results
        }
        if [.all, .name].contains(search.field) { try addNames(search, reader, to: &results) }
        let words = reader.words.words(ofTerm: search.term, limit: ItemSearch.mostWords)
        for group in Self.groups(search, words) where !results.areEnough {
            if try addFirst(most, group, search, reader, to: &results) { continue }
            try add(group, search, reader, to: &results)
        }
        return results
    }

    /// The most names that one search compares with the start of its term, of each kind.
    private static let mostNames = 1_000

    /// Adds the items whose names begin with the term.
    private func addNames(_ search: ItemSearch, _ reader: Reader, to results: inout ItemSearchResults) throws {
        let key = reader.words.key(of: search.term)
        guard !key.isEmpty else { return }
        let statement = try reader.connection.statement(
            """
            SELECT name, number, facets FROM names WHERE kind = ?1 AND name >= ?2 AND name < ?3
            ORDER BY kind, name, number LIMIT \(Self.mostNames)
            """)
        defer { statement.reset() }
        var found: [(name: [UInt8], number: Int64)] = []
        // An item has a name in each language. Only the first one counts, or an item could take the places of others.
        var known: Set<Int64> = []
        for kind in search.kinds {
            // The columns hold bytes, and no byte of a name in UTF-8 is 0xFF.
            try statement.bind(Self.code(kind), at: 1)
            try statement.bind(key, at: 2)
            try statement.bind(key + [0xFF], at: 3)
            var count = 0
            while count < results.needed, try statement.step() {
                let number = statement.int64(1)
                guard try ItemFacets.allows(statement.text(2), of: kind, in: search), known.insert(number).inserted
                else { continue }
                found.append((statement.bytes(0), number))
                count += 1
            }
            statement.reset()
        }
        found.sort { left, right in
            left.name == right.name ? left.number < right.number : left.name.lexicographicallyPrecedes(right.name)
        }
        for (_, number) in found { results.add(number) }
    }

    /// The expressions of a search in FTS5's syntax, the best matches first. Words are quoted, and hold neither
    /// quotation marks nor spaces, so no term is ever an operator.
    private static func groups(_ search: ItemSearch, _ words: [String]) -> [String] {
        func expression(_ words: [String], _ marker: Marker) -> String {
            "(" + words.map { "\"\(marker.text)\($0)\"" }.joined(separator: " AND ") + ")"
        }
        func facets(_ make: (String) -> String) -> [String] { [expression(words.map(make), .facet)] }
        if search.field == .contentRating {
            let rating = search.term.trimmingCharacters(in: .whitespaces).prefix(32)
            return rating.isEmpty ? [] : [expression([ItemFacets.Word.rating(String(rating))], .facet)]
        }
        guard !words.isEmpty else { return [] }
        return switch search.field {
        case .all:
            [expression(words, .name), expression(words, .headline), expression(words, .none)]
        case .name: [expression(words, .name)]
        case .creator: [expression(words, .creator)]
        case .collection: [expression(words, .collection)]
        case .releaseYear: facets(ItemFacets.Word.year)
        case .genre: facets(ItemFacets.Word.genre)
        case .contentRating: []
        }
    }

    /// Reads the first matches of a group, and adds those that the search's filters allow.
    /// - Returns: whether the search needs no further matches of the group.
    private func addFirst(
        _ most: Int, _ group: String, _ search: ItemSearch, _ reader: Reader, to results: inout ItemSearchResults
    ) throws -> Bool {
        let statement = try reader.connection.statement(Self.matches)
        defer { statement.reset() }
        try statement.bind(group, at: 1)
        var compared = 0
        while !results.areEnough {
            guard try statement.step() else { return true }
            let number = statement.int64(0)
            // The items of a group match the groups after it as well.
            if results.knows(number) { continue }
            guard compared < most else { return false }
            compared += 1
            if let item = try reader.item(number, for: search) { results.add(item) } else { results.refuse(number) }
        }
        return true
    }

    private static let matches = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid"

    private func add(
        _ group: String, _ search: ItemSearch, _ reader: Reader, to results: inout ItemSearchResults
    ) throws {
        let (required, excluded) = ItemFacets.expression(of: search, common: reader.commonCountries)
        let all = ([group] + required).joined(separator: " AND ")
        let statement = try reader.connection.statement(Self.matches)
        defer { statement.reset() }
        try statement.bind("(\(all)) NOT (\(excluded.joined(separator: " OR ")))", at: 1)
        while !results.areEnough, try statement.step() { results.add(statement.int64(0)) }
    }
}

/// The items found so far, each once.
private struct ItemSearchResults {
    private let page: Range<Int>
    /// The numbers of the items found, in order.
    private(set) var numbers: [Int64] = []
    /// Those of the page's items that were read.
    private(set) var items: [Int64: CatalogItem] = [:]
    /// The numbers of the items found, and of those that the filters refuse.
    private var known: Set<Int64> = []

    /// Creates the results of a search that has found nothing yet.
    init(_ search: ItemSearch) {
        let start = min(max(search.offset, 0), ItemSearch.deepest)
        page = start..<min(start + max(search.limit, 0), ItemSearch.deepest)
    }

    /// The number of items that fill all pages up to the one asked for.
    var needed: Int { page.upperBound }

    var areEnough: Bool { numbers.count >= needed }

    func knows(_ number: Int64) -> Bool { known.contains(number) }

    mutating func add(_ number: Int64) {
        if !areEnough, known.insert(number).inserted { numbers.append(number) }
    }

    mutating func add(_ item: CatalogItem) {
        if numbers.count >= page.lowerBound { items[item.number] = item }
        add(item.number)
    }

    mutating func refuse(_ number: Int64) { known.insert(number) }

    /// The numbers on the page that the search asks for.
    var numbersOfPage: ArraySlice<Int64> { numbers.dropFirst(page.lowerBound) }
}
