#include "calibration/model/looks.h"

#include <math.h>

#include "calibration/model/internal.h"
#include "calibration/statistics/student.h"
#include "common/arena.h"

enum { CASES_MIN = 20, GROUPS_MIN = 8, GROUPS_MAX = 20, GROUP_CASES = 10, NEW_MIN = 200 };

/* Of each of the first looks at candidates for one place, and of all others together: 5 % in all. */
enum { FIRST_LOOKS = 8 };
#define FIRST_RATE  0.005
#define OTHERS_RATE 0.01

static double rate_of(int64_t look)
{
	double number = (double)(look - FIRST_LOOKS);
	return look <= FIRST_LOOKS ? FIRST_RATE : OTHERS_RATE / (number * (number + 1));
}

/* ---- when ---- */

static int compare_times(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

/* When those that can be judged by were scored, in order. */
static size_t take_times(enum model_kind kind, const struct model_example *later, size_t count,
			 int64_t *ret_times)
{
	size_t usable = 0;
	for (size_t i = 0; i < count; i++)
		if (later[i].weight > 0 && model_can_score(kind, &later[i].item))
			ret_times[usable++] = later[i].scored_at_ms;
	qsort(ret_times, usable, sizeof *ret_times, compare_times);
	return usable;
}

/* Those scored after a moment, of either part. */
static size_t count_new(enum model_kind kind, const struct model_example *examples, size_t count,
			int64_t after_ms)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++)
		found += examples[i].weight > 0 && model_can_score(kind, &examples[i].item) &&
			 examples[i].scored_at_ms > after_ms;
	return found;
}

bool model_look_is_due(const struct model_looks *last, enum model_kind kind,
		       const struct model_example *examples, size_t inside, size_t count)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	int64_t *times = ARENA_ARRAY(scratch, int64_t, count + 1);
	size_t judged = take_times(kind, examples + inside, count - inside, times);
	size_t twice = 2 * judged, some = NEW_MIN + judged / 4;
	if (judged < CASES_MIN)
		return false;
	return last->labels == 0 || (int64_t)judged >= 2 * last->labels ||
	       count_new(kind, examples, count, last->until_ms) >= (twice < some ? twice : some);
}

struct model_looks model_look_next(const struct model_looks *last, int64_t version, enum model_kind kind,
				   const struct model_example *later, size_t count)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	int64_t *times = ARENA_ARRAY(scratch, int64_t, count + 1);
	size_t judged = take_times(kind, later, count, times);
	return (struct model_looks){ .version = version,
				     .count = version == last->version ? last->count + 1 : 1,
				     .labels = (int64_t)judged,
				     .until_ms = times[judged * 19 / 20] };
}

/* ---- comparing ---- */

/* What the candidate loses less for a case, and the variance of that, with the square of the weight, where
 * the outcome is drawn so that neither is better. */
struct gain {
	double value, variance, weight;
};

static struct gain gain_of(const struct model *candidate, const struct model *current,
			   const struct model_example *example, const struct model_estimate *estimate)
{
	struct model_estimate other = { .value = candidate->mean };
	if (current)
		model_estimate(current, &example->item, &other);
	double p = model_clamp(estimate->value), q = model_clamp(other.value);
	double odds = log(p / (1 - p)) - log(q / (1 - q));
	double even = odds != 0 ? log((1 - q) / (1 - p)) / odds : p; /* where neither loses more */
	double value = example->correct ? log(p / q) : log((1 - p) / (1 - q));
	return (struct gain){ .value = value,
			      .variance = example->weight * example->weight * odds * odds * even * (1 - even),
			      .weight = example->weight };
}

static size_t take_gains(const struct model *candidate, const struct model *current,
			 const struct model_example *examples, size_t count, struct gain *ret_gains)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	const struct model_sample sample = model_in_order(examples, count, candidate->info.to_ms, scratch);
	size_t used = 0;
	for (size_t i = 0; i < sample.count; i++) {
		struct model_estimate estimate;
		const struct model_example *example = sample.items[i];
		if (example->weight > 0 && model_estimate(candidate, &example->item, &estimate))
			ret_gains[used++] = gain_of(candidate, current, example, &estimate);
	}
	return used;
}

bool model_better(const struct model *candidate, const struct model *current,
		  const struct model_example *examples, size_t count, int64_t look)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct gain *gains = ARENA_ARRAY(scratch, struct gain, count + 1);
	size_t used = take_gains(candidate, current, examples, count, gains);
	size_t groups = used / (2 * GROUP_CASES) * 2; /* an even number */
	double sum = 0, weight = 0, variance = 0, squares = 0;
	if (used < CASES_MIN)
		return false;
	for (size_t i = 0; i < used; i++) {
		sum += gains[i].weight * gains[i].value;
		weight += gains[i].weight;
		variance += gains[i].variance;
	}
	groups = groups < GROUPS_MIN ? GROUPS_MIN : groups > GROUPS_MAX ? GROUPS_MAX : groups;
	for (size_t group = 0; group < groups; group++) {
		double deviation = 0;
		for (size_t i = used * group / groups; i < used * (group + 1) / groups; i++)
			deviation += gains[i].weight * (gains[i].value - sum / weight);
		squares += deviation * deviation;
	}
	double spread = sqrt(squares * (double)groups / (double)(groups - 1));
	return sum > 0 && student_tail(sum / spread, (int)groups - 1) <= rate_of(look) &&
	       erfc(sum / sqrt(2 * variance)) / 2 <= rate_of(look);
}
