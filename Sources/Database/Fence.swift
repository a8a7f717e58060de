/// A right to use a database, without which no transaction begins or commits: ``SoleUse`` for one process,
/// ``Membership`` for one of several.
public protocol Fence: Sendable {
    /// Checks that the process has the right at this moment. Called before each `BEGIN` and each `COMMIT`.
    ///
    /// - Throws: ``DatabaseError`` `unavailable` while the process does not have it.
    func check() throws(DatabaseError)
}
