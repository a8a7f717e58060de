/// A right to use a database, without which no transaction begins or commits: ``SoleUse`` for one process,
/// ``Membership`` for one of several.
public protocol Fence: Sendable {
    /// Checks that the process has the right at this moment. Called before each `BEGIN` and each `COMMIT`.
    ///
    /// - Throws: ``DatabaseError`` `unavailable` while the process does not have it.
    func check() throws(DatabaseError)

    /// When the server was started that holds the right, or held it last, in microseconds since 1970. It identifies the
    /// server: transactions run on no other.
    var serverStart: Int64 { get }
}
