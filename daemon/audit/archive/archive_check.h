/* For `assayd check`: whether the archive's database can be used. Blocks within its deadlines. */
#pragma once

#include "common/arena.h"

/* Connects; `settings`: how the names of the settings begin, static. On success `ret_notes` (in the arena, or
 * absent) has notes for a person, one a line. */
err_t archive_check(const char *dsn, const char *password_file, const char *settings, struct arena *arena,
		    str_t *ret_notes, struct err_detail *detail);
