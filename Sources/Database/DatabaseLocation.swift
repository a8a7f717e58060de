/// Where a database is kept. Its description leaves out the address, which may hold a password.
public enum DatabaseLocation: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// A file, made with mode 0600 if it is not there; the folder must exist.
    case sqlite(path: String)
    /// A `postgres://` address, a schema (made if missing; small letters, digits and `_`), and how many connections to
    /// hold.
    case postgresql(url: String, schema: String, connections: Int)

    /// The SQLite file's path, or the PostgreSQL schema, without the address.
    public var description: String {
        switch self {
        case .sqlite(let path): "SQLite at \(path)"
        case .postgresql(_, let schema, _): "PostgreSQL, schema \(schema)"
        }
    }

    /// The same text as ``description``, without the address.
    public var debugDescription: String { description }

    /// A mirror without children, so that `dump` does not print the address.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
