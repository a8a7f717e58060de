extension Store {
    /// Follows the clock's saved setting, which another process may have changed.
    /// - Throws: ``DatabaseError``.
    func reloadClock() async throws {
        try await ClockSettings.reload(clock, from: database)
        forgetDueDates()
        changed(.clock)
    }

    /// Asks the database for the next due date of a subscription as soon as it is needed.
    func forgetDueDates() { schedule.add(Int64.min) }
}
