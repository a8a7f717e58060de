import Database

extension StoreSchema {
    /// The failures that the operator ordered, and the last requests that met one.
    static let faults = Migration(
        30, "faults",
        [
            // A fault that is used up stays with its hits until it is ordered again or removed.
            """
            CREATE TABLE faults (
                operation TEXT PRIMARY KEY,
                status BIGINT NOT NULL,
                error TEXT,
                cut_after BIGINT,
                lie TEXT,
                remaining BIGINT NOT NULL CHECK (remaining >= 0),
                hits BIGINT NOT NULL
            )
            """,
            // The columns that both tables have are the fault as it was after the hit.
            """
            CREATE TABLE fault_hits (
                number BIGINT PRIMARY KEY,
                operation TEXT NOT NULL,
                status BIGINT NOT NULL,
                error TEXT,
                cut_after BIGINT,
                lie TEXT,
                remaining BIGINT NOT NULL,
                met_at BIGINT NOT NULL,
                account TEXT
            )
            """,
        ])
}
