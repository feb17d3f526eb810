/*
 * Drift, two questions. Is it bad: does confidence predict correctness, judged by the band score of a rolling
 * window. Has it changed: that is answered by the source's sequence (statistics/source_sequence.h), and here
 * only taken note of. Pure; any thread.
 *
 * An episode opens below one bound and closes at a higher one, so that a score between them, or one that
 * wavers about either, changes nothing. A window with fewer cases than a score needs says nothing: nothing
 * opens, and what is open stays open until there are enough again.
 *
 * A low score alone is no drift: the bands have targets of their own, which a source that is right just as
 * often as it says need not meet, and few cases scatter. So in some group the accuracy has to differ from the
 * mean confidence by more than chance makes it: n·KL(accuracy ‖ confidence) ≥ log(8 / p), Hoeffding's bound
 * (1963, theorem 1) for both sides of four groups, which holds however confidences within the group differ.
 * The probability p is what is set as false alarms, per window that is looked at. In the same way an episode
 * closes, whatever its score, when accuracies come within a few points of the confidences.
 *
 * A source has one episode at a time, whatever the windows and the sequence say. A change that was not
 * reported yet opens it, and so does the shortest window that sees drift. It closes when the change is over,
 * and the window that saw drift first, if any did, would close it, and no other would open it again.
 */
#pragma once

#include "calibration/report/report.h"

/* Windows that are judged. */
#define DRIFT_WINDOWS 3
extern const int64_t drift_windows_s[DRIFT_WINDOWS];

struct drift_limits {
	double opens_below;
	double closes_at; /* not below the former */
	int64_t min_cases;
	double false_alarms_per_10k; /* above 0 */
};

/* The group (enum confidence_level) whose accuracy differs most surely from its mean confidence; negative: no
 * group has cases. */
int drift_worst_group(const struct calibration_report *report);

enum drift_change { DRIFT_STAYS, DRIFT_OPENS, DRIFT_CLOSES };

/* `open`: there is an open episode. */
enum drift_change drift_judge(const struct drift_limits *limits, bool open,
			      const struct calibration_report *report);

/* What is known of a source besides its windows. */
struct drift_standing {
	bool open;     /* there is an open episode */
	int window;    /* index of the first that saw drift in it; negative: none did */
	bool changed;  /* a change is open in its sequence */
	bool reported; /* its last change has had its episode */
};

/* What becomes of the one episode, by the reports of drift_windows_s (NULL: nothing was counted in that
 * window); in `ret_window` the first that has seen drift, negative: none. */
enum drift_change drift_judge_windows(const struct drift_limits *limits,
				      const struct drift_standing *standing,
				      const struct calibration_report *const reports[DRIFT_WINDOWS],
				      int *ret_window);
