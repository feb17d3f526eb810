/* Databases of the calling thread; see database.h. For database.c and database_pool.c. */
#pragma once

#include "sql/sqlite/database.h"

/* The caller frees it; the catalog is read here only. */
struct sqlite_database *sqlite_database_build(const struct catalog *catalog);
void sqlite_database_free(struct sqlite_database *database);

/* Removes what a borrower added. False: it cannot be made as new and has to go. */
bool sqlite_database_clean(struct sqlite_database *database);
