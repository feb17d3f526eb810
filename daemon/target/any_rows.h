/*
 * Truths with a LIMIT and no order: any rows of what the limit cuts are as good as those that the truth
 * happened to return. A worker process, one thread.
 */
#pragma once

#include "compare/part.h"
#include "target/tries.h"

/* Whether the truth is one, and can be run without its limit. */
bool any_rows_would_do(const struct validation_truth *truth);

/* Runs the truth without its limit, and judges anew how many of the generated rows, which are as many as the
 * truth's, are rows of that. Nothing changes when that fails; a verdict that cannot be had is not `proven`.
 * `part` and `options` are the truth's. Errors are the target's. */
err_t any_rows_compare(struct tries *tries, const struct engine *engine, void *session,
		       const struct target_settings *settings, const struct validation_truth *truth,
		       const struct result_set *generated, const struct compare_part *part,
		       const struct compare_options *options, struct arena *arena,
		       struct compare_verdict *verdict, struct err_detail *detail);
