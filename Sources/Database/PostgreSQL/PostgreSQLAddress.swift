import CPostgreSQL
import Crypto

/// A server and a schema, checked, as `libpq` takes them.
struct PostgreSQLAddress: Sendable {
    /// `libpq`'s keywords and values (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PARAMKEYWORDS).
    let parameters: [(keyword: String, value: String)]
    let schema: String
    /// Names the schema to an advisory lock.
    let lockKey: Int64
    /// Names the ``SoleUse`` of the schema to an advisory lock.
    let soleUseKey: Int64
    /// Whether the address itself says how long the server may work on one statement.
    var limitsStatements: Bool {
        parameters.contains { $0.keyword == "options" && $0.value.contains("statement_timeout") }
    }
    private let secrets: [String]

    /// Reads a `postgres://` address.
    ///
    /// - Throws: ``DatabaseError/Code/invalidLocation``, without any part of the address: what cannot be read may be a
    ///   password in the wrong place.
    init(url: String, schema: String) throws(DatabaseError) {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.utf8.contains(0) else {
            throw DatabaseError(.invalidLocation, "a PostgreSQL address begins with postgres://")
        }
        guard Self.isName(schema) else {
            throw DatabaseError(
                .invalidLocation,
                "a schema is named with 1 to 63 small letters, digits and _, not beginning with a digit"
            )
        }
        var given = try Self.parse(url)
        secrets = given.filter { $0.keyword.hasSuffix("password") }.map(\.value)
        try Self.check(given)
        for (keyword, value) in Self.defaults where !given.contains(where: { $0.keyword == keyword }) {
            given.append((keyword, value))
        }
        // PostgreSQL's list of sessions says who works on which schema; a restore looks there, whatever name the
        // address gives.
        let own = [("application_name", String("cornerstore \(schema)".prefix(63))), ("client_encoding", "UTF8")]
        parameters = given.filter { one in !own.contains { $0.0 == one.keyword } } + own
        self.schema = schema
        lockKey = Self.key("cornerstore schema \(schema)")
        soleUseKey = Self.key("cornerstore sole use \(schema)")
    }

    private static func key(_ text: String) -> Int64 {
        Int64(bitPattern: SHA256.hash(data: Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// A lost server must be noticed within seconds, not after TCP's quarter of an hour.
    private static let defaults: [(keyword: String, value: String)] = [
        ("connect_timeout", "5"), ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "15000"),
    ]

    /// A message of `libpq` without the password.
    func withoutSecrets(_ message: String) -> String {
        secrets.reduce(message) { text, secret in
            secret.isEmpty
                ? text : text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
        }
    }

    private static func parse(_ url: String) throws(DatabaseError) -> [(keyword: String, value: String)] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            PQfreemem(message)
            throw malformed
        }
        defer { PQconninfoFree(options) }
        var given: [(String, String)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                given.append((String(cString: keyword), String(cString: value)))
            }
            option += 1
        }
        return given
    }

    /// A password with an unescaped `@`, `:` or `/` slips into the host or port, which errors would then show.
    private static func check(_ given: [(keyword: String, value: String)]) throws(DatabaseError) {
        for (keyword, value) in given where keyword == "host" || keyword == "port" || keyword == "hostaddr" {
            let isFine = value.unicodeScalars.allSatisfy { scalar in
                let isDigit = ("0"..."9").contains(scalar) || scalar == ","
                return keyword == "port"
                    ? isDigit : scalar.properties.isAlphabetic || isDigit || "-._:/[]".unicodeScalars.contains(scalar)
            }
            guard isFine else { throw malformed }
        }
    }

    private static var malformed: DatabaseError {
        DatabaseError(
            .invalidLocation,
            "the PostgreSQL address cannot be read; it is postgres://user:password@host:port/database, "
                + "with @ : / ? # % in the password percent-encoded"
        )
    }

    private static func isName(_ name: String) -> Bool {
        guard (1...63).contains(name.utf8.count), let first = name.unicodeScalars.first else { return false }
        return !("0"..."9").contains(first)
            && name.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_" }
    }
}
