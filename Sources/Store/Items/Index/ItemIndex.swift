import CornerstoreSQLite
import Foundation
import StoreWire
import Synchronization

/// The items of a catalog in a SQLite file, for look-ups and search. The file is derived from the catalog and never
/// changes; a changed catalog gets a new one (``ItemIndexes``).
///
/// All methods are synchronous and take well under a millisecond, searches a few. The first ``newest(in:limit:)`` of a
/// storefront that shows few items takes as long as reading all items.
public final class ItemIndex: Sendable {
    private let file: String
    /// The connections that nobody uses. There are as many as threads have read at once.
    private let idle = Mutex<[Reader]>([])
    /// The numbers of the newest items of the storefronts that asked for them, and the most that they asked for. There
    /// are as many as the App Store has storefronts.
    private let newestItems = Mutex<[Storefront: (limit: Int, numbers: [Int64])]>([:])
    /// The digest of the items that the file was built from.
    public let digest: String

    /// The version of the file's tables, texts and codes. Files of another version are built again.
    static let formatVersion: Int64 = 4

    /// Builds an index file. It is complete and on the disk when this returns; a failure leaves an older file in place.
    /// - Parameters:
    ///   - items: The items. Ascending numbers are fastest.
    ///   - file: The file to write or replace.
    ///   - digest: The digest of the items, which ``digest`` returns later.
    /// - Throws: `SQLiteError`, also for two items with one number or bundle identifier.
    public static func build(_ items: some Sequence<CatalogItem>, at file: URL, digest: String = "") throws {
        try ItemIndexBuilder.build(items, at: file, digest: digest)
    }

    /// Opens an index file.
    /// - Throws: `SQLiteError`: `unavailable` when the file is missing, `damaged` when it is no index of this version.
    public static func open(at file: URL) throws -> ItemIndex { try ItemIndex(file.path) }

    private init(_ file: String) throws {
        let reader = try Reader(file)
        self.file = file
        digest = reader.digest
        idle.withLock { $0.append(reader) }
    }

    /// A connection and its own splitter of words.
    ///
    /// @unchecked: the index gives a reader to one thread at a time.
    final class Reader: @unchecked Sendable {
        let connection: SQLiteConnection
        let digest: String
        /// The countries that most of the items have which only some storefronts have.
        let commonCountries: Set<String>
        var words = SearchWords()

        /// - Parameter cache: the memory for pages, in KiB. Searches read the index's upper pages again and again.
        init(_ file: String, cache: Int = 24 << 10) throws {
            connection = try SQLiteConnection(path: file, .readOnly, cache: cache)
            let about = try connection.prepare("SELECT version, digest FROM about")
            guard try about.step(), about.int64(0) == ItemIndex.formatVersion else {
                throw SQLiteError(.damaged, "\(file) is not an item index of this version of Cornerstore")
            }
            digest = try about.text(1)
            about.reset()
            let countries = try connection.prepare("SELECT country FROM common_countries")
            var commonCountries: Set<String> = []
            while try countries.step() { commonCountries.insert(try countries.text(0)) }
            self.commonCountries = commonCountries
            countries.reset()
            // The file never changes. A transaction without end saves each statement from locking it.
            try connection.begin()
            try connection.run("SELECT version FROM about")
        }
    }

    /// Runs `body` with a connection that no other thread uses meanwhile.
    func read<T>(_ body: (Reader) throws -> T) throws -> T {
        let reader = try idle.withLock { $0.popLast() } ?? Reader(file)
        defer { idle.withLock { $0.append(reader) } }
        return try body(reader)
    }

    /// Connections for a caller that reads for minutes. They keep reading this index after its file was removed.
    /// - Throws: `SQLiteError` `unavailable` when the file was removed before.
    func readers(_ count: Int) throws -> [Reader] { try (0..<count).map { _ in try Reader(file, cache: 4 << 10) } }

    // MARK: Look-ups

    /// The item with a number; nil when the catalog has none.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func item(_ number: Int64) throws -> CatalogItem? { try items([number]).first }

    /// The items with these numbers, in the order of the numbers given. Absent ones are left out.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func items(_ numbers: [Int64]) throws -> [CatalogItem] {
        try read { reader in
            let statement = try reader.connection.statement("SELECT body FROM items WHERE number = ?1")
            return try numbers.compactMap { number in
                try statement.bind(number, at: 1)
                return try statement.items().first
            }
        }
    }

    /// The app with a bundle identifier; nil when the catalog has no such item.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func item(bundleID: BundleID) throws -> CatalogItem? {
        try read { reader in
            let statement = try reader.connection.statement("SELECT body FROM items WHERE bundle_id = ?1")
            try statement.bind(bundleID.rawValue, at: 1)
            return try statement.items().first
        }
    }

    /// The items of a developer, artist, author or show.
    /// - Parameters:
    ///   - kinds: The kinds of items.
    ///   - storefront: The storefront that must show the items; nil for any.
    ///   - newestFirst: Whether the items are in the order of their releases, the latest first, instead of their
    ///     numbers.
    ///   - limit: The most items.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func items(
        of creator: Int64, kinds: Set<ItemKind>, in storefront: Storefront? = nil, newestFirst: Bool = false, limit: Int
    ) throws -> [CatalogItem] {
        let codes = Set(kinds.map(Self.code))
        return try read { reader in
            let statement = try reader.connection.statement(
                newestFirst
                    ? "SELECT body, kind FROM items WHERE creator = ?1 ORDER BY released DESC, number"
                    : "SELECT body, kind FROM items WHERE creator = ?1 ORDER BY number")
            try statement.bind(creator, at: 1)
            return try statement.items(limit: limit) { item in
                guard codes.contains(statement.int64(1)) else { return false }
                guard let storefront else { return true }
                return try item().availability.includes(storefront)
            }
        }
    }

    /// The newest items that a storefront shows, the latest release first. The first call for a storefront that shows
    /// few items reads all items; later ones with the same limit read only those that they return.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func newest(in storefront: Storefront, limit: Int) throws -> [CatalogItem] {
        if let known = newestItems.withLock({ $0[storefront] }), known.limit == limit {
            return try items(known.numbers)
        }
        let found = try findNewest(in: storefront, limit: limit)
        newestItems.withLock { $0[storefront] = (limit, found.map(\.number)) }
        return found
    }

    private func findNewest(in storefront: Storefront, limit: Int) throws -> [CatalogItem] {
        // Of an item that the storefront does not show, only the compared fields are read.
        let shown = ItemSearch(term: "", storefront: storefront, kinds: Set(ItemKind.allCases))
        return try read { reader in
            let statement = try reader.connection.statement("SELECT body FROM items ORDER BY released DESC, number")
            defer { statement.reset() }
            var found: [CatalogItem] = []
            while found.count < limit, try statement.step() {
                if let item = try CatalogItemCoding.item(statement.bytes(0), for: shown) { found.append(item) }
            }
            return found
        }
    }

    /// The creator with a number, and one of its items; nil when no item has this creator.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func creator(_ number: Int64) throws -> (creator: ItemCreator, item: CatalogItem)? {
        try read { reader in
            let statement = try reader.connection.statement(
                "SELECT body FROM items WHERE creator = ?1 ORDER BY number LIMIT 1")
            try statement.bind(number, at: 1)
            return try statement.items().first.map { ($0.creator, $0) }
        }
    }

    /// The songs of an album or the episodes of a season, by disc and track. Items without a track come first.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    public func contents(of collection: Int64) throws -> [CatalogItem] {
        try read { reader in
            let statement = try reader.connection.statement(
                "SELECT body FROM items WHERE collection = ?1 ORDER BY collection, disc, track, number")
            try statement.bind(collection, at: 1)
            return try statement.items()
        }
    }

    /// Whether a storefront sells a song of an album, or an episode of a season, by itself.
    /// - Throws: `SQLiteError`; an error when a stored item is damaged.
    func sellsContents(of collection: Int64, in storefront: Storefront) throws -> Bool {
        try read { reader in
            let statement = try reader.connection.statement("SELECT body FROM items WHERE collection = ?1")
            try statement.bind(collection, at: 1)
            return try !statement.items(limit: 1) { try $0().price(in: storefront) != nil }.isEmpty
        }
    }

    /// The number of songs or episodes of a collection, by disc.
    /// - Throws: `SQLiteError`.
    public func trackCounts(of collection: Int64) throws -> [Int: Int] {
        try read { reader in
            let statement = try reader.connection.statement(
                "SELECT disc, COUNT(*) FROM items WHERE collection = ?1 GROUP BY disc")
            defer { statement.reset() }
            try statement.bind(collection, at: 1)
            var counts: [Int: Int] = [:]
            while try statement.step() { counts[Int(statement.int64(0))] = Int(statement.int64(1)) }
            return counts
        }
    }

    /// The number of items.
    /// - Throws: `SQLiteError`.
    public func count() throws -> Int {
        try read { reader in
            let statement = try reader.connection.statement("SELECT COUNT(*) FROM items")
            defer { statement.reset() }
            return try statement.step() ? Int(statement.int64(0)) : 0
        }
    }
}

extension SQLiteStatement {
    /// Runs the statement and decodes the items in its first column.
    /// - Parameter isWanted: Whether a row counts. It gets a function that decodes the row's item.
    fileprivate func items(
        limit: Int = .max, where isWanted: (() throws -> CatalogItem) throws -> Bool = { _ in true }
    ) throws -> [CatalogItem] {
        defer { reset() }
        var found: [CatalogItem] = []
        while found.count < limit, try step() {
            var decoded: CatalogItem?
            func item() throws -> CatalogItem {
                if let decoded { return decoded }
                let item = try CatalogItemCoding.item(bytes(0))
                decoded = item
                return item
            }
            if try isWanted(item) { found.append(try item()) }
        }
        return found
    }
}

extension ItemIndex.Reader {
    /// The item with a number, if a search's filters allow it; nil when the index has no such item.
    func item(_ number: Int64, for search: ItemSearch? = nil) throws -> CatalogItem? {
        let statement = try connection.statement("SELECT body FROM items WHERE number = ?1")
        defer { statement.reset() }
        try statement.bind(number, at: 1)
        return try statement.step() ? CatalogItemCoding.item(statement.bytes(0), for: search) : nil
    }
}

// MARK: The file

extension ItemIndex {
    static let tables = [
        "CREATE TABLE about (version INTEGER NOT NULL, digest TEXT NOT NULL)",
        "CREATE TABLE common_countries (country TEXT NOT NULL)",
        """
        CREATE TABLE items (
            number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, creator INTEGER NOT NULL, released INTEGER NOT NULL,
            collection INTEGER, disc INTEGER, track INTEGER, bundle_id TEXT, body BLOB NOT NULL)
        """,
        "CREATE TABLE names (kind INTEGER NOT NULL, name BLOB NOT NULL, number INTEGER NOT NULL, facets TEXT NOT NULL)",
        // Neither texts nor positions are stored: results come in the order of the numbers, and phrases are not
        // searched. The words are split already, so the simplest tokenizer serves.
        """
        CREATE VIRTUAL TABLE words USING fts5 (
            text, content = '', columnsize = 0, detail = none, tokenize = 'ascii')
        """,
    ]

    /// Created after the rows, because sorting once is faster than inserting in any order.
    static let indices = [
        "CREATE INDEX items_by_creator ON items (creator, number)",
        "CREATE INDEX items_by_release ON items (creator, released DESC, number)",
        "CREATE INDEX items_by_date ON items (released DESC, number)",
        """
        CREATE INDEX items_by_collection ON items (collection, disc, track, number) WHERE collection IS NOT NULL
        """,
        "CREATE UNIQUE INDEX items_by_bundle ON items (bundle_id) WHERE bundle_id IS NOT NULL",
        "CREATE INDEX names_by_name ON names (kind, name, number, facets)",
    ]

    /// The first characters of the words that stand for one field. Folded texts hold no control characters.
    enum Marker: String {
        case none = ""
        /// A word of a name.
        case name = "\u{80}"
        /// A word of the creator or seller.
        case creator = "\u{81}"
        /// A word of the album's or season's name.
        case collection = "\u{82}"
        /// A word of any of these three.
        case headline = "\u{83}"
        /// A property, see ``ItemFacets``.
        case facet = "\u{84}"

        var text: String { rawValue }
        var bytes: [UInt8] { Array(rawValue.utf8) }
    }

    /// The number that stands for a kind in the file.
    static func code(_ kind: ItemKind) -> Int64 {
        switch kind {
        case .app: 1
        case .song: 2
        case .album: 3
        case .film: 4
        case .episode: 5
        case .season: 6
        case .book: 7
        }
    }
}
