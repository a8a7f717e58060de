#ifndef CORNERSTORE_CSQLITE_SHIM_H
#define CORNERSTORE_CSQLITE_SHIM_H
#include <sqlite3.h>

// Swift cannot call functions that take any number of arguments. These call SQLite's for it.

// SQLite locks a mutex for each allocation while it counts memory (https://www.sqlite.org/c3ref/config.html).
static inline int cornerstore_sqlite3_stop_counting_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// SQLite otherwise takes a misspelt column in double quotes for text (https://www.sqlite.org/quirks.html#dblquote).
static inline void cornerstore_sqlite3_refuse_text_in_double_quotes(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}
#endif
