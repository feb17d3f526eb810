/* `assayd check`: reaches everything that a configuration names and says what is wrong, where, and how to
 * mend it. */
#pragma once

#include "common/err.h"

struct check_options {
	const char *config_file;
	bool offline; /* the file and what it names on this machine alone */
	bool strict;  /* warnings are errors */
};

/* Prints a line for everything that was tried. Returns the first error; ERR_CHECK_WARNINGS where there are
 * warnings alone and it is strict. Blocks; main thread. */
err_t check_run(const struct check_options *options, struct err_detail *detail);
