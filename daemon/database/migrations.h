/*
 * Brings tables up to date by a script of numbered migrations that is part of the program. The script's
 * sections begin with lines "-- migration N: …"; a table of the database says which of them it has. The
 * thread that uses the connection; blocks within its deadlines.
 */
#pragma once

#include "database/database.h"

struct migrations {
	const char *script;	    /* ends with a NUL */
	const char *versions_table; /* an identifier that needs no quotes */
	int64_t lock;		    /* advisory, of these migrations alone; the same in all instances */
	const char *what;	    /* "calibration tables", for people */
};

/* The newest version that this program knows. */
int migrations_newest(const struct migrations *migrations);

/* Applies what is missing, one transaction a migration; instances that start together wait for each other.
 * A database that is newer than the program is refused. */
err_t migrations_apply(const struct migrations *migrations, struct database *database,
		       struct err_detail *detail);

/* The version in the database, 0: there are no tables yet. */
err_t migrations_read(const struct migrations *migrations, struct database *database, int *ret_version,
		      struct err_detail *detail);
