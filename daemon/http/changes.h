/*
 * Changes: what became different lately, for whoever asks what has happened: one line each with its time,
 * the latest 20. Not thread-safe.
 */
#pragma once

#include "common/str.h"

#include <stdint.h>

enum { CHANGES_KEPT = 20, CHANGE_TEXT_SIZE = 256 };

struct change {
	int64_t at_ms; /* since 1970 */
	char text[CHANGE_TEXT_SIZE];
};

struct changes {	/* all zero at first */
	uint64_t count; /* so far */
	struct change ring[CHANGES_KEPT];
};

/* What is too long is cut between code points. */
void changes_note(struct changes *changes, int64_t at_ms, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The newest first; returns how many. */
size_t changes_read(const struct changes *changes, struct change ret_changes[CHANGES_KEPT]);
