import CornerstoreSQLite

/// The statements of a partner feed, which reads all items. The caller resets a statement after use.
extension ItemIndex.Reader {
    /// The number of items.
    func itemCount() throws(SQLiteError) -> Int64 {
        let statement = try connection.prepare("SELECT COUNT(*) FROM items")
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : 0
    }

    /// The number of the item at a place in the order of the numbers, which starts at 0; nil after the last item.
    func itemNumber(at place: Int64) throws(SQLiteError) -> Int64? {
        let statement = try connection.prepare("SELECT number FROM items ORDER BY number LIMIT 1 OFFSET ?1")
        defer { statement.reset() }
        try statement.bind(place, at: 1)
        return try statement.step() ? statement.int64(0) : nil
    }

    /// Selects the number and body of the items after a number, up to another, in the order of their numbers.
    func items(after: Int64, upTo last: Int64) throws(SQLiteError) -> SQLiteStatement {
        let statement = try connection.prepare(
            "SELECT number, body FROM items WHERE number > ?1 AND number <= ?2 ORDER BY number", isKept: true)
        try statement.bind(after, at: 1)
        try statement.bind(last, at: 2)
        return statement
    }

    /// Selects the number and body of the items of a collection.
    func items(ofCollection collection: Int64) throws(SQLiteError) -> SQLiteStatement {
        let statement = try connection.statement("SELECT number, body FROM items WHERE collection = ?1")
        try statement.bind(collection, at: 1)
        return statement
    }

    /// The least number of a creator's items; nil when no item has this creator.
    func firstItem(ofCreator creator: Int64) throws(SQLiteError) -> Int64? {
        let statement = try connection.statement(
            "SELECT number FROM items WHERE creator = ?1 ORDER BY number LIMIT 1")
        defer { statement.reset() }
        try statement.bind(creator, at: 1)
        return try statement.step() ? statement.int64(0) : nil
    }

    /// Selects the number of each creator and the least number of its items, in the order of the creators' numbers.
    func creators() throws(SQLiteError) -> SQLiteStatement {
        try connection.prepare(
            "SELECT creator, MIN(number) FROM items GROUP BY creator ORDER BY creator", isKept: true)
    }
}
