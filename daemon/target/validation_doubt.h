/* Whether a difference is a proof that the query is wrong. A worker process, one thread; errors are the
 * target's. */
#pragma once

#include "target/validation_state.h"

/* A difference that may be of no more than the order of rows that tie, or of which of them a LIMIT takes, is
 * no proof where the keys are not to be seen and the database could not be asked for them. */
void validation_doubt_order(struct validation *validation, size_t index, const struct result_set *truth,
			    struct arena *arena, struct compare_verdict *verdict);

/* What any rows would have been as good for. Where it is not known from which ones the truth took its own,
 * as with LIMIT (SELECT 1), nobody is proven wrong. */
err_t validation_settle_any_rows(struct validation *validation, size_t index, const struct result_set *truth,
				 struct arena *arena, struct compare_verdict *verdict,
				 struct err_detail *detail);

/* A result below the full score is only a verdict where the truth would have had it: asks what its inner
 * LIMITs take their rows from, and runs it once more. */
err_t validation_doubt_truth(struct validation *validation, size_t index, const struct result_set *truth,
			     struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail);
