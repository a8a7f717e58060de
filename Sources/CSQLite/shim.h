// What Swift cannot call of SQLite's interface, since it takes any number of arguments (https://www.sqlite.org/c3ref/config.html).
// Declared here, and not included, so that the rest of the interface comes from one module alone.
#pragma once

extern int sqlite3_config(int option, ...);

// Memory is not counted: SQLite would lock a mutex for each piece of it that it takes or gives back (SQLITE_CONFIG_MEMSTATUS).
static inline int cornerstore_sqlite_count_no_memory(void) { return sqlite3_config(9, 0); }
