/*
 * Whether the outcomes of a source still are what its own past lets expect: drift_sequence.h with forecasts
 * that are learnt from the source itself. Pure; any thread.
 *
 * A confidence is a mark by rule and no probability: a source whose marks are always too high by as much has
 * not changed. So what is forecast of a case is how often those of the same tenth of confidence have been
 * right before, drawn a little to the source's accuracy, as long as they are few:
 *
 *   (right of the bin + 2 · accuracy) / (cases of the bin + 2),   accuracy = (right + 1) / (cases + 2)
 *
 * The past grows with each case that is tested, up to SOURCE_PAST_MAX, and then stays as it is, so that a
 * slow change cannot hide in it. That it grows while it is used is what keeps the rate of false alarms: what
 * an outcome differs by from the mean of those before it does not correlate with what others do (recursive
 * residuals: Brown, Durbin and Evans 1975; self-starting CUSUM: Hawkins 1987), whereas the error of a mean of
 * a few hundred cases that stays as it is shifts all that follow, which makes two to five times the false
 * alarms. What the end of growing leaves of that, SOURCE_MARGIN makes up for.
 *
 * The first SOURCE_PAST_LEAST cases, and the first SOURCE_BIN_LEAST of each bin, only teach. An episode ends
 * when the evidence says that the source is as before, and then the past is used again; or after
 * SOURCE_SETTLED cases, which are the past from then on: the source has changed and stays so.
 */
#pragma once

#include "calibration/statistics/drift_sequence.h"

#define SOURCE_BINS	  10 /* tenths of confidence */
#define SOURCE_PAST_LEAST 100
#define SOURCE_BIN_LEAST  20
#define SOURCE_PAST_MAX	  5000
#define SOURCE_SETTLED	  500
#define SOURCE_MARGIN	  1.1

struct source_past {
	int64_t cases[SOURCE_BINS];
	int64_t correct[SOURCE_BINS];
};

/* Zeroed: no case was seen. All of it is state; a case more is the only change. */
struct source_sequence {
	struct drift_sequence drift;
	struct source_past past;
	struct source_past since; /* the open episode began */
	int64_t changes;	  /* episodes that were opened */
};

/* The threshold for that many false alarms in 10,000 cases, in (0, 100]. */
double source_sequence_threshold(double false_alarms_per_10k);

/* The next case; `bin` below SOURCE_BINS. */
enum sequence_change source_sequence_add(struct source_sequence *sequence, double threshold, int bin,
					 bool correct, int64_t time_ms);

/* What is forecast of the next case of the bin, NAN: there are too few to tell. */
double source_sequence_forecast(const struct source_sequence *sequence, int bin);
