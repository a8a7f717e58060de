import Foundation

/// The statements prepared on a connection by their texts.
///
/// Hashing a whole text would take longer than running a small statement, so a text is found by its length and a few of
/// its bytes, and then compared as a whole.
struct SQLiteStatementCache {
    /// Programs have a fixed set of statements; one that makes up texts must not grow the cache without bound.
    static let capacity = 1024

    private typealias Entry = (sql: String, statement: SQLiteStatement)
    private var buckets = [[Entry]](repeating: [], count: 256)
    private var count = 0

    /// Whether another statement may be kept.
    var hasRoom: Bool { count < Self.capacity }

    /// The statement prepared for a text.
    func find(_ sql: String) -> SQLiteStatement? {
        for entry in buckets[Self.bucket(sql)] where Self.areSame(entry.sql, sql) {
            return entry.statement
        }
        return nil
    }

    /// Keeps a statement, which must not be there yet.
    mutating func add(_ statement: SQLiteStatement, for sql: String) {
        buckets[Self.bucket(sql)].append((sql, statement))
        count += 1
    }

    /// Lets all statements go.
    mutating func removeAll() {
        self = SQLiteStatementCache()
    }

    /// 32 bytes spread over the text tell a program's statements apart well enough.
    private static func bucket(_ sql: String) -> Int {
        SQLArgument.withBytes(of: sql) { bytes in
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

    /// Byte for byte: Swift's `==` takes texts for the same that SQLite does not.
    private static func areSame(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return SQLArgument.withBytes(of: one) { one in
            SQLArgument.withBytes(of: other) { other in
                guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
                return memcmp(start, otherStart, one.count) == 0
            }
        }
    }
}
