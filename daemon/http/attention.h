/* What is not as it should be though events may be scored, from the status; for people and for scripts. Pure.
 */
#pragma once

#include "http/status.h"

enum { ATTENTION_MAX = 32 };

struct attention {
	const char *code; /* of the kind; static, likewise the text */
	const char *text;
	const char *name; /* of what it is about; lives as long as the status, NULL: there is only one */
};

/* The first ones, as they are to be shown; returns how many. */
size_t attention_of(const struct status *status, struct attention ret_items[ATTENTION_MAX]);
