/* `assayd audit export`: the scored topic in a file, to be verified elsewhere. Main thread; blocks. */
#pragma once

#include "common/err.h"

#include <stdbool.h>

/* Writes the marks of the log and the records of the topic to standard output, as JSON lines. */
err_t audit_export_run(const char *config_file, bool no_database, struct err_detail *detail);
