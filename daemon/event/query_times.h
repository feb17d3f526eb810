/*
 * Times that queries took, by target and canonical form: whether one is slower than the same query used to
 * be. What is usual is the geometric mean of its last runs, some 64 of them, so that what lasts becomes usual
 * in its turn. Bounded: of many queries those stay that came last. Of one process, since its start; any
 * thread.
 */
#pragma once

#include "common/str.h"

/* So many runs make a habit. */
#define QUERY_TIMES_RUNS_MIN 20

struct query_times;

/* The caller owns it; freeing NULL is fine. */
struct query_times *query_times_new(void);
void query_times_free(struct query_times *times);

struct query_usual {
	int64_t runs;	/* before this one, however long ago */
	double time_ms; /* geometric mean of the last ones */
};

/* Notes a run of the query with that canonical form. True where it is a regression: QUERY_TIMES_RUNS_MIN runs
 * are known, it took more than `factor` times the usual time, more than `floor_ms`, and more than three
 * standard deviations (of the logarithms) above the mean. Sets `ret_usual` then. */
bool query_times_note(struct query_times *times, str_t target, str_t form, double time_ms, double factor,
		      double floor_ms, struct query_usual *ret_usual);
