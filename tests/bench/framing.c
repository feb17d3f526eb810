/*
 * What it costs to read an event in Confluent's framing instead of single-object encoding, among thousands of
 * schemas that a registry named.
 *
 *     bench_framing FILE [ROUNDS]
 *
 * FILE has a GeneratedQuery in JSON on its first line. The three framings (the two of Confluent by id and by
 * GUID) take turns in one run. Prints medians of CPU time of decoding. Exit status 1 when one of Confluent's
 * needs more than 2 % over single-object encoding and 1 µs; an event takes 50 to 100 µs in all.
 */
#include "avro/codec.h"
#include "tests/bench/samples.h"

#include <string.h>

enum { ROUNDS = 41, REPEATS = 2000, NAMES = 4096, FRAMINGS = 3 };

static void must(err_t err, const struct err_detail *detail)
{
	if (!err)
		return;
	fprintf(stderr, "bench_framing: %s\n", err_message(err, detail));
	exit(1);
}

static int64_t decode_ns(const struct codec *codec, str_t header, str_t message)
{
	int64_t start_ns = cpu_ns();
	for (int i = 0; i < REPEATS; i++) {
		struct err_detail detail = { "" };
		struct generated_query *query;
		struct arena *arena = arena_new();
		must(codec_decode_query_headed(codec, header, message.ptr, message.len, arena, &query,
					       &detail),
		     &detail);
		arena_free(arena);
	}
	return (cpu_ns() - start_ns) / REPEATS;
}

static void learn(struct codec *codec, struct schema_name *guid)
{
	struct err_detail detail = { "" };
	for (uint32_t i = 1; i <= NAMES; i++) {
		const struct schema_name id = { .id = i * 7 };
		must(codec_learn_named(codec, &id, builtin_schema(RECORD_QUERY), &detail), &detail);
	}
	*guid = (struct schema_name){ .by_guid = true, .guid = "0123456789abcde" };
	must(codec_learn_named(codec, guid, builtin_schema(RECORD_QUERY), &detail), &detail);
}

int main(int argc, char **argv)
{
	static const char *const names[FRAMINGS] = { "single object", "prefix", "header" };
	const struct codec_options options = { .max_named = NAMES + 1 };
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : ROUNDS;
	struct samples samples[FRAMINGS] = { 0 };
	struct sample_summary summaries[FRAMINGS];
	struct buf single = BUF_INIT, prefix = BUF_INIT, header = BUF_INIT;
	struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct generated_query *query;
	struct codec *codec;
	struct schema_name guid;
	char *line = NULL;
	size_t size = 0;
	FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
	if (!file || getline(&line, &size, file) < 0) {
		fprintf(stderr, "usage: bench_framing FILE [ROUNDS]\n");
		return 64;
	}
	must(codec_new(&options, &codec, &detail), &detail);
	must(codec_decode_query(codec, line, strlen(line), arena, &query, &detail), &detail);
	must(codec_encode_query(codec, query, &single), &detail);
	learn(codec, &guid);
	framing_write_confluent(7 * (NAMES / 2), &prefix);
	buf_append(&prefix, single.data + 10, single.len - 10);
	buf_append_char(&header, 1);
	buf_append(&header, guid.guid, sizeof guid.guid);
	for (int i = 0; i < rounds; i++) {
		samples_add(&samples[0], decode_ns(codec, STR_NONE, buf_str(&single)));
		samples_add(&samples[1], decode_ns(codec, STR_NONE, buf_str(&prefix)));
		samples_add(&samples[2],
			    decode_ns(codec, buf_str(&header), (str_t){ single.data + 10, single.len - 10 }));
	}
	bool quick = true;
	for (int i = 0; i < FRAMINGS; i++) {
		summaries[i] = samples_summary(&samples[i]);
		printf("%-14s %7.3f us, %6.3f of single object\n", names[i], summaries[i].median_us,
		       summaries[i].median_us / summaries[0].median_us);
		quick &= summaries[i].median_us <= summaries[0].median_us * 1.02 + 1;
	}
	return !quick;
}
