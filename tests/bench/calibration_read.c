/*
 * What the calibrator needs to read one record of the scored topic, in either wire format.
 *
 *     bench_calibration_read [RECORDS [FILE]]
 *
 * The record is the JSON text of FILE, else a full one of the project's own. Prints the CPU time of a record;
 * the two formats take turns. For comparing two builds: run them in turn, too.
 */
#include "calibration/store/cases.h"
#include "tests/bench/samples.h"

#define SEED	      ASSAYD_SOURCE_DIR "/tests/fuzz/seeds/fuzz_avro_json/scored"
#define ROUNDS	      50
#define LARGEST_BYTES 1048576

struct form {
	const char *name;
	enum wire_format format;
	struct codec *codec;
	struct buf record;
	struct samples samples; /* of a round */
};

static void check(err_t err, const struct err_detail *detail)
{
	if (!err)
		return;
	fprintf(stderr, "calibration_read: %s\n", err_message(err, detail));
	exit(1);
}

/* A seed of the fuzzer begins with a byte that chooses what it is read as. */
static void read_text(const char *path, struct buf *out)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	if (!file || getc(file) == EOF || fseek(file, path[0] && strcmp(path, SEED) == 0, SEEK_SET)) {
		fprintf(stderr, "calibration_read: %s cannot be read\n", path);
		exit(1);
	}
	out->len = fread(buf_reserve(out, LARGEST_BYTES), 1, LARGEST_BYTES, file);
}

static void encode(struct form *form, const struct buf *text)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct scored_query *scored;
	check(codec_new(&(const struct codec_options){ .output = form->format }, &form->codec, &detail),
	      &detail);
	check(codec_decode_scored(form->codec, text->data, text->len, arena, &scored, &detail), &detail);
	check(codec_encode_scored(form->codec, scored, &form->record), &detail);
}

static void run(struct form *form, long records)
{
	struct err_detail detail = { "" };
	int64_t start_ns = cpu_ns();
	for (long i = 0; i < records; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct calibration_case item;
		bool read;
		check(calibration_case_read(form->codec, form->record.data, form->record.len, arena, &item,
					    &read, &detail),
		      &detail);
	}
	samples_add(&form->samples, (cpu_ns() - start_ns) / records);
}

int main(int argc, char **argv)
{
	struct form forms[] = { { .name = "Avro", .format = WIRE_SINGLE_OBJECT },
				{ .name = "JSON", .format = WIRE_JSON } };
	long records = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	read_text(argc > 2 ? argv[2] : SEED, &text);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		encode(&forms[i], &text);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
			run(&forms[i], records / ROUNDS + 1);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		printf("%s: %.2f us of CPU a record of %zu bytes\n", forms[i].name,
		       samples_summary(&forms[i].samples).median_us, forms[i].record.len);
		buf_free(&forms[i].record);
		codec_free(forms[i].codec);
		free(forms[i].samples.ns);
	}
	return 0;
}
