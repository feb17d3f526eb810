#include "calibration/model/internal.h"

#include <stdlib.h>

#include "calibration/model/sample.h"
#include "calibration/statistics/nearby.h"

/* From −7 to 7. */
enum { PLACES = 29 };
#define PLACES_FIRST (-7.0)
#define PLACES_APART 0.5

struct numbered {
	size_t question, place;
};

static int compare_numbered(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;
	int order = (a->question > b->question) - (a->question < b->question);
	return order ? order : (a->place > b->place) - (a->place < b->place);
}

void model_fit_places(const struct model_sample *sample, const double *scores, struct model *model)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	const struct model_line *line = &model->nodes[0].line;
	double share = model_sample_share(sample);
	struct numbered *numbered = ARENA_ARRAY(scratch, struct numbered, sample->count);
	struct nearby_case *cases = ARENA_ARRAY(scratch, struct nearby_case, sample->count);
	for (size_t i = 0; i < sample->count; i++)
		numbered[i] = (struct numbered){ sample->questions[i], i };
	qsort(numbered, sample->count, sizeof *numbered, compare_numbered);
	for (size_t i = 0; i < sample->count; i++) {
		const struct model_example *example = sample->items[numbered[i].place];
		double from_centre = scores[numbered[i].place] - model->centre;
		cases[i] = (struct nearby_case){ .log_odds = line->intercept + line->slope * from_centre,
						 .weight = example->weight * share,
						 .group = numbered[i].question,
						 .correct = example->correct };
	}
	model->places = ARENA_ARRAY(model->arena, struct model_place, PLACES);
	for (size_t i = 0; i < PLACES; i++) {
		double log_odds = PLACES_FIRST + PLACES_APART * (double)i;
		model->places[i] =
			(struct model_place){ log_odds, nearby_at(cases, sample->count, log_odds) };
	}
	model->places_count = PLACES;
}

struct nearby model_place_at(const struct model *model, double log_odds)
{
	const struct model_place *places = model->places;
	size_t count = model->places_count, above = 0;
	if (count == 0)
		return (struct nearby){ 0, 0 };
	while (above < count && places[above].log_odds < log_odds)
		above++;
	if (above == 0 || above == count)
		return (struct nearby){ places[above ? count - 1 : 0].near.shift, nearby_prior(log_odds) };
	const struct model_place *a = &places[above - 1], *b = &places[above];
	double part = (log_odds - a->log_odds) / (b->log_odds - a->log_odds);
	return (struct nearby){ a->near.shift + part * (b->near.shift - a->near.shift),
				a->near.variance + part * (b->near.variance - a->near.variance) };
}
