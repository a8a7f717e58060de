/// The schema `PREFIX_processes`, which tells the processes on one database of each other. Backups leave it out.
enum ProcessesSchema {
    static let migrations = [
        Migration(
            1, "processes",
            [
                // The last change that each node has announced. The rows stay when a process has ended.
                "CREATE TABLE change_versions (node BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)",
                // The last change of the node `writer` that the node `reader` has applied.
                """
                CREATE TABLE change_acks (
                    reader BIGINT NOT NULL, writer BIGINT NOT NULL, version BIGINT NOT NULL,
                    PRIMARY KEY (reader, writer)
                )
                """,
                // The last process of each node number. `session` is a UUID of the process, `beat` the server's time of
                // its last sign of life in milliseconds, 0 after an orderly end, and `hears` says whether it keeps
                // anything of which it must be told. The rows are changed four times a second, so their pages keep
                // room for the new versions.
                """
                CREATE TABLE store_processes (
                    node BIGINT NOT NULL PRIMARY KEY, session TEXT NOT NULL, name TEXT NOT NULL,
                    started_at BIGINT NOT NULL, beat BIGINT NOT NULL, hears BOOLEAN NOT NULL, facts TEXT NOT NULL
                ) WITH (fillfactor = 20)
                """,
            ]),
        Migration(
            2, "version of the program",
            [
                // The version of the program that last had the schemas alone, so that it could migrate them. One row.
                "CREATE TABLE store_version (id BIGINT NOT NULL PRIMARY KEY, version TEXT NOT NULL)"
            ]),
        Migration(
            3, "lost changes",
            [
                losses,
                // How often the process and its predecessors have given a sign of life. Unlike their time, the number
                // grows also when the server's clock is set back.
                "ALTER TABLE store_processes ADD COLUMN beats BIGINT NOT NULL DEFAULT 0",
            ]),
    ]

    /// Creates the table of the processes that have noticed that the server lacks confirmed changes. While there is a
    /// row, no process uses the server. The table is replaced when the loss is accepted.
    static let losses = """
        CREATE TABLE lost_changes (
            node BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, noticed_at BIGINT NOT NULL
        )
        """
}
