#include "event/step.h"

static const char *const names[] = {
#define STEP(symbol, name, meaning) [STEP_##symbol] = name,
#include "event/step.def"
#undef STEP
};

static const struct {
	enum step from, to;
} transitions[] = {
#define TRANSITION(from, to) { STEP_##from, STEP_##to },
#include "event/step.def"
#undef TRANSITION
};

bool step_allowed(enum step from, enum step to)
{
	for (unsigned i = 0; i < sizeof transitions / sizeof transitions[0]; i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return true;
	return false;
}

const char *step_name(enum step step)
{
	return names[step];
}

void step_count(struct step_counts *counts, enum step step, int change)
{
	atomic_fetch_add_explicit(&counts->at[step], change, memory_order_relaxed);
}
