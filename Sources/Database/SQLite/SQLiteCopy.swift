import Foundation

/// Makes and checks copies of a SQLite database.
public enum SQLiteCopy {
    /// Copies the state of a database at one moment. This and other processes may use the database meanwhile. The copy
    /// is one compact file, without a log.
    ///
    /// - Parameters:
    ///   - path: The database's path. The database is not changed.
    ///   - target: The path of the copy, which is created with mode 0600. No file may exist there.
    /// - Throws: ``DatabaseError``. An unfinished copy is removed.
    public static func make(of path: String, at target: String) async throws {
        try await DatabaseThreads.run("sqlite.copy") {
            let descriptor = open(target, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw DatabaseError(.unavailable, "cannot create \(target): \(String(cString: strerror(errno)))")
            }
            close(descriptor)
            do {
                let session = try SQLiteSession(path: path, .readWrite, cache: 8 << 10)
                defer { session.close() }
                // The target may be an empty file: https://www.sqlite.org/lang_vacuum.html#vacuuminto
                try session.run(
                    "VACUUM INTO '\(target.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
                )
                try flush(target)
            } catch {
                unlink(target)
                throw error
            }
        }
    }

    /// Checks that a file is an undamaged database.
    ///
    /// - Throws: ``DatabaseError`` `corrupted` when it is damaged or not a database.
    public static func check(_ path: String) async throws {
        try await DatabaseThreads.run("sqlite.check") {
            let session = try SQLiteSession(path: path, .readOnly, cache: 8 << 10)
            defer { session.close() }
            let rows = try session.query("SELECT integrity_check FROM pragma_integrity_check(1)", [])
            guard let answer = try rows.first?.string(0), answer == "ok" else {
                throw DatabaseError(.corrupted, "\(path) is a damaged database")
            }
        }
    }

    private static func flush(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DatabaseError(.unavailable, "cannot open \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw DatabaseError(.full, "\(path) cannot be flushed to the disk") }
    }
}
