/*
 * How long the JSON of one event takes: reading a GeneratedQuery, writing its ScoredQuery, and reading that
 * again, as the calibrator does.
 *
 *     bench_json FILE [ROUNDS]
 *
 * FILE has a GeneratedQuery and a ScoredQuery, one a line (what goes into `assayd score` and comes out of
 * it). Both ways of reading take turns in one run: in one pass, as messages are read, and through a tree of
 * jansson's, as what persons type is. Prints medians of CPU time and their ratio. Exit status 1 when one pass
 * needs more than half of the tree's time.
 */
#include "avro/json_quick.h"
#include "tests/bench/samples.h"

enum { ROUNDS = 21, REPEATS = 500 };

static const struct json_limits limits = { 100000, JSON_BY_PROGRAM };

static int64_t read_ns(const struct record_type *type, str_t json, bool quickly)
{
	int64_t start_ns = cpu_ns();
	for (int i = 0; i < REPEATS; i++) {
		struct err_detail detail = { "" };
		struct arena *arena = arena_new();
		void *record = arena_alloc(arena, type->size_bytes);
		fields_init(type, record);
		if (quickly ? !json_read_quickly(type, json, &limits, arena, record)
			    : json_read_slowly(type, json, &limits, arena, record, &detail) != ERR_OK) {
			fprintf(stderr, "bench_json: %s is not read: %s\n", type->name, detail.message);
			exit(1);
		}
		arena_free(arena);
	}
	return (cpu_ns() - start_ns) / REPEATS;
}

static int64_t write_ns(const struct record_type *type, str_t json)
{
	struct arena *arena = arena_new();
	struct buf out = BUF_INIT;
	void *record = arena_alloc(arena, type->size_bytes);
	fields_init(type, record);
	if (!json_read_quickly(type, json, &limits, arena, record))
		exit(1);
	int64_t start_ns = cpu_ns();
	for (int i = 0; i < REPEATS; i++) {
		buf_reset(&out);
		json_write(type, record, &out);
	}
	int64_t ns = (cpu_ns() - start_ns) / REPEATS;
	buf_free(&out);
	arena_free(arena);
	return ns;
}

/* Both ways in turn; whether one pass is quick enough. */
static bool compare(const struct record_type *type, str_t json, int rounds)
{
	struct samples quick = { 0 }, slow = { 0 }, written = { 0 };
	for (int i = 0; i < rounds; i++) {
		samples_add(&quick, read_ns(type, json, true));
		samples_add(&slow, read_ns(type, json, false));
		samples_add(&written, write_ns(type, json));
	}
	double one_pass = samples_summary(&quick).median_us, tree = samples_summary(&slow).median_us;
	printf("%-16s %6zu bytes: read in one pass %6.2f us, through a tree %6.2f us (%.2f), written %6.2f "
	       "us\n",
	       type->name, json.len, one_pass, tree, one_pass / tree, samples_summary(&written).median_us);
	free(quick.ns);
	free(slow.ns);
	free(written.ns);
	return one_pass <= tree / 2;
}

int main(int argc, char **argv)
{
	static const struct record_type *const types[] = { &GENERATED_QUERY_RECORD, &SCORED_QUERY_RECORD };
	char *line = NULL;
	size_t size = 0;
	bool quick = true;
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : ROUNDS;
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!file || rounds < 1 || rounds > ROUNDS) {
		fprintf(stderr, "usage: bench_json FILE [ROUNDS up to %d]\n", ROUNDS);
		return 64;
	}
	for (size_t i = 0; i < 2; i++) {
		ssize_t len = getline(&line, &size, file);
		if (len > 0)
			quick &= compare(types[i], (str_t){ line, (size_t)len }, rounds);
	}
	free(line);
	fclose(file);
	return quick ? 0 : 1;
}
