import Foundation

/// The prepared statements of a connection, found by their texts.
///
/// Hashing a whole text takes longer than running a small statement. So the cache hashes the text's length and a few of
/// its bytes, and then compares whole texts.
public struct SQLiteStatementCache {
    /// The greatest number of statements kept. Without a limit, a program that composes its texts would grow the cache
    /// without bound.
    public static let capacity = 1024

    private typealias Entry = (sql: String, statement: SQLiteStatement)
    private var buckets = [[Entry]](repeating: [], count: 256)
    private var count = 0

    /// Creates an empty cache.
    public init() {}

    /// Whether another statement may be kept.
    public var hasRoom: Bool { count < Self.capacity }

    /// The statement that was prepared for a text, or nil.
    public func find(_ sql: String) -> SQLiteStatement? {
        for entry in buckets[Self.bucket(sql)] where Self.areSame(entry.sql, sql) {
            return entry.statement
        }
        return nil
    }

    /// Keeps a statement for a text that has none yet.
    public mutating func add(_ statement: SQLiteStatement, for sql: String) {
        buckets[Self.bucket(sql)].append((sql, statement))
        count += 1
    }

    /// Forgets all statements.
    public mutating func removeAll() {
        self = SQLiteStatementCache()
    }

    /// Hashes about 32 bytes spread over the text, which tells a program's statements apart well enough.
    private static func bucket(_ sql: String) -> Int {
        sql.withBytes { bytes in
            var hash = UInt(bytes.count)
            let step = max(bytes.count / 32, 1)
            var index = 0
            while index < bytes.count {
                hash = (hash &* 31) &+ UInt(bytes[index])
                index += step
            }
            return Int((hash ^ hash >> 8) & 255)
        }
    }

    /// Compares bytes, because Swift's `==` also accepts canonically equivalent texts, which SQLite distinguishes.
    private static func areSame(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return one.withBytes { one in
            other.withBytes { other in
                guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
                return memcmp(start, otherStart, one.count) == 0
            }
        }
    }
}

extension String {
    /// Calls `body` with the text's bytes in UTF-8, in place where possible, otherwise with a copy.
    func withBytes<T>(_ body: (UnsafeBufferPointer<UInt8>) -> T) -> T {
        utf8.withContiguousStorageIfAvailable(body) ?? Array(utf8).withUnsafeBufferPointer(body)
    }
}
