/*
 * Comparison of two queries whose results are too large to keep: both run once more in full, row by row, in
 * the transaction that is open, the generated one a second time where it could not be guessed which of its
 * columns are which. Memory stays constant but for one bit for each row of an ordered truth; every run is
 * bounded by the statement timeout. A worker process, one thread.
 */
#pragma once

#include "compare/digest.h"
#include "target/tries.h"

struct stream_query {
	str_t sql;
	const struct result_set
		*fetched; /* of its run within the limits: names, and classes as known by then */
	size_t added;	  /* columns that it returns behind those of `fetched`: sort keys */
	struct validation_execution execution; /* set when both queries ran to their end */
};

enum stream_outcome {
	STREAM_ENDLESS, /* a query was cut off: by its time limit, or by a row above the byte limit */
	STREAM_FAILED,	/* a query failed beyond the rows that were fetched before: see `failed` */
	STREAM_READ,	/* both were read to their end */
};

struct stream_comparison {
	enum stream_outcome outcome;
	bool generated_failed, truth_failed;
	struct query_run failed; /* the run that failed, without rows; its message is in the arena */
	enum compare_digest_verdict verdict;
	bool paired; /* it is certain which columns belong together, or they hold different values anyway */
	bool same_count;
	struct compare_estimate estimate; /* of the match rate, when paired and not proven equal */
};

/* Both queries returned equally many columns; the truth's sort keys may stand behind them. `options` as for
 * compare_results. Errors are the target's. */
err_t stream_compare(struct tries *tries, const struct engine *engine, void *session,
		     const struct target_settings *settings, struct stream_query *generated,
		     struct stream_query *truth, const struct compare_options *options, struct arena *arena,
		     struct stream_comparison *ret_comparison, struct err_detail *detail);
