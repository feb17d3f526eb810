/* `assayd audit recompute`: computes past records again and says what differs. Main thread. */
#pragma once

#include "common/err.h"

struct audit_recompute_options {
	const char *config_file;
	const char *records; /* a file, or "-"; NULL: the scored topic */
	bool analyse;	     /* the SQL again, too */
	bool json;
};

/* ERR_AUDIT_DIFFERS: something differs, or could not be read. */
err_t audit_recompute_run(const struct audit_recompute_options *options, struct err_detail *detail);
