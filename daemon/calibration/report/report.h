/*
 * Calibration report: how well confidence predicted correctness, from the sums of one window, segment and
 * label source. Pure; any thread.
 *
 * Band score: max(0, 1 − 3·E), E the weighted mean over the groups of |accuracy − target|.
 * Brier score and its parts: Murphy 1973, with the residual within bins of Stephenson, Coelho and Jolliffe
 * 2008. Intervals: Wilson 1927 at 95 %, over the effective number of cases where cases have weights (Kish).
 */
#pragma once

#include "common/str.h"

#define CALIBRATION_BINS   10
#define CALIBRATION_GROUPS 4

/* A bin of fewer cases says nothing of the largest error: chance alone makes it. */
#define CALIBRATION_MCE_CASES 20

/* Of a set of cases; w is a case's weight, c its confidence, o 1 when it is correct, else 0. */
struct calibration_sums {
	int64_t cases;
	double weight;		     /* Σ w */
	double weight_squared;	     /* Σ w² */
	double weight_correct;	     /* Σ w·o */
	double weight_confidence;    /* Σ w·c */
	double weight_squared_error; /* Σ w·(c − o)² */
};

/* By level (enum confidence_level) and tenth of the confidence. */
struct calibration_cells {
	struct calibration_sums cells[CALIBRATION_GROUPS][CALIBRATION_BINS];
};

enum calibration_grade {
	CALIBRATION_INSUFFICIENT,
	CALIBRATION_POOR,
	CALIBRATION_MODERATE,
	CALIBRATION_GOOD,
};

/* One bin or group; without cases nothing but `cases` means anything. */
struct calibration_part {
	int64_t cases;
	double weight;
	double effective; /* number of cases that weigh alike and tell as much */
	double accuracy;
	double confidence; /* mean */
	double low, high;  /* interval of the accuracy */
};

struct calibration_report {
	int64_t cases;
	double weight;
	int64_t min_cases;
	enum calibration_grade grade;
	bool overconfident; /* the high group is right less often than 0.75 */
	opt_double_t band_score;
	opt_double_t accuracy;
	opt_double_t confidence;
	opt_double_t expected_error; /* ECE */
	opt_double_t maximum_error;  /* MCE, of bins with at least CALIBRATION_MCE_CASES; absent: none has */
	opt_double_t brier;	     /* = reliability − resolution + uncertainty + residual */
	opt_double_t reliability;
	opt_double_t resolution;
	opt_double_t uncertainty;
	opt_double_t residual;
	struct calibration_part bins[CALIBRATION_BINS];
	struct calibration_part groups[CALIBRATION_GROUPS]; /* by enum confidence_level */
};

/* Below `min_cases` cases there is no band score. */
void calibration_report_make(const struct calibration_cells *cells, int64_t min_cases,
			     struct calibration_report *ret_report);

/* Adds `from` to `to`. */
void calibration_sums_add(struct calibration_sums *to, const struct calibration_sums *from);

/* The accuracy that a group ought to have; `group` is an enum confidence_level. */
double calibration_target(int group);

/* One sentence for a person into `text`, e.g. "insufficient data (need ≥ 20 cases)". */
void calibration_interpretation(const struct calibration_report *report, char *text, size_t size);
