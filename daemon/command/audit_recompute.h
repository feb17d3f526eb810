/* `assayd audit recompute`: computes past records again and says what differs. Main thread. */
#pragma once

#include "common/err.h"

struct audit_recompute_options {
	const char *config_file;
	const char *records; /* a file, or "-"; NULL: the scored topic */
	bool analyse;	     /* the SQL again, too */
	bool json;
};

/* ERR_AUDIT_DIFFERS: something differs, or is no record. ERR_SCHEMA_UNAVAILABLE: nothing does, and the schema
 * registry cannot be asked for what others take. */
err_t audit_recompute_run(const struct audit_recompute_options *options, struct err_detail *detail);
