/// The location of a database. Its description leaves out the address, which may contain a password.
public enum DatabaseLocation: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// A SQLite file. A missing file is created with mode 0600; its folder must exist.
    case sqlite(path: String)
    /// A PostgreSQL server: a `postgres://` address, a schema (small letters, digits and `_`; created when missing),
    /// and the number of connections.
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
