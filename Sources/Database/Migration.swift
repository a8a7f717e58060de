import CornerstoreEncoding
import Crypto

/// One step of the tables' history. Once released it never changes; a mistake is put right by the next one.
public struct Migration: Sendable {
    /// Its place in the history: 1, 2, 3….
    public let number: Int
    /// A few words for people, such as `ledger`.
    public let name: String
    /// What it does, one statement each.
    public let statements: [String]
    /// Checksums of earlier wordings of the step, of which databases may have applied one instead.
    public let formerChecksums: [String]

    /// Makes a step of the history.
    /// - Parameter formerChecksums: of earlier wordings; SHA-256 over the statements, each ended by a NUL, in
    ///   hexadecimal. Give one only when the steps that follow work on what it left.
    public init(_ number: Int, _ name: String, _ statements: [String], formerly formerChecksums: [String] = []) {
        self.number = number
        self.name = name
        self.statements = statements
        self.formerChecksums = formerChecksums
    }

    /// Whether a database that applied a step with this checksum has applied this one.
    func isKnown(by checksum: String) -> Bool { checksum == self.checksum || formerChecksums.contains(checksum) }

    /// SHA-256 over the statements, each ended by a NUL, in hexadecimal.
    var checksum: String {
        var hash = SHA256()
        for statement in statements {
            hash.update(data: Array(statement.utf8) + [0])
        }
        return Hexadecimal.encoded(hash.finalize())
    }

    /// Makes sure that the program's list is numbered 1, 2, 3….
    static func check(_ migrations: [Migration]) throws(DatabaseError) {
        guard migrations.map(\.number) == Array(1..<(migrations.count + 1)) else {
            throw DatabaseError(.invalidMigrations, "the program's migrations must be numbered 1, 2, 3… without gaps")
        }
    }
}
