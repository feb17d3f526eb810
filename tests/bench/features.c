/*
 * What the features of an answer cost, over all answers of the corpus `bird` (ASSAYD_CORPORA, or
 * ../shared/corpora; without it nothing is measured):
 *
 *     bench_features [ROUNDS]
 *
 * Prints the mean CPU time of one event in the quietest and in the median round, and the 99th percentile.
 * Exit status 1 when the mean of the quietest round is more than 10 us.
 */
#include "tests/bench/samples.h"
#include "tests/harness/fixtures/labelled.h"

enum { ROUNDS = 11 };

static const double LIMIT_US = 10;

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;
	size_t count;
	struct arena *arena = arena_new();
	struct labelled *items = labelled_read(arena, &count);
	if (!items) {
		printf("bench_features: skipped: no corpus bird in %s\n", labelled_folder());
		arena_free(arena);
		return 0;
	}
	struct samples means = { 0 }, all = { 0 };
	double values[FEATURE_COUNT_];
	for (int round = 0; round < rounds; round++) {
		int64_t start_ns = cpu_ns();
		for (size_t i = 0; i < count; i++)
			features_fill(&items[i].input, values);
		samples_add(&means, (cpu_ns() - start_ns) / (int64_t)count);
	}
	for (size_t i = 0; i < count; i++) {
		int64_t start_ns = cpu_ns();
		features_fill(&items[i].input, values);
		samples_add(&all, cpu_ns() - start_ns);
	}
	struct sample_summary each = samples_summary(&all), middle = samples_summary(&means);
	double mean_us = (double)means.ns[0] / 1e3;
	printf("%zu answers, %d rounds: mean %.2f us (limit %.0f us), in the median round %.2f us, 99%% %.2f "
	       "us\n",
	       count, rounds, mean_us, LIMIT_US, middle.median_us, each.p99_us);
	free(means.ns);
	free(all.ns);
	arena_free(arena);
	return mean_us <= LIMIT_US ? 0 : 1;
}
