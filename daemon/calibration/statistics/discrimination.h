/*
 * Discrimination: how well a score tells right from wrong, whatever its scale. Pure; any thread.
 *
 * AUROC: the probability that a correct case has a higher score than a wrong one, half of it where they are
 * equal (Hanley and McNeil 1982). Its variance: DeLong, DeLong and Clarke-Pearson 1988, over effective
 * numbers of cases where these have weights (Kish); the interval at 95 % is symmetric on the scale of log
 * odds.
 *
 * Risk–coverage (Geifman and El-Yaniv 2017): the share of wrong cases among those at or above a threshold,
 * by the share of all cases that these are; the area is the mean risk over all coverages. Cases of one score
 * come in at once, mixed evenly: so neither area depends on an order of theirs.
 */
#pragma once

#include "calibration/statistics/outcomes.h"

struct discrimination {
	double auroc;
	double low, high; /* interval; 0 and 1 where there are less than two of either kind */
};

/* From groups by ascending score; ERR_SAMPLES: no case is correct, or none is wrong. */
err_t discrimination_of_groups(const struct outcome_group *groups, size_t count,
			       struct discrimination *ret_discrimination, struct err_detail *detail);

/* The same of single cases, in any order. */
err_t discrimination_of(const struct outcome *outcomes, size_t count,
			struct discrimination *ret_discrimination, struct err_detail *detail);

/* What is at or above a threshold. */
struct risk_point {
	double threshold;
	size_t cases;
	double coverage;  /* of all weight, in (0, 1] */
	double risk;	  /* 1 − accuracy */
	double low, high; /* Wilson's interval of the accuracy */
};

struct risk_curve {
	struct risk_point *points; /* by descending threshold, one for each score */
	size_t count;
	double area; /* 0..1, the lower the better */
};

/* From groups by ascending score, at least one; the points are in the arena. */
void discrimination_risk_curve(const struct outcome_group *groups, size_t count, struct arena *arena,
			       struct risk_curve *ret_curve);

/* The point with the largest coverage of those whose accuracy is at least `accuracy` by the lower end of its
 * interval, in at least `min_cases` cases; NULL: there is none. */
const struct risk_point *discrimination_find(const struct risk_curve *curve, double accuracy,
					     size_t min_cases);
