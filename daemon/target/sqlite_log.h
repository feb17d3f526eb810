/*
 * The write-ahead log of an SQLite database (journal_mode = WAL): two files beside it, "-wal" and "-shm",
 * which the last connection removes, and without which nobody can read: whoever comes next has to be able to
 * make them. Blocks on files alone; any thread.
 */
#pragma once

#include <stdbool.h>

/* Whether the database has one; false also where its file cannot be read. */
bool sqlite_has_log(const char *path);

/* Whether the files are there. */
bool sqlite_log_is_there(const char *path);
