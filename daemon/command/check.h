/* `assayd check`: reaches everything that a configuration names and says what is wrong, where, and how to
 * mend it. */
#pragma once

#include "common/err.h"

/* Prints a line for everything that was tried. Returns the first error, or ERR_OK. Blocks; main thread. */
err_t check_run(const char *config_file, struct err_detail *detail);
