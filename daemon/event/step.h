/* Steps of an event's life and which may follow which (step.def). Pure; any thread. */
#pragma once

#include <stdbool.h>

enum step {
#define STEP(symbol, name, meaning) STEP_##symbol,
#include "event/step.def"
#undef STEP
	STEP_COUNT_
};

/* Whether `to` may follow `from`; the step's name, static. */
bool step_allowed(enum step from, enum step to);
const char *step_name(enum step step);
