/* Whether the calibration database can be used, for `assayd check`. Any thread. */
#pragma once

#include "common/arena.h"

/* Connects once and looks at version, tables and rights. On success `ret_notes` (in the arena) holds what is
 * good to know and `ret_warnings` what is doubtful, a sentence per line; each absent where there is nothing.
 * Blocks up to the timeouts of database.h. */
err_t calibration_check(const char *dsn, const char *password_file, struct arena *arena, str_t *ret_notes,
			str_t *ret_warnings, struct err_detail *detail);
