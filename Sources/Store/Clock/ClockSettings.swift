import Database

/// Saves and loads the clock's setting. Without it, a store whose clock was moved ahead would go back in time on
/// restart.
enum ClockSettings {
    @Sendable static func load(_ connection: Connection) throws -> StoreClock.Setting {
        guard let row = try connection.queryOne("SELECT clock_offset, frozen_at FROM clock_setting WHERE id = 1", [])
        else {
            return .running(offset: 0)
        }
        if let instant = try row.optionalInt64(1) { return .frozen(at: instant) }
        return .running(offset: try row.int64(0))
    }

    static func save(_ setting: StoreClock.Setting, _ connection: Connection) throws {
        let (offset, frozen): (Int64, Int64?) =
            switch setting {
            case .running(let offset): (offset, nil)
            case .frozen(let instant): (0, instant)
            }
        try connection.execute(
            """
            INSERT INTO clock_setting (id, clock_offset, frozen_at) VALUES (1, $1, $2)
            ON CONFLICT (id) DO UPDATE SET clock_offset = excluded.clock_offset, frozen_at = excluded.frozen_at
            """, [offset, frozen])
    }

    /// Changes the saved setting, and lets the clock follow it.
    /// - Parameter change: changes a copy of the clock. It runs again on the new setting when another process was
    ///   faster.
    /// - Throws: the errors of `change`; ``DatabaseError``. The clock then stays as it is.
    static func change(
        _ clock: StoreClock, in database: Database, _ change: (StoreClock) throws -> Void
    ) async throws {
        var known = clock.current
        while true {
            let copy = clock.copy(known)
            try change(copy)
            let (before, after) = (known, copy.current)
            known = try await clock.setting.write(to: database, load: load) { connection -> StoreClock.Setting in
                let found = try load(connection)
                if found == before {
                    try save(after, connection)
                    try connection.announce("clock")
                }
                return found
            }
            if known == before { return }
        }
    }

    /// Lets the clock follow the saved setting, which another process may have changed.
    /// - Throws: ``DatabaseError``.
    static func reload(_ clock: StoreClock, from database: Database) async throws {
        try await clock.setting.reload(from: database, load)
    }
}
