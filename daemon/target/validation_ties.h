/* Ties: rows whose order, or whose place within a LIMIT, the truth leaves open. A worker process, one thread.
 */
#pragma once

#include "target/validation_state.h"

/* Lets the database say which rows tie where that could change the verdict. Ties of keys that are not written
 * alike, which it did not confirm, are doubtful. Errors are the target's. */
err_t validation_settle_ties(struct validation *validation, size_t index, const struct result_set *truth,
			     struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail);
