import BlobStorage
import Database
import StoreWire

/// The file of an item as the blob storage has it, with the path, length and modification time of the file beside the
/// catalog that it was made from: a row of `item_files`.
struct ItemBlob: Sendable, Equatable {
    /// The item's number.
    var item: Int64
    /// The absolute path of the original.
    var path: String
    /// The modification time of the original in nanoseconds since 1970.
    var modified: Int64
    /// The length in bytes.
    var length: Int64
    /// The SHA-256.
    var digest: BlobDigest
    /// The album or season that the item belonged to when the file was delivered last; nil for none.
    var collection: Int64?

    /// The name of the file.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    private static let columns = "item, path, modified, length, sha256, collection"
    /// The number of items that one statement reads.
    private static let portion = 64

    private init(_ row: Row) throws {
        guard let digest = BlobDigest(try row.string(4)) else {
            throw StoreError(.internalError, "The database has an item's file with an unreadable SHA-256.")
        }
        self.init(
            item: try row.int64(0), path: try row.string(1), modified: try row.int64(2), length: try row.int64(3),
            digest: digest, collection: try row.optionalInt64(5))
    }

    init(item: Int64, path: String, modified: Int64, length: Int64, digest: BlobDigest, collection: Int64?) {
        self.item = item
        self.path = path
        self.modified = modified
        self.length = length
        self.digest = digest
        self.collection = collection
    }

    /// The file of an item; nil when none was imported.
    static func find(_ item: Int64, _ connection: Connection) throws -> ItemBlob? {
        try connection.queryOne("SELECT \(columns) FROM item_files WHERE item = $1", [item]).map { try ItemBlob($0) }
    }

    /// The files of items, by their numbers. Items without an imported file are left out.
    static func find(_ items: [Int64], _ connection: Connection) throws -> [Int64: ItemBlob] {
        let found = try find("item", items, connection).map { ($0.item, $0) }
        return Dictionary(found, uniquingKeysWith: { first, _ in first })
    }

    /// The files of the songs and episodes of albums and seasons, in the order of their numbers.
    static func find(inCollections collections: [Int64], _ connection: Connection) throws -> [ItemBlob] {
        try find("collection", collections, connection).sorted { $0.item < $1.item }
    }

    private static func find(_ column: String, _ numbers: [Int64], _ connection: Connection) throws -> [ItemBlob] {
        let places = (1...portion).map { "$\($0)" }.joined(separator: ", ")
        var found: [ItemBlob] = []
        var rest = numbers[...]
        while let last = rest.prefix(portion).last {
            // One statement serves all portions: the last one repeats its last number.
            var numbers = Array(rest.prefix(portion))
            rest = rest.dropFirst(portion)
            numbers += Array(repeating: last, count: portion - numbers.count)
            found += try connection.query(
                "SELECT \(columns) FROM item_files WHERE \(column) IN (\(places))", numbers
            ).map { try ItemBlob($0) }
        }
        return found
    }

    /// Records the file in place of the item's earlier one.
    func save(_ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO item_files (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (item) DO UPDATE SET path = excluded.path, modified = excluded.modified,
                length = excluded.length, sha256 = excluded.sha256, collection = excluded.collection
            """, [item, path, modified, length, digest.hexadecimal, collection])
    }

    /// Records the album or season of an item whose file was imported before.
    static func place(_ item: Int64, in collection: Int64?, _ connection: Connection) throws {
        try connection.execute("UPDATE item_files SET collection = $2 WHERE item = $1", [item, collection])
    }

    /// Whether an item's file has these bytes.
    static func use(_ digest: BlobDigest, _ connection: Connection) throws -> Bool {
        try connection.queryOne("SELECT 1 FROM item_files WHERE sha256 = $1 LIMIT 1", [digest.hexadecimal]) != nil
    }

    /// The bytes of all items' files.
    static func contents(_ connection: Connection) throws -> [StoredContent] {
        try connection.query("SELECT \(columns) FROM item_files").map {
            let blob = try ItemBlob($0)
            return StoredContent(digest: blob.digest, size: blob.length)
        }
    }
}
