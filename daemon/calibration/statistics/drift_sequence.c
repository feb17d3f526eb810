#include "calibration/statistics/drift_sequence.h"

#include <math.h>

double drift_sequence_threshold(double false_alarms_per_10k)
{
	return cusum_threshold(DRIFT_SHIFT, 2 * 1e4 / false_alarms_per_10k); /* two sides alarm */
}

double drift_stretch_size(const struct drift_stretch *stretch)
{
	return stretch->residual / (double)stretch->cases;
}

static enum cusum_side side_of(enum drift_direction direction)
{
	return direction == DRIFT_OVERCONFIDENT ? CUSUM_LOWER : CUSUM_HIGHER;
}

static enum sequence_change look_for_change(struct drift_sequence *sequence, double threshold)
{
	for (enum drift_direction direction = DRIFT_OVERCONFIDENT; direction <= DRIFT_UNDERCONFIDENT;
	     direction++) {
		const struct cusum_sum *sum = &sequence->cusum.sides[side_of(direction)];
		if (sum->value < threshold)
			continue;
		*sequence = (struct drift_sequence){
			.open = true,
			.stretch = { direction, sum->since_ms, sum->cases, sum->residual },
		};
		return SEQUENCE_OPENS;
	}
	return SEQUENCE_STAYS;
}

static enum sequence_change look_for_return(struct drift_sequence *sequence, double threshold,
					    double forecast, bool correct)
{
	enum cusum_side side = side_of(sequence->stretch.direction);
	sequence->stretch.cases++;
	sequence->stretch.residual += correct - forecast;
	sequence->back = fmax(0, sequence->back - cusum_evidence(side, DRIFT_SHIFT, forecast, correct));
	if (sequence->back < threshold)
		return SEQUENCE_STAYS;
	*sequence = (struct drift_sequence){ .stretch = sequence->stretch };
	return SEQUENCE_CLOSES;
}

enum sequence_change drift_sequence_add(struct drift_sequence *sequence, double threshold, double forecast,
					bool correct, int64_t time_ms)
{
	if (!(forecast >= 0 && forecast <= 1))
		return SEQUENCE_STAYS;
	if (sequence->open)
		return look_for_return(sequence, threshold, forecast, correct);
	cusum_add(&sequence->cusum, DRIFT_SHIFT, forecast, correct, time_ms);
	return look_for_change(sequence, threshold);
}
