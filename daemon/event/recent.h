/*
 * Recent: the latest advisories of events, for whoever looks at the daemon. Bounded: the newest replaces the
 * oldest. Any thread.
 */
#pragma once

#include "avro/advisory.h"

enum { RECENT_ADVISORIES = 20, RECENT_TEXT_SIZE = 512, RECENT_NAME_SIZE = 96 };

/* What is kept of one, cut to these sizes between code points; an absent text is "". */
struct recent_advisory {
	int64_t raised_at_ms; /* since 1970 */
	char kinds[160];      /* separated by ", ", the gravest first */
	char action[24], level[24];
	char event_id[RECENT_NAME_SIZE], application[RECENT_NAME_SIZE], target[RECENT_NAME_SIZE];
	char codes[160]; /* of the reasons, separated by ", " */
	char summary[RECENT_TEXT_SIZE];
};

struct recent;

/* The caller owns it; freeing NULL is fine. */
struct recent *recent_new(void);
void recent_free(struct recent *recent);

/* One was published; NULL for `recent` is fine. */
void recent_note(struct recent *recent, const struct advisory *advisory);

/* Copies those that there are, the newest first; returns how many. NULL has none. */
size_t recent_read(struct recent *recent, struct recent_advisory ret_advisories[RECENT_ADVISORIES]);
