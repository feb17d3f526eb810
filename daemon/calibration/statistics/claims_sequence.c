#include "calibration/statistics/claims_sequence.h"

double claims_sequence_threshold(double false_alarms_per_10k)
{
	return drift_sequence_threshold(false_alarms_per_10k / CLAIMS_MARGIN);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int claims_sequence_compare(const struct claim_place *a, const struct claim_place *b)
{
	int order = compare_numbers(a->scored_at_ms, b->scored_at_ms);
	if (!order)
		order = compare_numbers(a->partition, b->partition);
	return order ? order : compare_numbers(a->offset, b->offset);
}

/* Of the claims since the change; of one that is over, up to its end. */
static struct drift_stretch stretch_of(const struct claims_sequence *sequence, const struct claim *claims,
				       size_t count)
{
	struct drift_stretch stretch = { .direction = sequence->direction, .since_ms = sequence->since_ms };
	for (size_t i = 0; i < count; i++) {
		const struct claim *claim = &claims[i];
		if (claim->place.scored_at_ms < sequence->since_ms ||
		    (!sequence->open && claims_sequence_compare(&claim->place, &sequence->after) > 0))
			continue;
		stretch.cases++;
		stretch.residual += claim->correct - claim->probability;
	}
	return stretch;
}

struct claims_look claims_sequence_look(struct claims_sequence *sequence, double threshold,
					const struct claim *claims, size_t count)
{
	struct claims_look look = { 0 };
	struct drift_sequence drift = { .open = sequence->open,
					.stretch = { .direction = sequence->direction } };
	for (size_t i = 0; i < count; i++) {
		const struct claim *claim = &claims[i];
		if (claims_sequence_compare(&claim->place, &sequence->after) <= 0)
			continue;
		enum sequence_change change = drift_sequence_add(&drift, threshold, claim->probability,
								 claim->correct, claim->place.scored_at_ms);
		if (change == SEQUENCE_STAYS)
			continue;
		look.found |= change == SEQUENCE_OPENS;
		look.moved = true;
		if (change == SEQUENCE_OPENS) {
			sequence->direction = drift.stretch.direction;
			sequence->since_ms = drift.stretch.since_ms;
		}
		sequence->open = drift.open;
		sequence->after = claim->place;
	}
	look.stretch = stretch_of(sequence, claims, count);
	if (sequence->open && look.stretch.cases == 0) {
		sequence->open = false;
		look.moved = true;
	}
	return look;
}
