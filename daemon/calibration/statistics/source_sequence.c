#include "calibration/statistics/source_sequence.h"

#include <math.h>

/* Cases' worth of the source's accuracy in the forecast of a bin. */
#define DRAWN 2

double source_sequence_threshold(double false_alarms_per_10k)
{
	return drift_sequence_threshold(false_alarms_per_10k / SOURCE_MARGIN);
}

static int64_t sum(const int64_t counts[SOURCE_BINS])
{
	int64_t total = 0;
	for (int i = 0; i < SOURCE_BINS; i++)
		total += counts[i];
	return total;
}

static void learn(struct source_past *past, int bin, bool correct)
{
	past->cases[bin]++;
	past->correct[bin] += correct;
}

double source_sequence_forecast(const struct source_sequence *sequence, int bin)
{
	const struct source_past *past = &sequence->past;
	int64_t cases = sum(past->cases);
	if (cases < SOURCE_PAST_LEAST || past->cases[bin] < SOURCE_BIN_LEAST)
		return NAN;
	double accuracy = (double)(sum(past->correct) + 1) / (double)(cases + 2);
	return ((double)past->correct[bin] + DRAWN * accuracy) / (double)(past->cases[bin] + DRAWN);
}

/* The episode is over: `past` is what is expected from here on. */
static void begin_anew(struct source_sequence *sequence, struct source_past past)
{
	sequence->past = past;
	sequence->since = (struct source_past){ 0 };
	sequence->drift = (struct drift_sequence){ .stretch = sequence->drift.stretch };
}

static enum sequence_change add_to_episode(struct source_sequence *sequence, enum sequence_change change,
					   int bin, bool correct)
{
	learn(&sequence->since, bin, correct);
	if (change == SEQUENCE_CLOSES)
		begin_anew(sequence, sequence->past);
	else if (sum(sequence->since.cases) >= SOURCE_SETTLED)
		begin_anew(sequence, sequence->since);
	return sequence->drift.open ? SEQUENCE_STAYS : SEQUENCE_CLOSES;
}

enum sequence_change source_sequence_add(struct source_sequence *sequence, double threshold, int bin,
					 bool correct, int64_t time_ms)
{
	bool open = sequence->drift.open;
	enum sequence_change change = drift_sequence_add(
		&sequence->drift, threshold, source_sequence_forecast(sequence, bin), correct, time_ms);
	if (open)
		return add_to_episode(sequence, change, bin, correct);
	if (change == SEQUENCE_OPENS)
		sequence->changes++;
	else if (sum(sequence->past.cases) < SOURCE_PAST_MAX)
		learn(&sequence->past, bin, correct);
	return change;
}
