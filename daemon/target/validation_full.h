/* Results above the limits, read in full. A worker process, one thread. */
#pragma once

#include "target/stream.h"
#include "target/validation_state.h"

/* Large results are read in full where both sides can be, and all columns are compared. */
bool validation_may_stream(const struct validation *validation, size_t index);

/* Reads both sides to their end, the truth with the sort keys that it does not return, where it can be asked
 * for them. Errors are the target's. */
err_t validation_read_in_full(const struct validation *validation, struct stream_query *ours,
			      struct stream_query *theirs, const struct validation_truth *asked,
			      struct arena *arena, struct stream_comparison *ret_full,
			      struct err_detail *detail);

/* The limits have cut a result: reads both in full. `finding` is what the parts within the limits have shown,
 * which stands when a query has no end within its time. `ret_compared`: false when one of them failed, which
 * is in the result then. */
err_t validation_compare_in_full(struct validation *validation, size_t index, const struct query_run *truth,
				 struct arena *arena, struct validation_finding *finding, bool *ret_compared,
				 struct err_detail *detail);
