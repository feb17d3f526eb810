/*
 * An errand: work that may take long, in a thread of its own, so that the main thread can feed the watchdog
 * and hear signals meanwhile. Main thread, but for the work itself.
 */
#pragma once

#include "common/err.h"

#include <signal.h>

struct pool;

struct errand {
	err_t (*work)(void *context, struct err_detail *detail);
	void *context;
	struct err_detail *detail;
	err_t err;
	_Atomic bool done;
	struct pool *pool;
};

/* Begins the work; `name` is that of its thread. The errand stays where it is until it has ended. */
void errand_begin(struct errand *errand, const char *name,
		  err_t (*work)(void *context, struct err_detail *detail), void *context,
		  struct err_detail *detail);

bool errand_done(const struct errand *errand);

/* Waits for a moment; returns the one of `signals` (blocked ones) that came, or 0. */
int errand_wait(const sigset_t *signals);

/* Waits until the work is done; returns its error. */
err_t errand_end(struct errand *errand);
