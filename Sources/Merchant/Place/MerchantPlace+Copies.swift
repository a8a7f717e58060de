import Database
import Foundation
import Logging

/// Copies of a SQLite database, for backups.
extension MerchantPlace {
    /// Copies the database as it stands at one moment, also while a server uses it. The copy needs no other file.
    /// - Parameter target: the file to create.
    /// - Throws: ``DatabaseError``.
    package func copyDatabase(to target: URL) async throws {
        try await SQLiteCopy.make(of: databaseFile.path, at: target.path)
        try await SQLiteCopy.check(target.path)
    }

    /// Checks that the database's file is a whole database.
    /// - Throws: ``DatabaseError`` `corrupted`.
    package func checkDatabase() async throws { try await SQLiteCopy.check(databaseFile.path) }

    /// Opens and closes a database that nobody uses, so that all of it is in one file. A damaged database stays as it
    /// is.
    /// - Throws: ``DatabaseError`` `full`, `readOnly`.
    package func foldDatabase(logger: Logger) async throws {
        do {
            try await openDatabase(logger: logger).close()
        } catch let error as DatabaseError where error.code == .full || error.code == .readOnly {
            throw error
        } catch {}
    }
}
