import Foundation

/// Reads a range of the items once, and writes their rows. Several passes run at once, each with parts of its own.
struct FeedPass {
    /// The result of a pass.
    struct Result: Sendable {
        var parts: [String: FeedPart]
        var genres: [Int64: String]
        /// The creators of changed items; empty for a full feed, which has all.
        var creators: Set<Int64>
        var items: Int
        var pricesLeftOut: Int
        /// The file of digests; nil for an incremental feed.
        var digests: String?
    }

    /// The items after the first number, up to the second.
    var range: (after: Int64, upTo: Int64)
    var reader: ItemIndex.Reader
    var rows: FeedItems
    /// The digests of the last full feed; nil to write all items.
    var previous: FeedDigests?
    /// The file for this feed's digests; nil for none.
    var digests: String?
    var isStopped: () throws -> Void

    func run() throws -> Result {
        let digestFile = try digests.map { try FeedFile($0) }
        var (collected, creators, collections, items) = ([UInt8](), Set<Int64>(), [Int64](), 0)
        var cursor = previous?.index(ofFirstFrom: range.after) ?? 0
        let statement = try reader.items(after: range.after, upTo: range.upTo)
        defer { statement.reset() }
        var seen = 0
        while try statement.step() {
            seen += 1
            if seen % 1024 == 0 { try isStopped() }
            let (number, body) = (statement.int64(0), statement.bytes(1))
            let entry = FeedDigests.entry(number, body)
            if let previous, previous.contains(entry, of: number, from: &cursor) { continue }
            let item = try CatalogItemCoding.item(body)
            try rows.write(item)
            items += 1
            if previous != nil {
                creators.insert(item.creator.number)
                if item.kind.isCollection { collections.append(number) }
            }
            if let digestFile {
                collected.append(contentsOf: entry)
                if collected.count >= 64 << 10 {
                    try collected.withUnsafeBytes { try digestFile.write($0) }
                    collected.removeAll(keepingCapacity: true)
                }
            }
        }
        try collected.withUnsafeBytes { try digestFile?.write($0) }
        try digestFile?.close(isDurable: false)
        if let previous {
            for collection in collections { items += try writeUnchanged(of: collection, previous) }
        }
        return Result(
            parts: try rows.finish(), genres: rows.genres, creators: creators, items: items,
            pricesLeftOut: rows.pricesLeftOut, digests: digests)
    }

    /// Writes the items of a changed collection that did not change themselves: their rows have its name.
    private func writeUnchanged(of collection: Int64, _ previous: FeedDigests) throws -> Int {
        let statement = try reader.items(ofCollection: collection)
        defer { statement.reset() }
        var items = 0
        while try statement.step() {
            let (number, body) = (statement.int64(0), statement.bytes(1))
            guard previous.contains(FeedDigests.entry(number, body), of: number) else { continue }
            try rows.write(CatalogItemCoding.item(body))
            items += 1
        }
        return items
    }
}

/// Writes the tables that do not come from one item at a time.
struct FeedOtherTables {
    var order: FeedOrder
    var reader: ItemIndex.Reader
    var open: (FeedTable) throws -> FeedRows
    var isStopped: () throws -> Void

    /// Writes creators and their genres: all, or those with these numbers.
    func creators(_ wanted: Set<Int64>?) throws -> [String: FeedPart] {
        let (artist, genre) = (try open(.artist), try open(.genreArtist))
        func write(_ number: Int64, _ item: CatalogItem) throws {
            artist.add(number)
            artist.add(item.creator.name)
            artist.add(true)
            artist.add(
                FeedConstants.origin(ItemLink.link(to: item.creator, of: item.kind, base: order.base, country: nil)))
            artist.add(FeedConstants.artistType(item.kind))
            try artist.end()
            guard let primary = item.genres.first else { return }
            genre.add(primary.number)
            genre.add(number)
            genre.add(true)
            try genre.end()
        }
        if let wanted {
            for number in wanted.sorted() {
                if let first = try reader.firstItem(ofCreator: number), let item = try reader.item(first) {
                    try write(number, item)
                }
            }
        } else {
            let statement = try reader.creators()
            defer { statement.reset() }
            while try statement.step() {
                try isStopped()
                if let item = try reader.item(statement.int64(1)) { try write(statement.int64(0), item) }
            }
        }
        return [FeedTable.artist.name: try artist.finish(), FeedTable.genreArtist.name: try genre.finish()]
    }

    /// Writes genres and the tables that never change.
    func fixed(genres: [Int64: String]) throws -> [String: FeedPart] {
        var parts: [String: FeedPart] = [:]
        func write(_ table: FeedTable, _ body: (FeedRows) throws -> Void) throws {
            let rows = try open(table)
            try body(rows)
            parts[table.name] = try rows.finish()
        }
        func names(_ table: FeedTable, _ names: [FeedConstants.Name]) throws {
            try write(table) { row in
                for name in names {
                    row.add(name.number)
                    row.add(name.name)
                    try row.end()
                }
            }
        }
        var all = genres
        FeedConstants.addParents(to: &all)
        try write(.genre) { row in
            for genre in all.sorted(by: { $0.key < $1.key }) {
                row.add(genre.key)
                row.add(FeedConstants.parent(ofGenre: genre.key))
                row.add(genre.value)
                try row.end()
            }
        }
        try write(.storefront) { row in
            for storefront in Storefront.all {
                row.add(Int64(storefront.identifier))
                row.add(storefront.countryCode)
                row.add(FeedConstants.name(storefront))
                try row.end()
            }
        }
        try write(.artistType) { row in
            for type in FeedConstants.artistTypes {
                row.add(type.number)
                row.add(type.name)
                row.add(type.media)
                try row.end()
            }
        }
        try names(.mediaType, FeedConstants.mediaTypes)
        try names(.deviceType, FeedConstants.deviceTypes)
        try names(.collectionType, FeedConstants.collectionTypes)
        try names(.parentalAdvisory, FeedConstants.parentalAdvisories)
        try names(.role, FeedConstants.roles)
        return parts
    }

    /// Writes the ranks. An item has a rank in each of its genres and in those above.
    func ranks(_ sales: [FeedSales]) throws -> [String: FeedPart] {
        var rows: [FeedTable: FeedRows] = [:]
        for table in Set(FeedTable.all + FeedTable.version3) where table.group == .popularity {
            rows[table] = try open(table)
        }
        for storefrontSales in sales {
            try isStopped()
            let storefront = storefrontSales.storefront
            var last: [FeedTable: [Int64: Int]] = [:]
            for sale in storefrontSales.items {
                guard let item = try reader.item(sale.item), let price = item.price(in: storefront) else { continue }
                let genres = Set(item.genres.flatMap { FeedConstants.lineage($0.number) }).sorted()
                for table in Self.rankings(item, isFree: price.milliunits == 0) {
                    guard let row = rows[table] else { continue }
                    for genre in genres {
                        let rank = last[table, default: [:]][genre, default: 0] + 1
                        last[table, default: [:]][genre] = rank
                        row.add(Int64(storefront.identifier))
                        row.add(genre)
                        row.add(item.number)
                        row.add(rank)
                        try row.end()
                    }
                }
            }
        }
        var parts: [String: FeedPart] = [:]
        for (table, row) in rows { parts[table.name] = try row.finish() }
        return parts
    }

    private static func rankings(_ item: CatalogItem, isFree: Bool) -> [FeedTable] {
        switch item.kind {
        case .song: return [.songRanks]
        case .album: return [.albumRanks]
        case .app:
            var tables: [FeedTable] = [.allApps]
            if item.platforms.contains(where: { $0 != .iPad }) { tables.append(isFree ? .freeApps : .paidApps) }
            if item.platforms.contains(.iPad) { tables.append(isFree ? .freeTabletApps : .paidTabletApps) }
            return tables
        case .film, .episode, .season, .book: return []
        }
    }
}
