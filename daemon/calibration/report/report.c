#include "calibration/report/report.h"

#include "avro/scored_query.h"
#include "calibration/statistics/outcomes.h"

#include <math.h>

_Static_assert(LEVEL_HIGH + 1 == CALIBRATION_GROUPS, "a group for each level");

static const double targets[CALIBRATION_GROUPS] = {
	[LEVEL_HIGH] = 0.95,
	[LEVEL_MEDIUM] = 0.75,
	[LEVEL_LOW] = 0.45,
	[LEVEL_VERY_LOW] = 0.25,
};

#define OVERCONFIDENT_BELOW 0.75
#define ERROR_FACTOR	    3.0
#define GOOD_FROM	    0.8
#define MODERATE_FROM	    0.5

double calibration_target(int group)
{
	return targets[group];
}

void calibration_sums_add(struct calibration_sums *to, const struct calibration_sums *from)
{
	to->cases += from->cases;
	to->weight += from->weight;
	to->weight_squared += from->weight_squared;
	to->weight_correct += from->weight_correct;
	to->weight_confidence += from->weight_confidence;
	to->weight_squared_error += from->weight_squared_error;
}

static struct calibration_part make_part(const struct calibration_sums *sums)
{
	struct calibration_part part = { .cases = sums->cases, .weight = sums->weight };
	if (sums->cases == 0)
		return part;
	part.accuracy = sums->weight_correct / sums->weight;
	part.confidence = sums->weight_confidence / sums->weight;
	part.effective = sums->weight * sums->weight / sums->weight_squared;
	outcomes_wilson(part.accuracy, part.effective, &part.low, &part.high);
	return part;
}

/* The bands are half-open: a value on a bound is above it, also when its last bit is not. */
static bool reaches(double value, double bound)
{
	return value >= bound - 1e-12;
}

static void grade(struct calibration_report *report)
{
	const struct calibration_part *high = &report->groups[LEVEL_HIGH];
	double error = 0;
	report->grade = CALIBRATION_INSUFFICIENT;
	if (report->cases == 0 || report->cases < report->min_cases)
		return;
	for (int i = 0; i < CALIBRATION_GROUPS; i++)
		error += report->groups[i].weight * fabs(report->groups[i].accuracy - targets[i]);
	double score = fmax(0, 1 - ERROR_FACTOR * error / report->weight);
	report->band_score = opt_double(score);
	report->overconfident = high->cases > 0 && !reaches(high->accuracy, OVERCONFIDENT_BELOW);
	report->grade = reaches(score, GOOD_FROM)	? CALIBRATION_GOOD
			: reaches(score, MODERATE_FROM) ? CALIBRATION_MODERATE
							: CALIBRATION_POOR;
}

/* Errors and the Brier score's parts, from the bins. */
static void measure(struct calibration_report *report, const struct calibration_sums *all)
{
	double expected = 0, reliability = 0, resolution = 0;
	opt_double_t maximum = { 0 };
	double accuracy = all->weight_correct / all->weight;
	for (int i = 0; i < CALIBRATION_BINS; i++) {
		const struct calibration_part *bin = &report->bins[i];
		if (bin->cases == 0)
			continue;
		double share = bin->weight / all->weight, error = fabs(bin->accuracy - bin->confidence);
		expected += share * error;
		if (bin->cases >= CALIBRATION_MCE_CASES)
			maximum = opt_double(maximum.set ? fmax(maximum.value, error) : error);
		reliability += share * error * error;
		resolution += share * (bin->accuracy - accuracy) * (bin->accuracy - accuracy);
	}
	double brier = all->weight_squared_error / all->weight, uncertainty = accuracy * (1 - accuracy);
	report->accuracy = opt_double(accuracy);
	report->confidence = opt_double(all->weight_confidence / all->weight);
	report->expected_error = opt_double(expected);
	report->maximum_error = maximum;
	report->brier = opt_double(brier);
	report->reliability = opt_double(reliability);
	report->resolution = opt_double(resolution);
	report->uncertainty = opt_double(uncertainty);
	report->residual = opt_double(brier - (reliability - resolution + uncertainty));
}

void calibration_report_make(const struct calibration_cells *cells, int64_t min_cases,
			     struct calibration_report *ret_report)
{
	struct calibration_sums all = { 0 }, bins[CALIBRATION_BINS] = { { 0 } },
				groups[CALIBRATION_GROUPS] = { { 0 } };
	for (int group = 0; group < CALIBRATION_GROUPS; group++)
		for (int bin = 0; bin < CALIBRATION_BINS; bin++) {
			calibration_sums_add(&all, &cells->cells[group][bin]);
			calibration_sums_add(&groups[group], &cells->cells[group][bin]);
			calibration_sums_add(&bins[bin], &cells->cells[group][bin]);
		}
	struct calibration_report report = { .cases = all.cases,
					     .weight = all.weight,
					     .min_cases = min_cases };
	for (int i = 0; i < CALIBRATION_BINS; i++)
		report.bins[i] = make_part(&bins[i]);
	for (int i = 0; i < CALIBRATION_GROUPS; i++)
		report.groups[i] = make_part(&groups[i]);
	grade(&report);
	if (all.cases > 0)
		measure(&report, &all);
	*ret_report = report;
}

void calibration_interpretation(const struct calibration_report *report, char *text, size_t size)
{
	static const char *const sentences[] = {
		[CALIBRATION_POOR] = "poorly calibrated",
		[CALIBRATION_MODERATE] = "moderately calibrated",
		[CALIBRATION_GOOD] = "well calibrated",
	};
	if (report->grade == CALIBRATION_INSUFFICIENT)
		snprintf(text, size, "insufficient data (need ≥ %lld cases)", (long long)report->min_cases);
	else
		snprintf(text, size, "%s%s", sentences[report->grade],
			 report->overconfident ? "; overconfident: high confidence is not reliable" : "");
}
