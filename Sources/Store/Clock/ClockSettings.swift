import Database

/// Saves and loads the clock's setting. Without it, a store whose clock was moved ahead would go back in time on
/// restart.
enum ClockSettings {
    static func load(_ connection: Connection) throws -> StoreClock.Setting {
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
}
