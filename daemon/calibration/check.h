/* Whether the calibration database can be used, for `assayd check`. Any thread. */
#pragma once

#include "common/arena.h"

/* Connects once and looks at version, tables and rights. On success `ret_notes` (in the arena) holds remarks
 * for a person, one per line, or is empty. Blocks up to the timeouts of database.h. */
err_t calibration_check(const char *dsn, const char *password_file, struct arena *arena, str_t *ret_notes,
			struct err_detail *detail);
