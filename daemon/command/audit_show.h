/* `assayd audit show`: what a record names by digest, from the archive. Main thread. */
#pragma once

#include "common/err.h"

/* `name`: the beginning of a digest that says which, "model:N", or "list", for a line for each entry. What
 * was found goes to standard output as it is, on a terminal with escapes for what that would obey; what it
 * is, to standard error. ERR_AUDIT_UNKNOWN: there is none; ERR_AUDIT_AMBIGUOUS: several, which are listed;
 * ERR_AUDIT_DAMAGED: it is not what the digest is of, and nothing is printed. */
err_t audit_show_run(const char *config_file, const char *name, struct err_detail *detail);
