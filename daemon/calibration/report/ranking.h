/*
 * Ranking: what a score is worth for telling right from wrong and as a probability, with an interval for each
 * figure: AUROC, risk and coverage (statistics/discrimination.h), ECE without its bias (statistics/binned.h),
 * and the threshold from which on a wished share is right. Pure; any thread.
 *
 * From single cases: AUROC and area over all different scores, the ECE over bins of equal mass, thresholds at
 * hundredths. From tenths of the score, as buckets have them: cases of one tenth are ties, each counted half
 * in the AUROC, which draws it towards 0.5 a little; the ECE is of the tenths, and thresholds are their
 * bounds.
 */
#pragma once

#include "calibration/report/report.h"
#include "calibration/statistics/binned.h"
#include "calibration/statistics/discrimination.h"

/* Bins of equal mass. */
#define RANKING_BINS 10

/* Shares of the cases, the highest scores first, whose accuracy is told. */
#define RANKING_COVERAGES 5

/* What is right where nothing else is wished. */
#define RANKING_WISH 0.9

/* A threshold takes so many cases, whatever their interval. */
#define RANKING_THRESHOLD_CASES 20

enum ranking_score { RANKING_OVERALL, RANKING_PROBABILITY };

/* The lowest threshold at or above which the wished share is right by the lower end of its interval. Where
 * there is none, what comes nearest: the threshold with the highest lower end. */
struct ranking_threshold {
	double wish;
	bool found;
	struct risk_point point; /* not found and no cases: there is nothing to tell */
};

struct ranking {
	enum ranking_score score;
	bool by_tenths;
	bool with_probability; /* overall confidence of the single cases that have a probability, too */
	int64_t cases;	       /* more than 0 */
	int64_t since_ms;      /* scored_at of the oldest single case; by tenths 0 */
	bool both_kinds;       /* there are right and wrong ones: without both there is no AUROC */
	struct discrimination discrimination;
	double risk_area;		      /* AURC */
	double accuracies[RANKING_COVERAGES]; /* of the highest ranking_coverage(i) of all cases */
	struct binned_error error;	      /* of `bins` */
	struct binned_part *bins;	      /* by ascending score; by tenths those that have cases */
	size_t bins_count;
	struct ranking_threshold threshold;
};

/* The share of the cases, in (0, 1], ascending; `i` below RANKING_COVERAGES. */
double ranking_coverage(int i);

/* "overall confidence", "probability". */
const char *ranking_score_name(enum ranking_score score);

/* How many cases it takes at least, all of them right, until the lower end of an interval reaches that share.
 */
int64_t ranking_least_cases(double accuracy);

/* Of overall confidence, from a report that has cases; bins are in the arena. A tenth's correct and wrong
 * cases are taken to weigh alike. */
void ranking_of_report(const struct calibration_report *report, double wish, struct arena *arena,
		       struct ranking *ret_ranking);

/* Of single cases whose scores lie within 0..1. ERR_SAMPLES: there are none, or a number is out of range.
 * Bins are in the arena; `since_ms` is the caller's to set. */
err_t ranking_of_cases(enum ranking_score score, const struct outcome *outcomes, size_t count, double wish,
		       struct arena *arena, struct ranking *ret_ranking, struct err_detail *detail);
