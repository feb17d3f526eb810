/* Steps of an event's life and which may follow which (step.def). Any thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum step {
#define STEP(symbol, name, meaning) STEP_##symbol,
#include "event/step.def"
#undef STEP
	STEP_COUNT_
};

/* Whether `to` may follow `from`; the step's name, static. */
bool step_allowed(enum step from, enum step to);
const char *step_name(enum step step);

/* How many events are at each step. */
struct step_counts {
	_Atomic int64_t at[STEP_COUNT_];
};

/* One more, or (−1) one less, is at a step. */
void step_count(struct step_counts *counts, enum step step, int change);
