import BlobStorage
import Database
import StoreWire

/// The table `dead_blobs`: the bytes of the blob storage that nothing used at a date, and those that a process is about
/// to store. It lets several processes share the storage: one process deletes bytes, some time later, and no process
/// stores them meanwhile. A store of one process has the bytes here that it has yet to delete, without their dates.
/// Dates are milliseconds since 1970 by the machines' clocks.
enum DeadBlobs {
    /// How long unused bytes stay.
    static let keptFor: Int64 = 600_000
    /// How long a process may take to store bytes until they count as unused.
    static let storedFor: Int64 = 3_600_000
    /// How long a process may take to delete bytes.
    static let removedFor: Int64 = 300_000

    /// Records that nothing uses these bytes.
    static func add(_ digest: BlobDigest, at now: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO dead_blobs (sha256, since, removed_until) VALUES ($1, $2, 0)
            ON CONFLICT (sha256) DO UPDATE
            SET since = CASE WHEN dead_blobs.since > excluded.since THEN dead_blobs.since ELSE excluded.since END
            """, [digest.hexadecimal, now])
    }

    /// Records that a process is about to store these bytes.
    /// - Returns: false while another process is deleting them.
    static func hold(_ digest: BlobDigest, at now: Int64, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            """
            INSERT INTO dead_blobs (sha256, since, removed_until) VALUES ($1, $2, 0)
            ON CONFLICT (sha256) DO UPDATE SET since = excluded.since, removed_until = 0
            WHERE dead_blobs.removed_until < $3
            RETURNING sha256
            """, [digest.hexadecimal, now + storedFor, now]) != nil
    }

    /// Forgets bytes that are used.
    static func remove(_ digest: BlobDigest, _ connection: Connection) throws {
        try connection.execute("DELETE FROM dead_blobs WHERE sha256 = $1", [digest.hexadecimal])
    }

    /// The bytes that may be deleted at a date, oldest first.
    static func due(at now: Int64, limit: Int, _ connection: Connection) throws -> [BlobDigest] {
        try connection.query(
            """
            SELECT sha256 FROM dead_blobs WHERE since <= $1 AND removed_until < $2 ORDER BY since, sha256 LIMIT $3
            """, [now - keptFor, now, limit]
        ).compactMap { BlobDigest(try $0.string(0)) }
    }

    /// Records that this process deletes the bytes, beginning at a date.
    /// - Returns: false when they may not be deleted.
    static func beginRemoval(_ digest: BlobDigest, at now: Int64, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE dead_blobs SET removed_until = $2 WHERE sha256 = $1 AND since <= $3 AND removed_until < $4
            """, [digest.hexadecimal, now + removedFor, now - keptFor, now]) == 1
    }

    /// Records that the bytes are deleted.
    /// - Parameter date: when that began.
    static func endRemoval(_ digest: BlobDigest, begunAt date: Int64, _ connection: Connection) throws {
        try connection.execute(
            "DELETE FROM dead_blobs WHERE sha256 = $1 AND removed_until = $2", [digest.hexadecimal, date + removedFor])
    }
}
