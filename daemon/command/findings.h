/*
 * What `assayd check` has to say: one line each, "ok", "note", "warning" or "error", what it is about, and
 * what is wrong and how to mend it. What is found at the same time is kept apart and put together in the end.
 * One thread each.
 */
#pragma once

#include "config/config.h"

#include <stdio.h>

enum finding_kind {
	FINDING_NOTE,	 /* for knowing; nothing is to be done */
	FINDING_WARNING, /* it works, and may go wrong; fails the check when it is strict */
	FINDING_ERROR,
};

/* Begins zeroed but for `out`, where the lines go, and what tells errors the lines of their settings. */
struct findings {
	FILE *out;
	const struct config *config; /* or NULL */
	const char *group;	     /* in which settings are whose whole path is not given; or NULL */
	err_t first;		     /* of the errors */
	unsigned errors, warnings;
};

/* A line "ok". */
void findings_ok(struct findings *findings, const char *what);

/* A line for what is not there to be looked at, or was not tried. */
void findings_none(struct findings *findings, const char *what, const char *text);

/* What was tried: "ok" or an error with its message. One that begins with a setting, and ": ", gets the file
 * and the line of that in front. */
void findings_tried(struct findings *findings, const char *what, err_t err, const struct err_detail *detail);

/* What else is to be said about it, a line for each line of `texts`, which may be absent. An error needs
 * findings_tried. */
void findings_lines(struct findings *findings, enum finding_kind kind, const char *what, str_t texts);

/* Counts those of `part` as well, as later ones; its lines stay where they are. */
void findings_add(struct findings *findings, const struct findings *part);

/* Of all of them: the first error; or, when it is strict, ERR_CHECK_WARNINGS where there are warnings. The
 * detail says how many there are. */
err_t findings_end(const struct findings *findings, bool strict, struct err_detail *detail);
