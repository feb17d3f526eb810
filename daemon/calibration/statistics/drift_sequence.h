/*
 * Drift as a sequence: whether outcomes still are what was forecast for them, one case after the other, for a
 * segment and label source. Pure; any thread.
 *
 * A two-sided CUSUM of outcomes against forecasts (cusum.h) opens an episode and says in which
 * direction, since when, and by how much outcomes differ. While an episode is open the same evidence is
 * weighed the other way round, for the forecasts against their shift: where that reaches the same threshold
 * the episode closes, and the test begins anew. So there is one episode at a time, and no more false ends
 * than false alarms.
 *
 * How often a well calibrated source alarms is set, and does not depend on its forecasts nor on the order in
 * which its cases come; only how soon a change is noticed does. A change of all odds by DRIFT_SHIFT is what
 * the test is made for; smaller ones take longer. Weights play no part: cases are outcomes, however likely it
 * was that they were sampled.
 */
#pragma once

#include "calibration/statistics/cusum.h"

/* In log odds: of forecasts of 0.5 to 0.7 about fourteen points. */
#define DRIFT_SHIFT 0.6

enum drift_direction {
	DRIFT_OVERCONFIDENT,  /* right less often than was forecast */
	DRIFT_UNDERCONFIDENT, /* more often */
};

enum sequence_change { SEQUENCE_STAYS, SEQUENCE_OPENS, SEQUENCE_CLOSES };

/* Since the change that opened it, as far as that can be told. */
struct drift_stretch {
	enum drift_direction direction;
	int64_t since_ms; /* time of its first case */
	int64_t cases;
	double residual; /* Σ (outcome − forecast) */
};

/* Zeroed: no case was seen. All of it is state; a case more is the only change. */
struct drift_sequence {
	struct cusum cusum; /* while no episode is open */
	bool open;
	struct drift_stretch stretch; /* of the open episode, or of the one that was closed last */
	double back;		      /* evidence that it is over */
};

/* The threshold of both sides for that many false alarms in 10,000 cases, in (0, 100]. */
double drift_sequence_threshold(double false_alarms_per_10k);

/* The next case. SEQUENCE_OPENS, SEQUENCE_CLOSES: `sequence->stretch` is of that episode. */
enum sequence_change drift_sequence_add(struct drift_sequence *sequence, double threshold, double forecast,
					bool correct, int64_t time_ms);

/* How far outcomes lie above (or below) their forecasts, −1..1; of a stretch with cases. */
double drift_stretch_size(const struct drift_stretch *stretch);
