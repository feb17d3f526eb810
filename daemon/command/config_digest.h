/* `assayd config digest`: the digest by which records name a configuration. */
#pragma once

#include "common/err.h"

/* Loads the file and prints the digest that a daemon with it puts into records, and a newline. Errors of the
 * configuration as config_load has them. Main thread. */
err_t config_digest_run(const char *config_file, struct err_detail *detail);
