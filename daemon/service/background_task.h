/*
 * A background task: work that may take long, in a thread of its own, so that the main thread can feed the
 * watchdog and hear signals meanwhile. Main thread, but for the work itself.
 */
#pragma once

#include "common/err.h"

#include <signal.h>

struct pool;

struct background_task {
	err_t (*work)(void *context, struct err_detail *detail);
	void *context;
	struct err_detail *detail;
	err_t err;
	_Atomic bool done;
	struct pool *pool;
};

/* Begins the work; `name` is that of its thread. The task stays where it is until it has ended. */
void background_task_begin(struct background_task *task, const char *name,
			   err_t (*work)(void *context, struct err_detail *detail), void *context,
			   struct err_detail *detail);

bool background_task_done(const struct background_task *task);

/* Waits for a moment; returns the one of `signals` (blocked ones) that came, or 0. */
int background_task_wait(const sigset_t *signals);

/* Waits until the work is done; returns its error. */
err_t background_task_end(struct background_task *task);
