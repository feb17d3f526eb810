#include "calibration/drift/drift.h"

#include <math.h>

const int64_t drift_windows_s[DRIFT_WINDOWS] = { 3600, 86400, 604800 };

/* Mean distance of accuracies from confidences, but for what one standard deviation explains, at which a
 * source counts as calibrated. */
#define CALIBRATED_WITHIN 0.05

/* A value on a bound is above it, also when its last bit is not. */
static bool reaches(double value, double bound)
{
	return value >= bound - 1e-12;
}

/* Of two outcomes; 0 · log 0 is 0, and what cannot happen but does is infinitely far. */
static double divergence(double accuracy, double confidence)
{
	double right = accuracy > 0 ? accuracy * log(accuracy / confidence) : 0;
	double wrong = accuracy < 1 ? (1 - accuracy) * log((1 - accuracy) / (1 - confidence)) : 0;
	return right + wrong;
}

/* How surely the accuracy of the group differs from its confidence. */
static double evidence(const struct calibration_part *group)
{
	/* sums of confidences of 1 need not be exactly 1 */
	if (group->cases == 0 || fabs(group->accuracy - group->confidence) <= 1e-9)
		return 0;
	return group->effective * divergence(group->accuracy, fmin(1, group->confidence));
}

int drift_worst_group(const struct calibration_report *report)
{
	int worst = -1;
	for (int i = 0; i < CALIBRATION_GROUPS; i++)
		if (report->groups[i].cases > 0 &&
		    (worst < 0 || evidence(&report->groups[i]) > evidence(&report->groups[worst])))
			worst = i;
	return worst;
}

static bool significant(const struct drift_limits *limits, const struct calibration_report *report)
{
	double needed = log(2 * CALIBRATION_GROUPS * 1e4 / limits->false_alarms_per_10k);
	int worst = drift_worst_group(report);
	return worst >= 0 && evidence(&report->groups[worst]) >= needed;
}

static bool calibrated(const struct calibration_report *report)
{
	double distance = 0;
	for (int i = 0; i < CALIBRATION_GROUPS; i++) {
		const struct calibration_part *group = &report->groups[i];
		if (group->cases == 0)
			continue;
		double deviation =
			sqrt(fmax(0, group->confidence * (1 - group->confidence)) / group->effective);
		distance += group->weight / report->weight *
			    fmax(0, fabs(group->accuracy - group->confidence) - deviation);
	}
	return distance <= CALIBRATED_WITHIN;
}

enum drift_change drift_judge(const struct drift_limits *limits, bool open,
			      const struct calibration_report *report)
{
	if (!report->band_score.set || report->cases < limits->min_cases)
		return DRIFT_STAYS;
	double score = report->band_score.value;
	if (open)
		return reaches(score, limits->closes_at) || calibrated(report) ? DRIFT_CLOSES : DRIFT_STAYS;
	return !reaches(score, limits->opens_below) && significant(limits, report) ? DRIFT_OPENS
										   : DRIFT_STAYS;
}

/* The first window that sees drift, or −1. */
static int find_drift(const struct drift_limits *limits,
		      const struct calibration_report *const reports[DRIFT_WINDOWS])
{
	for (int i = 0; i < DRIFT_WINDOWS; i++)
		if (reports[i] && drift_judge(limits, false, reports[i]) == DRIFT_OPENS)
			return i;
	return -1;
}

enum drift_change drift_judge_windows(const struct drift_limits *limits,
				      const struct drift_standing *standing,
				      const struct calibration_report *const reports[DRIFT_WINDOWS],
				      int *ret_window)
{
	int drifting = find_drift(limits, reports);
	int window = standing->open && standing->window >= 0 ? standing->window : drifting;
	*ret_window = window;
	if (!standing->open)
		return drifting >= 0 || !standing->reported ? DRIFT_OPENS : DRIFT_STAYS;
	if (drifting >= 0 || standing->changed)
		return DRIFT_STAYS;
	if (window < 0)
		return DRIFT_CLOSES;
	return reports[window] ? drift_judge(limits, true, reports[window]) : DRIFT_STAYS;
}
