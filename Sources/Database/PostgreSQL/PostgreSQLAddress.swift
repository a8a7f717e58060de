import CPostgreSQL
import Crypto

/// The checked address of a server, as parameters for `libpq`, and a schema.
struct PostgreSQLAddress: Sendable {
    /// `libpq`'s keywords and values (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PARAMKEYWORDS).
    let parameters: [(keyword: String, value: String)]
    let schema: String
    /// The key of the advisory lock that is held while migrations are applied.
    let lockKey: Int64
    /// The key of the advisory lock of the schema's ``SoleUse``, which a ``Membership`` shares.
    let soleUseKey: Int64
    /// Whether the address itself sets `statement_timeout`.
    var limitsStatements: Bool {
        parameters.contains { $0.keyword == "options" && $0.value.contains("statement_timeout") }
    }
    private let secrets: [String]

    /// Reads a `postgres://` address.
    ///
    /// - Throws: ``DatabaseError/Code/invalidLocation``. The message contains no part of the address, because the
    ///   malformed part may be a password.
    init(url: String, schema: String) throws(DatabaseError) {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.utf8.contains(0) else {
            throw DatabaseError(.invalidLocation, "the PostgreSQL address does not begin with postgres://")
        }
        guard Self.isName(schema) else {
            throw DatabaseError(
                .invalidLocation,
                "the schema's name is invalid; use 1 to 63 small letters, digits and _, and no digit at the beginning"
            )
        }
        var given = try Self.parse(url)
        secrets = given.filter { $0.keyword.hasSuffix("password") }.map(\.value)
        try Self.check(given)
        // Of several servers, one is the primary, and the others are standbys. They are tried one after the other.
        let hasSeveral = given.contains { ["host", "hostaddr"].contains($0.keyword) && $0.value.contains(",") }
        let defaults = (hasSeveral ? Self.severalServers : []) + Self.defaults
        for (keyword, value) in defaults where !given.contains(where: { $0.keyword == keyword }) {
            given.append((keyword, value))
        }
        // A restore finds the sessions that use the schema by this name, so it replaces the address's own.
        let own = [("application_name", String("cornerstore \(schema)".prefix(63))), ("client_encoding", "UTF8")]
        parameters = given.filter { one in !own.contains { $0.0 == one.keyword } } + own
        self.schema = schema
        lockKey = Self.key("cornerstore schema \(schema)")
        soleUseKey = Self.key("cornerstore sole use \(schema)")
    }

    static func key(_ text: String) -> Int64 {
        Int64(bitPattern: SHA256.hash(data: Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Detects a lost server within seconds. TCP's own defaults take a quarter of an hour.
    private static let defaults: [(keyword: String, value: String)] = [
        ("connect_timeout", "5"), ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "15000"),
    ]

    /// Finds the primary among several servers. A dead one delays a connection by two seconds, and is given up after
    /// three seconds without an acknowledgement, since another one can take its place. Keepalives ask for one where
    /// nothing is sent: on an idle connection, and while a statement waits for its answer. When they get none, Linux
    /// ends the connection after `tcp_user_timeout`, whatever `keepalives_count` says
    /// (https://man7.org/linux/man-pages/man7/tcp.7.html).
    private static let severalServers: [(keyword: String, value: String)] = [
        ("target_session_attrs", "read-write"), ("connect_timeout", "2"), ("tcp_user_timeout", "3000"),
        ("keepalives_idle", "1"), ("keepalives_interval", "1"),
    ]

    /// Removes the passwords from a message of `libpq`.
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

    /// Checks hosts and ports. If a password contains an unescaped `@`, `:` or `/`, `libpq` reads a part of it as host
    /// or port, and would show that part in errors.
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
            "the PostgreSQL address is malformed; write postgres://user:password@host:port/database, "
                + "with @ : / ? # % in the password percent-encoded"
        )
    }

    private static func isName(_ name: String) -> Bool {
        guard (1...63).contains(name.utf8.count), let first = name.unicodeScalars.first else { return false }
        return !("0"..."9").contains(first)
            && name.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_" }
    }
}
