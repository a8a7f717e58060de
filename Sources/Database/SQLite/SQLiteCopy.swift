import Foundation

/// Whole copies of a SQLite database.
public enum SQLiteCopy {
    /// Copies a database as it stands at one moment, also while this or another process works on it. The copy is
    /// compact, and needs no other file.
    ///
    /// - Parameters:
    ///   - path: a database; it is not changed.
    ///   - target: is made, mode 0600; nothing may be there.
    /// - Throws: ``DatabaseError``. What was begun is removed then.
    public static func make(of path: String, at target: String) async throws {
        try await DatabaseThreads.run("sqlite.copy") {
            let descriptor = open(target, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw DatabaseError(.unavailable, "cannot make \(target): \(String(cString: strerror(errno)))")
            }
            close(descriptor)
            do {
                let session = try SQLiteSession(path: path, .readWrite, cache: 8 << 10)
                defer { session.close() }
                // Into a file that is there and empty: https://www.sqlite.org/lang_vacuum.html#vacuuminto
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

    /// Makes sure that a file is a database, and whole.
    ///
    /// - Throws: ``DatabaseError`` `corrupted`.
    public static func check(_ path: String) async throws {
        try await DatabaseThreads.run("sqlite.check") {
            let session = try SQLiteSession(path: path, .readOnly, cache: 8 << 10)
            defer { session.close() }
            let rows = try session.query("SELECT integrity_check FROM pragma_integrity_check(1)", [])
            guard let answer = try rows.first?.string(0), answer == "ok" else {
                throw DatabaseError(.corrupted, "\(path) is not a whole database")
            }
        }
    }

    private static func flush(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DatabaseError(.unavailable, "cannot open \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw DatabaseError(.full, "\(path) cannot be written to the disk") }
    }
}
