/*
 * Keeps what was spent of the day's tokens, and what a request takes, across restarts: a small file in the
 * state directory, replaced as a whole. After a crash of the machine it may be gone or old, and then the
 * budget is fuller than it was. Blocks on the disk; one thread at a time. `now_us`: the monotonic clock,
 * `wall_ms`: since 1970.
 */
#pragma once

#include "judge/limits.h"

/* Takes over what the file says. A missing, unreadable or foreign file, and one from the future, are no
 * error. */
void budget_file_load(const char *path, struct limits *limits, int64_t now_us, int64_t wall_ms);

/* Errors are logged, once for a file that cannot be written. */
void budget_file_save(const char *path, struct limits *limits, int64_t now_us, int64_t wall_ms);
