import CornerstoreSQLite
import Foundation
import Glibc

/// Writes an index file: first all items, then the words of each, read back in the order of the numbers.
///
/// Only this order lets FTS5 collect words in memory until a segment is full. Nobody reads the file before it is
/// complete, so it has no journal, and a failure leaves nothing but a file to delete.
struct ItemIndexBuilder {
    private let connection: SQLiteConnection
    private var words = SearchWords()
    /// The names of albums and seasons that were looked up last, as words.
    private var collectionNames: [Int64: [String]] = [:]
    /// The number of items that only some storefronts have, and how many of them each country has.
    private var limited = (items: 0, byCountry: [String: Int]())

    /// Builds an index beside `file`, flushes it to the disk and renames it.
    static func build(_ items: some Sequence<CatalogItem>, at file: URL, digest: String) throws {
        let aside = file.path + ".\(getpid()).new"
        unlink(aside)
        defer { unlink(aside) }
        let connection = try SQLiteConnection(path: aside, .create, cache: 32 << 10)
        var builder = try ItemIndexBuilder(connection)
        try builder.write(items)
        try builder.finish(digest)
        connection.close()
        try flush(aside)
        guard rename(aside, file.path) == 0 else { throw failure("The item index", file.path) }
        try flush(file.deletingLastPathComponent().path)
    }

    private init(_ connection: SQLiteConnection) throws {
        self.connection = connection
        for setting in [
            "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA locking_mode = EXCLUSIVE",
            // Temporary files hold the rows that CREATE INDEX sorts. In memory they would take more than the index.
            "PRAGMA temp_store = FILE",
        ] {
            try connection.run(setting)
        }
        try connection.beginWriting()
        for table in ItemIndex.tables { try connection.run(table) }
        for setting in ["'hashsize', 16777216", "'automerge', 8", "'crisismerge', 64"] {
            try connection.run("INSERT INTO words (words, rank) VALUES (\(setting))")
        }
    }

    private mutating func write(_ items: some Sequence<CatalogItem>) throws {
        let item = try connection.prepare(
            """
            INSERT INTO items (number, kind, creator, released, collection, disc, track, bundle_id, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """, isKept: true)
        let name = try connection.prepare(
            "INSERT INTO names (kind, name, number, facets) VALUES (?1, ?2, ?3, ?4)", isKept: true)
        for next in items {
            try insert(next, item, name)
        }
    }

    private mutating func insert(_ item: CatalogItem, _ row: SQLiteStatement, _ name: SQLiteStatement) throws {
        let kind = ItemIndex.code(item.kind)
        try row.bind(item.number, at: 1)
        try row.bind(kind, at: 2)
        try row.bind(item.creator.number, at: 3)
        try row.bind(item.releaseDate, at: 4)
        if let place = item.place {
            try row.bind(place.collection, at: 5)
            try row.bind(Int64(place.disc), at: 6)
            try row.bind(Int64(place.track), at: 7)
        }
        if let bundleID = item.bundleID { try row.bind(bundleID.rawValue, at: 8) }
        try row.bind(CatalogItemCoding.bytes(of: item), at: 9)
        try row.run()
        if case .only(let countries) = item.availability {
            limited.items += 1
            for country in countries { limited.byCountry[country, default: 0] += 1 }
        }
        let facets = ItemFacets(item).text
        var keys: Set<[UInt8]> = []
        for text in item.texts {
            let key = words.key(of: text.name)
            guard !key.isEmpty, keys.insert(key).inserted else { continue }
            try name.bind(kind, at: 1)
            try name.bind(key, at: 2)
            try name.bind(item.number, at: 3)
            try name.bind(facets, at: 4)
            try name.run()
        }
    }

    private mutating func finish(_ digest: String) throws {
        for index in ItemIndex.indices { try connection.run(index) }
        let common = Set(limited.byCountry.filter { $0.value > limited.items / 2 }.keys)
        let country = try connection.prepare("INSERT INTO common_countries (country) VALUES (?1)")
        for name in common.sorted() {
            try country.bind(name, at: 1)
            try country.run()
        }
        try writeWords(common)
        // One segment: every search reads as few lists as possible.
        try connection.run("INSERT INTO words (words) VALUES ('optimize')")
        let about = try connection.prepare("INSERT INTO about (version, digest) VALUES (?1, ?2)")
        try about.bind(ItemIndex.formatVersion, at: 1)
        try about.bind(digest, at: 2)
        try about.run()
        try connection.commit()
    }

    private mutating func writeWords(_ common: Set<String>) throws {
        let rows = try connection.prepare("SELECT number, body FROM items ORDER BY number", isKept: true)
        let insertion = try connection.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)", isKept: true)
        var bytes: [UInt8] = []
        while try rows.step() {
            let item = try CatalogItemCoding.item(rows.bytes(1))
            bytes.removeAll(keepingCapacity: true)
            try append(item, common, to: &bytes)
            try insertion.bind(rows.int64(0), at: 1)
            try insertion.bind(String(decoding: bytes, as: UTF8.self), at: 2)
            try insertion.run()
        }
        rows.reset()
    }

    /// Appends all words of an item, with the markers of the fields that they are in.
    private mutating func append(_ item: CatalogItem, _ common: Set<String>, to bytes: inout [UInt8]) throws {
        typealias Marker = ItemIndex.Marker
        let names = item.texts.map(\.name)
        let creators = [item.creator.name] + (item.seller.map { [$0] } ?? [])
        let collections: [String]
        if let place = item.place {
            collections = try self.names(ofCollection: place.collection)
        } else {
            collections = item.kind.isCollection ? names : []
        }
        for name in names {
            for marker in [Marker.none, .name, .headline] { words.append(name, marker: marker.bytes, to: &bytes) }
        }
        for creator in creators {
            for marker in [Marker.none, .creator, .headline] {
                words.append(creator, marker: marker.bytes, to: &bytes)
            }
        }
        for collection in collections {
            for marker in [Marker.none, .collection, .headline] {
                words.append(collection, marker: marker.bytes, to: &bytes)
            }
        }
        for text in item.texts {
            if let description = text.description { words.append(description, marker: [], to: &bytes) }
            if let short = text.shortDescription { words.append(short, marker: [], to: &bytes) }
        }
        ItemFacets(item).append(to: &bytes, common: common)
    }

    private mutating func names(ofCollection number: Int64) throws -> [String] {
        if let names = collectionNames[number] { return names }
        let statement = try connection.statement("SELECT body FROM items WHERE number = ?1")
        defer { statement.reset() }
        try statement.bind(number, at: 1)
        let names = try statement.step() ? CatalogItemCoding.item(statement.bytes(0)).texts.map(\.name) : []
        if collectionNames.count >= 1024 { collectionNames = [:] }
        collectionNames[number] = names
        return names
    }

    private static func flush(_ path: String) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure("The item index", path) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw failure("The item index", path) }
    }

    private static func failure(_ thing: String, _ path: String) -> SQLiteError {
        SQLiteError(.unavailable, "\(thing) \(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}
