/*
 * What a statement's inner LIMITs take their rows from: each as a statement of its own, that can be run to
 * see whether other rows would have been as good.
 *
 * By the tokens of the text, which is then analysed again, as sort_keys.h does it. Pure; any thread with
 * POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/sort_keys.h"

struct inner_cut {
	bool ordered;
	bool distinct_on;
	struct sort_keys shown; /* its cut is known; without SQL: nobody can be asked */
};

/* Those of `analysis`, which is that of `request`, in the arena. Left out are those with an order that cannot
 * be asked about: their keys are believed to decide. */
size_t inner_cuts_show(const struct sql_request *request, const struct sql_analysis *analysis,
		       struct arena *arena, struct inner_cut **ret_cuts);
