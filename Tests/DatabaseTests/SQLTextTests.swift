import Testing

@testable import Database

@Suite(.timeLimit(.minutes(1))) struct SQLTextTests {
    @Test(arguments: [
        ("SELECT $1", "SELECT ?1", 1),
        ("SELECT $2, $1, $2", "SELECT ?2, ?1, ?2", 2),
        ("SELECT $10+$1", "SELECT ?10+?1", 10),
        ("SELECT '$1', $1", "SELECT '$1', ?1", 1),
        ("SELECT 'it''s $2', $1", "SELECT 'it''s $2', ?1", 1),
        ("SELECT \"a$1\" FROM \"$2\"", "SELECT \"a$1\" FROM \"$2\"", 0),
        ("SELECT a$1 FROM t", "SELECT a$1 FROM t", 0),
        ("SELECT 1 -- $1\n, $2", "SELECT 1 -- $1\n, ?2", 2),
        ("SELECT 1 /* $1 ' */, $2", "SELECT 1 /* $1 ' */, ?2", 2),
        ("SELECT 4-$1", "SELECT 4-?1", 1),
        ("SELECT 4/$1", "SELECT 4/?1", 1),
        ("SELECT 'é$1', $1 -- ü", "SELECT 'é$1', ?1 -- ü", 1),
        ("SELECT 'open $1", "SELECT 'open $1", 0),
        ("SELECT 1 /* open $1", "SELECT 1 /* open $1", 0),
        ("SELECT 1 /*", "SELECT 1 /*", 0),
        ("SELECT $", "SELECT $", 0),
    ])
    func placeholdersAreRewrittenOutsideQuotesAndComments(sql: String, sqlite: String, count: Int) throws {
        let text = try SQLText(sql)
        #expect(text.sqlite == sqlite)
        #expect(text.postgresql == sql)
        #expect(text.placeholders == count)
    }

    @Test func wordsForSQLiteOnlyAreRemovedForPostgreSQL() throws {
        let text = try SQLText("CREATE TABLE t (a BIGINT PRIMARY KEY) WITHOUT ROWID\n")
        #expect(text.sqlite == "CREATE TABLE t (a BIGINT PRIMARY KEY) WITHOUT ROWID\n")
        #expect(text.postgresql == "CREATE TABLE t (a BIGINT PRIMARY KEY) ")
    }

    @Test(arguments: ["SELECT $0", "SELECT $1000", "SELECT $99999999999999999999999"])
    func placeholdersOutOfRangeAreRefused(sql: String) {
        #expect { try SQLText(sql) } throws: { ($0 as? DatabaseError)?.code == .invalidSQL }
    }

    @Test(arguments: [
        "BEGIN", "commit", "  -- a comment\n /* and another */ ROLLBACK", "SAVEPOINT x", "RELEASE one",
        "PRAGMA synchronous = OFF",
        "ATTACH 'x' AS y", "SET statement_timeout = 0", "COPY t FROM '/etc/passwd'", "VACUUM", "", "'SELECT'", "12",
    ])
    func otherStatementsAreRefused(sql: String) {
        #expect { try SQLText(sql) } throws: { ($0 as? DatabaseError)?.code == .invalidSQL }
    }

    @Test func tablesAreDefinedAndRowsAreData() throws {
        #expect(try SQLText("/* c */ (select 1)").kind == .data)
        #expect(try SQLText("WITH a AS (SELECT 1) SELECT * FROM a").kind == .data)
        #expect(try SQLText("create table t (a BIGINT)").kind == .definition)
    }

    @Test func theCacheIsBounded() throws {
        let cache = SQLTextCache()
        for number in 0..<SQLTextCache.capacity {
            #expect(try cache.text("SELECT \(number)").isKept)
        }
        #expect(try cache.text("SELECT -1").isKept == false)
        #expect(try cache.text("SELECT 0").isKept)
        #expect(try cache.text("SELECT -1").text.sqlite == "SELECT -1")
    }
}
