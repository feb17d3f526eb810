/*
 * One validation in progress: what its parts share, and what they do with its result. A worker process, one
 * thread. Belongs to validation.c and the files whose names begin with its own.
 */
#pragma once

#include "compare/digest.h"
#include "compare/part.h"
#include "target/tries.h"
#include "target/truth_cache.h"

struct validation {
	const struct engine *engine;
	const struct worker_settings *settings;
	void **session;
	struct truth_cache *cache;
	const struct validation_request *request;
	struct arena *arena;	       /* of the answer */
	struct arena *generated_arena; /* of the generated query's result */
	struct query_run generated;
	bool generated_ran; /* in the transaction that is open */
	bool compared;	    /* at least one truth ran */
	struct tries *tries;
	int64_t candidates_until_us; /* the end of their time, of all tries; 0: it has not begun */
	bool nondeterministic;	     /* one of them is */
	enum validation_doubt doubt; /* why, of the first that is */
	size_t doubted_truth;
	bool undecided;	   /* one of them may fit better than could be seen */
	bool ties_settled; /* the database has said which rows of the present truth tie */
	struct validation_result result;
	struct validation_broken *broken; /* one a truth at most */
	size_t broken_count;
};

/* What comparing with one truth has shown. */
struct validation_finding {
	struct compare_verdict verdict;
	struct validation_execution generated, truth;
	struct compare_estimate estimate;
	struct compare_shown shown;
	bool counted; /* both were read to their end */
};

/* Runs a statement within the limits of the target; rows go to the arena. How it ended is in the run; errors
 * are the target's. */
err_t validation_run_query(const struct validation *validation, str_t sql, struct arena *arena,
			   struct query_run *ret_run, struct err_detail *detail);

/* As that, where another statement is likely to be run next (engine.h, `next`). */
err_t validation_run_query_and(const struct validation *validation, str_t sql, str_t next,
			       struct arena *arena, struct query_run *ret_run, struct err_detail *detail);

/* The truth allows more than one result: who differs from it may be right. */
void validation_take_doubt(struct validation *validation, size_t index, enum validation_doubt doubt);

/* The sort keys that can be seen in the output; the first that cannot ends them. */
void validation_set_keys(const struct sql_order_key *keys, size_t count, struct arena *arena,
			 struct compare_options *options);

/* As that, of a statement that shows its keys behind `columns` columns of its own. */
void validation_set_shown_keys(const struct sort_keys *shown, size_t columns, struct arena *arena,
			       struct compare_options *options);

/* How results are compared with a truth. */
struct compare_options validation_options(const struct validation *validation,
					  const struct validation_truth *truth, struct arena *arena);

/* The columns of the truth that are asked for. False: it has no such column. */
bool validation_find_part(const struct validation *validation, const struct result_set *truth,
			  struct arena *arena, struct compare_part *ret_part, str_t *ret_missing);

/* Compares `ours` with what the truth number `index` returned. `ret_shown` may be NULL. */
struct compare_verdict validation_compare(const struct validation *validation, size_t index,
					  const struct result_set *ours, const struct result_set *truth,
					  struct arena *arena, struct compare_shown *ret_shown);

/* Takes the finding over when it is the first or the best so far. */
void validation_take_finding(struct validation *validation, size_t index,
			     const struct validation_finding *finding);

/* The generated query could not be run although a truth could. Where the truth was a table, which needs no
 * rights, the role's are no measure. */
void validation_take_failure(struct validation *validation, size_t index, const struct query_run *truth);

/* What a truth would have returned that does not run may be what the query returns: whoever matches no other
 * is not proven wrong. Of one that our role may not run nobody who wrote it is at fault: it is told rather
 * than that another one is broken. */
void validation_take_broken(struct validation *validation, size_t index, const struct query_run *truth);
