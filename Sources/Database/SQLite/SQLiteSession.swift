import Foundation
internal import GRDB

/// Statements on one SQLite connection, inside a transaction of the caller's.
final class SQLiteSession: StatementSession {
    private let database: GRDB.Database
    private let texts: SQLTextCache

    init(_ database: GRDB.Database, _ texts: SQLTextCache) {
        self.database = database
        self.texts = texts
    }

    func query(_ sql: String, _ arguments: [SQLArgument]) throws(DatabaseError) -> [Row] {
        let statement = try prepare(sql, arguments)
        do {
            let cursor = try GRDB.Row.fetchCursor(statement, arguments: Self.values(arguments))
            var rows: [Row] = []
            while let row = try cursor.next() {
                rows.append(try Self.row(row))
            }
            return rows
        } catch {
            throw DatabaseError(anySQLite: error)
        }
    }

    func execute(_ sql: String, _ arguments: [SQLArgument]) throws(DatabaseError) -> Int {
        let statement = try prepare(sql, arguments)
        do {
            // SQLite keeps the last count over statements that change no rows.
            let before = database.totalChangesCount
            try statement.execute(arguments: Self.values(arguments))
            return database.totalChangesCount == before ? 0 : database.changesCount
        } catch {
            throw DatabaseError(anySQLite: error)
        }
    }

    private func prepare(_ sql: String, _ arguments: [SQLArgument]) throws(DatabaseError) -> Statement {
        let (text, isKept) = try texts.text(sql)
        try text.check(argumentCount: arguments.count)
        do {
            return isKept
                ? try database.cachedStatement(sql: text.sqlite) : try database.makeStatement(sql: text.sqlite)
        } catch {
            throw DatabaseError(anySQLite: error)
        }
    }

    private static func values(_ arguments: [SQLArgument]) -> StatementArguments {
        StatementArguments(
            arguments.map { argument in
                switch argument.value {
                case .null: DatabaseValue.null
                case .integer(let integer): integer.databaseValue
                case .text(let text): text.databaseValue
                case .bytes(let bytes): Data(bytes).databaseValue
                case .boolean(let boolean): boolean.databaseValue
                }
            }
        )
    }

    private static func row(_ row: GRDB.Row) throws -> Row {
        var values: [SQLValue] = []
        values.reserveCapacity(row.count)
        for index in 0..<row.count {
            switch (row[index] as DatabaseValue).storage {
            case .null: values.append(.null)
            case .int64(let integer): values.append(.integer(integer))
            case .string(let text): values.append(.text(text))
            case .blob(let data): values.append(.bytes([UInt8](data)))
            case .double:
                throw DatabaseError(.columnType, "column \(index) is a fraction; only integers are kept")
            }
        }
        return Row(values)
    }
}
