/*
 * Counts of what costs the library more than its share: it compares such parts of a statement with each
 * other, or wraps them into each other, and nothing can interrupt it while it does. Pure; any thread.
 */
#pragma once

#include "common/str.h"

/* Why the statement has too much of something to be prepared (static), and where that shows; NULL: it has
 * not. */
const char *sqlite_excess(str_t sql, size_t *ret_offset);
