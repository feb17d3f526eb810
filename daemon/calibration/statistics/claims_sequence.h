/*
 * Whether outcomes still are what the published probabilities claim: drift_sequence.h with the probability
 * of each case's own record as its forecast. Pure; any thread.
 *
 * A probability says how often, so nothing has to be learnt before it can be tested. The test looks at the
 * latest CLAIMS_MAX claims of a source, in the order of the times at which they were scored, whatever order
 * their labels came in. What it says follows from these claims and from where it began: a change that is
 * found, or that is over, moves that place behind the case that told. So nothing of it depends on when it was
 * looked at but that place, and late labels of cases before it play no part.
 *
 * Labels that come late fill gaps in what was looked at before, and so the test has looked at more than one
 * order of the same cases: simulation shows up to three times the false alarms, for labels that come up to
 * 2000 cases late, or partition after partition. CLAIMS_MARGIN makes up for that; where labels come in order
 * there are fewer than are set.
 *
 * A new version of the model goes on with the sums of the one before: every version claims the same, how
 * often answers are right. What was found is not lost where models are replaced often; a version that is
 * right again takes the sums down, and ends an open change, as fast as the one before has raised them.
 */
#pragma once

#include "calibration/statistics/drift_sequence.h"

/* Of a source; looked at, and kept. */
#define CLAIMS_MAX    1000
#define CLAIMS_MARGIN 3

/* A case by its record; in the order of times. */
struct claim_place {
	int64_t scored_at_ms;
	int64_t partition;
	int64_t offset;
};

struct claim {
	struct claim_place place;
	double probability; /* 0..1 */
	bool correct;
};

/* What is kept between two looks. */
struct claims_sequence {
	bool open;
	enum drift_direction direction; /* of the open change, or of the last one; likewise below */
	int64_t since_ms;
	struct claim_place after; /* the test goes on behind this case */
};

/* Nothing was seen. */
#define CLAIMS_SEQUENCE_INIT                                                                                 \
	{                                                                                                    \
		.after = {.scored_at_ms = -1 }                                                               \
	}

/* Negative, 0 or positive, as a is before, at or behind b. */
int claims_sequence_compare(const struct claim_place *a, const struct claim_place *b);

struct claims_look {
	bool found;		      /* a change that was not there before; it may be over already */
	bool moved;		      /* the sequence is another one than before */
	struct drift_stretch stretch; /* of the change; without cases where none was ever found */
};

/* The threshold for that many false alarms in 10,000 cases, in (0, 100]. */
double claims_sequence_threshold(double false_alarms_per_10k);

/* Looks at the claims, which are in the order of their places. Without any claim nothing is open. */
struct claims_look claims_sequence_look(struct claims_sequence *sequence, double threshold,
					const struct claim *claims, size_t count);
