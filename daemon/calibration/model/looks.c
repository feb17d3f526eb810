#include "calibration/model/looks.h"

#include <math.h>

#include "calibration/model/evidence.h"
#include "calibration/model/internal.h"
#include "calibration/statistics/student.h"

enum { LATER_MIN = 15, CASES_MIN = 20, GROUPS_MIN = 8, GROUPS_MAX = 30, GROUP_UNITS = 2, NEW_MIN = 200 };

/* Of each of the first two looks at candidates for one place, of each of the next four, and of all others
 * together: 5 % in all. */
enum { FIRST_LOOKS = 2, NEXT_LOOKS = 4 };
#define T_MAX	    1e6
#define FIRST_RATE  0.01
#define NEXT_RATE   0.005
#define OTHERS_RATE 0.01

double model_look_rate(int64_t look)
{
	double number = (double)(look - FIRST_LOOKS - NEXT_LOOKS);
	if (look <= FIRST_LOOKS)
		return FIRST_RATE;
	return look <= FIRST_LOOKS + NEXT_LOOKS ? NEXT_RATE : OTHERS_RATE / (number * (number + 1));
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
	if (judged < LATER_MIN)
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

/* What the variance of the sum is larger by than that of independent questions. Where models of either half
 * of some questions are held against the other half, each pair of questions counts twice, and says the same
 * both times: so it is where none of a pair is new. */
static double twice(const struct model_evidence *evidence)
{
	double new = 1 - evidence->known;
	return 2 - new *new;
}

/* Student's t of the sums of neighbours; 1: there are too few. */
static double tail_by_groups(const struct model_evidence *evidence)
{
	double deviations[GROUPS_MAX] = { 0 }, weight = 0, squares = 0;
	size_t groups = evidence->units / (2 * GROUP_UNITS) * 2; /* an even number */
	if (evidence->units < GROUPS_MIN)
		return 1;
	groups = groups < GROUPS_MIN ? GROUPS_MIN : groups > GROUPS_MAX ? GROUPS_MAX : groups;
	for (size_t i = 0; i < evidence->count; i++)
		weight += evidence->gains[i].weight;
	for (size_t i = 0; i < evidence->count; i++) {
		const struct model_gain *gain = &evidence->gains[i];
		size_t group = ((gain->unit + 1) * groups - 1) / evidence->units;
		deviations[group] += gain->weight * (gain->value - evidence->sum / weight);
	}
	for (size_t group = 0; group < groups; group++)
		squares += deviations[group] * deviations[group];
	squares *= twice(evidence) * (double)groups / (double)(groups - 1);
	return student_tail(evidence->sum / sqrt(squares), (int)groups - 1);
}

/* The logarithm of the mean of e^(t·sum) where outcomes are drawn so that neither is better, less t·sum. */
static double log_bound(const struct model_evidence *evidence, double t)
{
	double bound = 0;
	for (size_t i = 0; i < evidence->count; i++) {
		const struct model_gain *gain = &evidence->gains[i];
		double apart = t * gain->weight * (gain->other - gain->value);
		double low = log(gain->likely), high = log1p(-gain->likely) + apart;
		bound += fmax(low, high) + log1p(exp(-fabs(low - high)));
	}
	return bound;
}

/* How likely a sum as large is where outcomes are drawn so that neither is better: by the normal
 * distribution, or by Chernoff's bound (1952) where that is less, as it is of sums that can hardly be larger.
 */
static double tail_by_chance(const struct model_evidence *evidence)
{
	double variance = 0, low = 0, high = 1;
	for (size_t i = 0; i < evidence->count; i++) {
		const struct model_gain *gain = &evidence->gains[i];
		double apart = gain->weight * (gain->other - gain->value);
		variance += apart * apart * gain->likely * (1 - gain->likely);
	}
	while (high < T_MAX && log_bound(evidence, 2 * high) < log_bound(evidence, high))
		high *= 2;
	for (high *= 2; high - low > 1e-3 * high;) { /* convex: by thirds */
		double first = low + (high - low) / 3, second = high - (high - low) / 3;
		if (log_bound(evidence, first) < log_bound(evidence, second))
			high = second;
		else
			low = first;
	}
	variance *= twice(evidence);
	return fmin(erfc(evidence->sum / sqrt(2 * variance)) / 2,
		    exp(log_bound(evidence, high) / twice(evidence)));
}

static bool shows(const struct model_evidence *evidence, int64_t look)
{
	double rate = model_look_rate(look);
	return evidence->count >= CASES_MIN && evidence->sum > 0 && evidence->own > 0 &&
	       tail_by_groups(evidence) <= rate && tail_by_chance(evidence) <= rate;
}

bool model_better(const struct model *candidate, const struct model *current,
		  const struct model_example *examples, size_t count, int64_t look)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	const struct model_evidence evidence =
		model_evidence_of(candidate, current, examples, count, scratch);
	return shows(&evidence, look);
}

err_t model_replaces(const struct model *candidate, const struct model *current,
		     const struct model_example *examples, size_t count, const struct model_options *options,
		     int64_t look, bool *ret_replaces, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct model_evidence evidence;
	err_t err =
		model_evidence_from(candidate, current, examples, count, options, scratch, &evidence, detail);
	if (!err)
		*ret_replaces = shows(&evidence, look);
	return err;
}
