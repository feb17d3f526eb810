#include "calibration/model/looks.h"

#include <math.h>

#include "calibration/model/internal.h"
#include "calibration/model/sample.h"
#include "calibration/statistics/outcomes.h"
#include "calibration/statistics/student.h"
#include "common/arena.h"

enum { CASES_MIN = 20, GROUPS_MIN = 8, GROUPS_MAX = 20, GROUP_CASES = 10, NEW_MIN = 200 };

/* Of each of the first looks at candidates for one place, and of all others together: 5 % in all. */
enum { FIRST_LOOKS = 8 };
#define T_MAX	    1e6
#define FIRST_RATE  0.005
#define OTHERS_RATE 0.01

double model_look_rate(int64_t look)
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
				     .until_ms = judged ? times[judged * 19 / 20] : 0 };
}

/* ---- comparing ---- */

/* What the candidate loses less for a case, and what it would lose less were the outcome the other one. */
struct gain {
	double value, other, weight;
	double likely; /* the outcome, where it is drawn so that neither is better */
};

static struct gain gain_of(const struct model *candidate, const struct model *current,
			   const struct model_example *example, const struct model_estimate *estimate)
{
	struct model_estimate other = { .value = candidate->mean };
	if (current)
		model_estimate(current, &example->item, &other);
	double p = outcomes_clamp(estimate->value), q = outcomes_clamp(other.value);
	double right = log(p / q), wrong = log((1 - p) / (1 - q));
	double even = right != wrong ? -wrong / (right - wrong) : p; /* where neither loses more */
	bool correct = example->correct;
	return (struct gain){ .value = correct ? right : wrong,
			      .other = correct ? wrong : right,
			      .weight = example->weight,
			      .likely = correct ? even : 1 - even };
}

static size_t take_gains(const struct model *candidate, const struct model *current,
			 const struct model_example *examples, size_t count, struct gain *ret_gains)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	const struct model_sample sample =
		model_sample_in_order(examples, count, candidate->info.to_ms, scratch);
	size_t used = 0;
	for (size_t i = 0; i < sample.count; i++) {
		struct model_estimate estimate;
		const struct model_example *example = sample.items[i];
		if (example->weight > 0 && model_estimate(candidate, &example->item, &estimate))
			ret_gains[used++] = gain_of(candidate, current, example, &estimate);
	}
	return used;
}

/* Where runs of equal cases begin, and the end of the last one: an answer that comes again and again shows
 * once what it shows. */
static size_t find_runs(const struct gain *gains, size_t used, size_t *ret_starts)
{
	size_t runs = 0;
	for (size_t i = 0; i < used; i++)
		if (i == 0 || gains[i].value != gains[i - 1].value || gains[i].other != gains[i - 1].other)
			ret_starts[runs++] = i;
	ret_starts[runs] = used;
	return runs;
}

/* Student's t of the sums of neighbours; 1: there are too few. */
static double tail_by_groups(const struct gain *gains, size_t used, struct arena *arena)
{
	size_t *starts = ARENA_ARRAY(arena, size_t, used + 1), runs = find_runs(gains, used, starts);
	size_t groups = runs / (2 * GROUP_CASES) * 2; /* an even number */
	double sum = 0, weight = 0, squares = 0;
	if (runs < GROUPS_MIN)
		return 1;
	groups = groups < GROUPS_MIN ? GROUPS_MIN : groups > GROUPS_MAX ? GROUPS_MAX : groups;
	for (size_t i = 0; i < used; i++) {
		sum += gains[i].weight * gains[i].value;
		weight += gains[i].weight;
	}
	for (size_t group = 0; group < groups; group++) {
		double deviation = 0;
		for (size_t i = starts[runs * group / groups]; i < starts[runs * (group + 1) / groups]; i++)
			deviation += gains[i].weight * (gains[i].value - sum / weight);
		squares += deviation * deviation;
	}
	return student_tail(sum / sqrt(squares * (double)groups / (double)(groups - 1)), (int)groups - 1);
}

/* The logarithm of the mean of e^(t·sum) where outcomes are drawn so that neither is better, less t·sum. */
static double log_bound(const struct gain *gains, size_t used, double t)
{
	double bound = 0;
	for (size_t i = 0; i < used; i++) {
		double apart = t * gains[i].weight * (gains[i].other - gains[i].value);
		double low = log(gains[i].likely), high = log1p(-gains[i].likely) + apart;
		bound += fmax(low, high) + log1p(exp(-fabs(low - high)));
	}
	return bound;
}

/* How likely a sum as large is where outcomes are drawn so that neither is better: by the normal
 * distribution, or by Chernoff's bound (1952) where that is less, as it is of sums that can hardly be larger.
 */
static double tail_by_chance(const struct gain *gains, size_t used)
{
	double sum = 0, variance = 0, low = 0, high = 1;
	for (size_t i = 0; i < used; i++) {
		double apart = gains[i].weight * (gains[i].other - gains[i].value);
		sum += gains[i].weight * gains[i].value;
		variance += apart * apart * gains[i].likely * (1 - gains[i].likely);
	}
	while (high < T_MAX && log_bound(gains, used, 2 * high) < log_bound(gains, used, high))
		high *= 2;
	for (high *= 2; high - low > 1e-3 * high;) { /* convex: by thirds */
		double first = low + (high - low) / 3, second = high - (high - low) / 3;
		if (log_bound(gains, used, first) < log_bound(gains, used, second))
			high = second;
		else
			low = first;
	}
	return fmin(erfc(sum / sqrt(2 * variance)) / 2, exp(log_bound(gains, used, high)));
}

bool model_better(const struct model *candidate, const struct model *current,
		  const struct model_example *examples, size_t count, int64_t look)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct gain *gains = ARENA_ARRAY(scratch, struct gain, count + 1);
	size_t used = take_gains(candidate, current, examples, count, gains);
	double sum = 0, rate = model_look_rate(look);
	for (size_t i = 0; i < used; i++)
		sum += gains[i].weight * gains[i].value;
	return used >= CASES_MIN && sum > 0 && tail_by_groups(gains, used, scratch) <= rate &&
	       tail_by_chance(gains, used) <= rate;
}
