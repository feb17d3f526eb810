/* Databases of the calling thread; see sqlite_database.h. For those two files. */
#pragma once

#include "sql/sqlite/database.h"

struct sqlite_database *sqlite_database_build(const struct catalog *catalog);
void sqlite_database_free(struct sqlite_database *database);

/* Removes what a borrower added. False: it cannot be made as new and has to go. */
bool sqlite_database_clean(struct sqlite_database *database);
