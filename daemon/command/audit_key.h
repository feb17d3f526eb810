/* `assayd audit key`: makes a key for the tamper-evident log. Main thread. */
#pragma once

#include "common/err.h"

/* Makes a key of that name: the private one in a file that is not there yet, the public one on standard
 * output. `file` NULL: audit-log.key in the current folder. */
err_t audit_key_run(const char *name, const char *file, struct err_detail *detail);
