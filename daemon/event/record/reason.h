/*
 * Reasons: what each finding of a disposition says of its event, written from the other parts of the record,
 * so that whoever has the record can write it again. Pure; any thread; texts are in the arena.
 */
#pragma once

#include "common/arena.h"
#include "event/record/conclude.h"

struct reason_source {
	const struct scored_query *scored; /* but for its conclusion */
	const struct record_reading *reading;
	const struct disposition_input *known;
	/* of the event, as the record shows it */
	const char *dialect;	       /* as people call it; NULL: not known */
	str_t word;		       /* the one that the SQL begins with; absent: not known */
	bool event_known;	       /* what follows */
	opt_double_t similarity;       /* of the ground truth, where it is one */
	bool upstream, upstream_valid; /* there was a diagnostic */
	str_t upstream_error;	       /* its first; or absent */
};

/* The word that a statement begins with, where that is not one of a query: points into `sql`. */
str_t reason_word(str_t sql);

/* The violation that a reason names, and that decides what is to be done: what reaches beyond the database,
 * else that the statement is none that reads, else the first. NULL: there is none. */
const struct record_violation *reason_violation(const struct record_safety *safety);

/* Whether the target answers and its role may not read what the query or its truth needs. */
bool reason_target_denied(const struct scored_query *scored);

/* `decides`: it is the first reason. Absent: what it says is not in the record. */
str_t reason_text(const struct reason_source *source, enum disposition_finding finding, bool decides,
		  struct arena *arena);
