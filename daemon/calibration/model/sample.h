/*
 * Samples: the examples that a model is fitted from or judged by, in a total order, so that whatever is
 * summed over them does not depend on the order in which they were given. Pure; any thread. Inside of
 * calibration/model only.
 */
#pragma once

#include "calibration/model/model.h"
#include "common/arena.h"

/* Pointers into what the caller gave; the arrays are in the arena that the sample was made with. */
struct model_sample {
	const struct model_example **items; /* by time, id and contents */
	size_t count;
	size_t *questions; /* equal for what may be answers to one question: the place of the first of them */
	int *spans;	   /* the part that each is in, 0..MODEL_SPANS - 1 */
	size_t *by_question; /* places in the order of questions; NULL: spans are times alone */
};

/* Those that a model of the kind can be fitted from; not divided yet. */
struct model_sample model_sample_of(const struct model_example *examples, size_t count, enum model_kind kind,
				    struct arena *arena);

/* Those scored after a moment, which nothing divides. */
struct model_sample model_sample_in_order(const struct model_example *examples, size_t count,
					  int64_t after_ms, struct arena *arena);

/* Fills questions. */
void model_sample_number(struct model_sample *sample, struct arena *arena);

/* The span that answers to an example's question are in; -1: none is there, or spans are times alone. */
int model_sample_span(const struct model_sample *sample, const struct model_example *example);

/* Fills questions, spans and their order. */
void model_sample_divide(struct model_sample *sample, enum model_kind kind, struct arena *arena);

/* What the sample's weights have to be multiplied with, to count together as many cases as they are worth
 * (Kish 1965). */
double model_sample_share(const struct model_sample *sample);
