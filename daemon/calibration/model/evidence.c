#include "calibration/model/evidence.h"

#include <math.h>
#include <stdlib.h>

#include "calibration/model/internal.h"
#include "calibration/model/sample.h"
#include "calibration/statistics/outcomes.h"

/* So many labels after a candidate's span speak for themselves; of fewer, models of parts of the span are
 * asked, too. */
enum { ENOUGH = 1000, PARTS = 4 };

/* Gains as they come, with the cases that they are of. */
struct collection {
	struct model_gain *gains;
	const struct model_example **items;
	size_t count;
	double weight, known; /* of all, and of those to known questions */
	const struct model *current;
	struct arena *arena;
};

/* ---- one case ---- */

static struct model_gain gain_of(const struct model *current, double constant,
				 const struct model_example *example, double estimate)
{
	struct model_estimate other = { .value = constant };
	if (current)
		model_estimate(current, &example->item, &other);
	double p = outcomes_clamp(estimate), q = outcomes_clamp(other.value);
	double right = log(p / q), wrong = log((1 - p) / (1 - q));
	double even = right != wrong ? -wrong / (right - wrong) : p; /* where neither loses more */
	bool correct = example->correct;
	return (struct model_gain){ .value = correct ? right : wrong,
				    .other = correct ? wrong : right,
				    .weight = example->weight,
				    .likely = correct ? even : 1 - even };
}

/* Adds cases of a model, for now with its estimates; `span` (may be NULL) is what it was fitted to, and
 * `known` what of that the current model was. */
static void add_cases(struct collection *collection, const struct model *model,
		      const struct model_sample *span, const struct model_sample *known,
		      const struct model_example *const *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct model_estimate estimate;
		int part = span ? model_sample_span(span, items[i]) : -1;
		if (part >= 0 && known && model_sample_span(known, items[i]) >= 0)
			part = -1;
		if (!(items[i]->weight > 0) ||
		    !model_estimate_without(model, &items[i]->item, part, &estimate))
			continue;
		collection->weight += items[i]->weight;
		collection->known += part >= 0 ? items[i]->weight : 0;
		collection->gains[collection->count].value = estimate.value;
		collection->items[collection->count++] = items[i];
	}
}

/* What is gained by the estimates from a place on. */
static void compare(struct collection *collection, size_t first, double constant)
{
	for (size_t i = first; i < collection->count; i++)
		collection->gains[i] = gain_of(collection->current, constant, collection->items[i],
					       collection->gains[i].value);
}

static double mean_of(const struct collection *collection, size_t first)
{
	double sum = 0, weight = 0;
	for (size_t i = first; i < collection->count; i++) {
		sum += collection->items[i]->weight * collection->gains[i].value;
		weight += collection->items[i]->weight;
	}
	return weight > 0 ? sum / weight : 0.5;
}

/* ---- units ---- */

static int compare_units(const void *left, const void *right)
{
	const struct model_gain *a = left, *b = right;
	int order = (a->unit > b->unit) - (a->unit < b->unit);
	return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Where the question is not known, an answer that comes again and again shows once what it shows. */
static bool comes_again(const struct collection *collection, size_t i)
{
	const struct model_gain *gain = &collection->gains[i];
	const struct model_example *example = collection->items[i];
	bool known = example->question ||
		     (example->item.features && example->item.features[FEATURE_QUESTION_LENGTH] > 0);
	return i > 0 && !known && gain[0].value == gain[-1].value && gain[0].other == gain[-1].other;
}

/* Sorts by units and numbers them. */
static struct model_evidence sum_up(struct collection *collection)
{
	struct model_sample sample = { .items = collection->items, .count = collection->count };
	struct model_evidence evidence = { .gains = collection->gains, .count = collection->count };
	size_t last = 0;
	evidence.known = collection->known / fmax(collection->weight, 1e-300);
	model_sample_number(&sample, collection->arena);
	for (size_t i = 0; i < sample.count; i++) {
		evidence.gains[i].place = i;
		evidence.gains[i].unit =
			comes_again(collection, i) ? evidence.gains[i - 1].unit : sample.questions[i];
		evidence.sum += evidence.gains[i].weight * evidence.gains[i].value;
	}
	qsort(evidence.gains, evidence.count, sizeof *evidence.gains, compare_units);
	for (size_t i = 0; i < evidence.count; i++) {
		bool fresh = i == 0 || evidence.gains[i].unit != last;
		last = evidence.gains[i].unit;
		evidence.units += fresh;
		evidence.gains[i].unit = evidence.units - 1;
	}
	return evidence;
}

static double sum_of(const struct collection *collection)
{
	double sum = 0;
	for (size_t i = 0; i < collection->count; i++)
		sum += collection->gains[i].weight * collection->gains[i].value;
	return sum;
}

static struct collection collection_new(const struct model *current, size_t count, struct arena *arena)
{
	return (struct collection){ .gains = ARENA_ARRAY(arena, struct model_gain, count + 1),
				    .items = ARENA_ARRAY(arena, const struct model_example *, count + 1),
				    .current = current,
				    .arena = arena };
}

struct model_evidence model_evidence_of(const struct model *candidate, const struct model *current,
					const struct model_example *examples, size_t count,
					struct arena *arena)
{
	const struct model_sample later =
		model_sample_in_order(examples, count, candidate->info.to_ms, arena);
	struct collection collection = collection_new(current, count, arena);
	add_cases(&collection, candidate, NULL, NULL, later.items, later.count);
	compare(&collection, 0, candidate->mean);
	double own = sum_of(&collection);
	struct model_evidence evidence = sum_up(&collection);
	evidence.own = own;
	return evidence;
}

/* ---- parts of a span ---- */

/* The first so many of a sample, divided. */
static struct model_sample first_of(const struct model_sample *all, size_t count, enum model_kind kind,
				    struct arena *arena)
{
	struct model_sample part = { .items = all->items, .count = count };
	model_sample_divide(&part, kind, arena);
	return part;
}

/* Where, from a place on, another time begins. */
static size_t next_time(const struct model_sample *all, size_t place)
{
	while (place > 0 && place < all->count &&
	       all->items[place]->scored_at_ms == all->items[place - 1]->scored_at_ms)
		place++;
	return place;
}

/* How many are of a model's span. */
static size_t count_until(const struct model_sample *all, const struct model *model)
{
	size_t count = 0;
	while (model && count < all->count && all->items[count]->scored_at_ms <= model->info.to_ms)
		count++;
	return count;
}

static err_t fit_part(const struct model_sample *all, size_t count, const struct model_options *options,
		      struct model **ret_model, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct model_example *examples = ARENA_ARRAY(scratch, struct model_example, count + 1);
	const struct model_options trial = { .kind = options->kind,
					     .trial = true,
					     .stopping = options->stopping };
	for (size_t i = 0; i < count; i++)
		examples[i] = *all->items[i];
	return model_fit(examples, count, &trial, ret_model, detail);
}

/* Models of parts of the candidate's span; those that the current model knows more than tell nothing. */
static err_t collect_parts(struct collection *collection, const struct model_sample *all, size_t inside,
			   size_t known, const struct model_sample *known_sample,
			   const struct model_options *options, struct err_detail *detail)
{
	for (size_t part = 1; part < PARTS; part++) {
		_cleanup_(model_cleanup) struct model *model = NULL;
		size_t from = next_time(all, inside * part / PARTS);
		size_t to = next_time(all, inside * (part + 1) / PARTS);
		if (from < known || from >= to || from == 0)
			continue;
		err_t err = fit_part(all, from, options, &model, detail);
		if (err == ERR_SAMPLES)
			continue;
		if (err)
			return err;
		const struct model_sample span = first_of(all, from, options->kind, collection->arena);
		size_t first = collection->count;
		add_cases(collection, model, &span, known_sample, all->items + from, to - from);
		compare(collection, first, mean_of(collection, first));
	}
	return ERR_OK;
}

err_t model_evidence_from(const struct model *candidate, const struct model *current,
			  const struct model_example *examples, size_t count,
			  const struct model_options *options, struct arena *arena,
			  struct model_evidence *ret_evidence, struct err_detail *detail)
{
	const struct model_sample all = model_sample_of(examples, count, options->kind, arena);
	size_t inside = count_until(&all, candidate), known = count_until(&all, current);
	const struct model_sample span = first_of(&all, inside, options->kind, arena);
	const struct model_sample known_span = first_of(&all, known, options->kind, arena);
	const struct model_sample *known_sample = known ? &known_span : NULL;
	size_t own = inside > known ? inside : known;
	struct collection collection = collection_new(current, count, arena);
	struct collection last = collection_new(current, count, arena);
	if (all.count - inside < ENOUGH) {
		err_t err = collect_parts(&collection, &all, inside, known, known_sample, options, detail);
		if (err)
			return err;
	}
	size_t first = collection.count;
	add_cases(&collection, candidate, &span, known_sample, all.items + own, all.count - own);
	compare(&collection, first, mean_of(&collection, first));
	*ret_evidence = sum_up(&collection);
	add_cases(&last, candidate, &span, known_sample, all.items + own, all.count - own);
	compare(&last, 0, candidate->mean);
	ret_evidence->own = sum_of(&last);
	return ERR_OK;
}
