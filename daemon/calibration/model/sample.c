#include "calibration/model/sample.h"

#include <math.h>
#include <stdlib.h>

#include "calibration/model/internal.h"
#include "calibration/statistics/outcomes.h"

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_features(const double *a, const double *b)
{
	int order = (a != NULL) - (b != NULL);
	for (size_t i = 0; a && b && !order && i < FEATURE_COUNT_; i++)
		order = compare_numbers(a[i], b[i]);
	return order;
}

static int compare_contents(const struct model_example *a, const struct model_example *b)
{
	int order = str_compare(a->item.segment.application, b->item.segment.application);
	if (!order)
		order = str_compare(a->item.segment.model, b->item.segment.model);
	if (!order)
		order = str_compare(a->item.segment.prompt_version, b->item.segment.prompt_version);
	if (!order)
		order = a->correct - b->correct;
	if (!order)
		order = compare_numbers(a->weight, b->weight);
	if (!order)
		order = (a->question > b->question) - (a->question < b->question);
	if (!order)
		order = a->item.overall.set - b->item.overall.set;
	if (!order)
		order = compare_numbers(a->item.overall.value, b->item.overall.value);
	return order ? order : compare_features(a->item.features, b->item.features);
}

static int compare_examples(const void *left, const void *right)
{
	const struct model_example *a = *(const struct model_example *const *)left;
	const struct model_example *b = *(const struct model_example *const *)right;
	int order = (a->scored_at_ms > b->scored_at_ms) - (a->scored_at_ms < b->scored_at_ms);
	if (!order)
		order = memcmp(a->id, b->id, sizeof a->id);
	return order ? order : compare_contents(a, b);
}

static bool usable(const struct model_example *example, enum model_kind kind)
{
	const struct model_case *item = &example->item;
	if (!model_can_score(kind, item) || !(example->weight > 0 && example->weight <= OUTCOMES_WEIGHT_MAX))
		return false;
	if (item->overall.set && !(item->overall.value >= 0 && item->overall.value <= 1))
		return false;
	for (size_t i = 0; kind == MODEL_FEATURES && i < FEATURE_COUNT_; i++)
		if (!(fabs(item->features[i]) <= FEATURES_BOUND))
			return false;
	return true;
}

size_t model_keep_usable(enum model_kind kind, struct model_example *examples, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (usable(&examples[i], kind))
			examples[kept++] = examples[i];
	return kept;
}

struct model_sample model_sample_of(const struct model_example *examples, size_t count, enum model_kind kind,
				    struct arena *arena)
{
	struct model_sample sample = { .items = ARENA_ARRAY(arena, const struct model_example *, count) };
	for (size_t i = 0; i < count; i++)
		if (usable(&examples[i], kind))
			sample.items[sample.count++] = &examples[i];
	qsort(sample.items, sample.count, sizeof *sample.items, compare_examples);
	return sample;
}

struct model_sample model_sample_in_order(const struct model_example *examples, size_t count,
					  int64_t after_ms, struct arena *arena)
{
	struct model_sample sample = { .items = ARENA_ARRAY(arena, const struct model_example *, count) };
	for (size_t i = 0; i < count; i++)
		if (examples[i].scored_at_ms > after_ms)
			sample.items[sample.count++] = &examples[i];
	qsort(sample.items, sample.count, sizeof *sample.items, compare_examples);
	return sample;
}

/* Whether two examples may be answers to one question: all that is known of the question is the same. */
static int compare_questions(const struct model_example *a, const struct model_example *b)
{
	int order = str_compare(a->item.segment.application, b->item.segment.application);
	for (int i = 0; a->item.features && b->item.features && !order && i < FEATURE_COUNT_; i++)
		if (FEATURE_INFO[i].group == FEATURES_QUESTION)
			order = compare_numbers(a->item.features[i], b->item.features[i]);
	return order;
}

struct placed {
	const struct model_example *example;
	size_t place, first;
};

static int compare_placed(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;
	int order = compare_questions(a->example, b->example);
	return order ? order : (a->place > b->place) - (a->place < b->place);
}

static int compare_firsts(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;
	int order = (a->first > b->first) - (a->first < b->first);
	return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Of those whose question is known, or at least what features say of it. */
static int compare_known(const struct model_example *a, const struct model_example *b)
{
	int order = str_compare(a->item.segment.application, b->item.segment.application);
	if (!order)
		order = (a->question > b->question) - (a->question < b->question);
	return order || a->question ? order : compare_questions(a, b);
}

static int compare_placed_known(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;
	int order = compare_known(a->example, b->example);
	return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Answers to one question get the number of the first of them; where nothing is known of the question, each
 * gets one of its own. */
void model_sample_number(struct model_sample *sample, struct arena *arena)
{
	struct placed *placed = ARENA_ARRAY(arena, struct placed, sample->count);
	size_t known = 0;
	sample->questions = ARENA_ARRAY(arena, size_t, sample->count);
	for (size_t i = 0; i < sample->count; i++) {
		const double *features = sample->items[i]->item.features;
		sample->questions[i] = i;
		if (sample->items[i]->question || (features && features[FEATURE_QUESTION_LENGTH] > 0))
			placed[known++] = (struct placed){ sample->items[i], i, i };
	}
	qsort(placed, known, sizeof *placed, compare_placed_known);
	for (size_t i = 1; i < known; i++)
		if (compare_known(placed[i - 1].example, placed[i].example) == 0)
			sample->questions[placed[i].place] = sample->questions[placed[i - 1].place];
}

/* Spans of about as many examples each, by the time at which a question was first asked: answers to one
 * question tell of each other, so all of them are in one span. */
static void divide(struct model_sample *sample, enum model_kind kind, struct arena *arena)
{
	struct placed *placed = ARENA_ARRAY(arena, struct placed, sample->count);
	sample->spans = ARENA_ARRAY(arena, int, sample->count);
	for (size_t i = 0; i < sample->count; i++)
		placed[i] = (struct placed){ sample->items[i], i, i };
	if (kind == MODEL_FEATURES) {
		qsort(placed, sample->count, sizeof *placed, compare_placed);
		sample->by_question = ARENA_ARRAY(arena, size_t, sample->count);
		for (size_t i = 0; i < sample->count; i++)
			sample->by_question[i] = placed[i].place;
		for (size_t i = 1; i < sample->count; i++)
			if (compare_questions(placed[i - 1].example, placed[i].example) == 0)
				placed[i].first = placed[i - 1].first;
		qsort(placed, sample->count, sizeof *placed, compare_firsts);
	}
	for (size_t i = 0, start = 0; i < sample->count; i++) {
		bool same = i > 0 && placed[i].first == placed[i - 1].first;
		if (!same || i - start >= sample->count / MODEL_SPANS)
			start = i;
		sample->spans[placed[i].place] = (int)(start * MODEL_SPANS / sample->count);
	}
}

void model_sample_divide(struct model_sample *sample, enum model_kind kind, struct arena *arena)
{
	model_sample_number(sample, arena);
	divide(sample, kind, arena);
}

int model_sample_span(const struct model_sample *sample, const struct model_example *example)
{
	size_t low = 0, high = sample->by_question ? sample->count : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2, place = sample->by_question[middle];
		int order = compare_questions(example, sample->items[place]);
		if (order == 0)
			return sample->spans[place];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

double model_sample_share(const struct model_sample *sample)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < sample->count; i++) {
		sum += sample->items[i]->weight;
		squares += sample->items[i]->weight * sample->items[i]->weight;
	}
	return sum / squares;
}
