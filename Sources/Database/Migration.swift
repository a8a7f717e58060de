import CornerstoreEncoding
import Crypto

/// One change of the database's schema. A released migration never changes; a later migration corrects its mistakes.
public struct Migration: Sendable {
    /// The migration's position: 1, 2, 3….
    public let number: Int
    /// A short name, such as `ledger`.
    public let name: String
    /// The statements, run in order.
    public let statements: [String]
    /// Checksums of earlier versions of the migration. A database that has applied one of them is accepted.
    public let formerChecksums: [String]
    /// SHA-256 over the statements, each ended by a NUL, in hexadecimal. It is computed once, because each start
    /// compares all applied migrations with it.
    package let checksum: String

    /// Creates a migration.
    /// - Parameter formerChecksums: Checksums of earlier versions: SHA-256 over the statements, each ended by a NUL, in
    ///   hexadecimal. List a version only if the migrations after this one work on the schema that it made.
    public init(_ number: Int, _ name: String, _ statements: [String], formerly formerChecksums: [String] = []) {
        self.number = number
        self.name = name
        self.statements = statements
        self.formerChecksums = formerChecksums
        var hash = SHA256()
        for statement in statements {
            hash.update(data: Array(statement.utf8) + [0])
        }
        checksum = Hexadecimal.encoded(hash.finalize())
    }

    /// Whether a checksum is that of this migration or of an earlier version of it.
    func isKnown(by checksum: String) -> Bool { checksum == self.checksum || formerChecksums.contains(checksum) }

    /// Checks that the program's migrations are numbered 1, 2, 3….
    static func check(_ migrations: [Migration]) throws(DatabaseError) {
        guard migrations.map(\.number) == Array(1..<(migrations.count + 1)) else {
            throw DatabaseError(.invalidMigrations, "the program's migrations must be numbered 1, 2, 3… without gaps")
        }
    }
}
