/*
 * Progress: how far a command is that takes long, on a terminal's standard error, in one line that is written
 * over. Where standard error is no terminal nothing is shown. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on, shown;
	int64_t next_us; /* when it is shown again (monotonic) */
};

/* Shows nothing for the first second. */
void progress_init(struct progress *progress);

/* Whether it is time to show something. */
bool progress_due(const struct progress *progress);

/* At most twice a second; the text is ours, without a line end. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Before anything else is written there. */
void progress_clear(struct progress *progress);
