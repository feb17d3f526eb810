/*
 * The time that a validation's statements have, when a lost connection makes them run a second time: the one
 * that was lost has what was left of its time limit, and those before it the time that they took before. A
 * worker process, one thread.
 */
#pragma once

#include "target/engine.h"

struct tries {
	int64_t limit_us; /* of a statement */
	int64_t began_us; /* of the try */
	int64_t run_began_us;
	unsigned runs;		   /* of this try */
	unsigned repeated;	   /* so many runs share … */
	int64_t repeated_until_us; /* … this deadline */
	bool out_of_time;
};

/* Before the first try. */
void tries_begin(struct tries *tries, const struct target_settings *target);

/* The try has failed with its last run. False: nothing is left of that one's time. */
bool tries_again(struct tries *tries);

/* As engine->run. ERR_TARGET_LOST: the time that was left was not enough, which is no verdict on the query.
 */
err_t tries_run(struct tries *tries, const struct engine *engine, void *session, str_t sql,
		struct query_run *run, struct err_detail *detail);
