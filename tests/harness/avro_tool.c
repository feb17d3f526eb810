/*
 * Reads one message or text on standard input and writes what the codec makes of it, for tests that speak to
 * it through other implementations of Avro.
 *
 *   avro_tool decode query|scored|advisory [schema directory]   message → JSON
 *   avro_tool encode query|scored|advisory [schema directory]   JSON → single-object message
 *   avro_tool lenient query                                     a person's JSON → JSON, at the time 0
 *   avro_tool canonical | fingerprint                           schema → canonical form, or 16 hex digits
 *   avro_tool measure query|scored COUNT                        message → µs to decode and to encode
 *
 * An error ends it with the error's exit status and "name: message" on standard error.
 */
#include "avro/canonical.h"
#include "avro/codec.h"
#include "common/clock.h"

#define INPUT_MAX ((size_t)64 << 20)

static int fail(err_t err, const struct err_detail *detail)
{
	fprintf(stderr, "%s: %s\n", err_name(err), err_message(err, detail));
	return err_exit_status(err);
}

static void read_input(struct buf *input)
{
	for (;;) {
		size_t got = fread(buf_reserve(input, 65536), 1, 65536, stdin);
		input->len += got;
		input->data[input->len] = '\0';
		if (got == 0 || input->len > INPUT_MAX)
			return;
	}
}

/* One record in whatever format it comes, out as JSON or in the codec's format. */
static err_t convert(const struct codec *codec, const char *kind, bool as_json, const struct buf *input,
		     struct arena *arena, struct buf *out, struct err_detail *detail)
{
	struct generated_query *query;
	struct scored_query *scored;
	struct advisory *advisory;
	err_t err;
	if (strcmp(kind, "query") == 0) {
		err = codec_decode_query(codec, input->data, input->len, arena, &query, detail);
		if (!err && as_json)
			codec_json_query(query, out);
		return err || as_json ? err : codec_encode_query(codec, query, out);
	}
	if (strcmp(kind, "scored") == 0) {
		err = codec_decode_scored(codec, input->data, input->len, arena, &scored, detail);
		if (!err && as_json)
			codec_json_scored(scored, out);
		return err || as_json ? err : codec_encode_scored(codec, scored, out);
	}
	err = codec_decode_advisory(codec, input->data, input->len, arena, &advisory, detail);
	if (!err && as_json)
		codec_json_advisory(advisory, out);
	return err || as_json ? err : codec_encode_advisory(codec, advisory, out);
}

static err_t run_lenient(const struct codec *codec, const struct buf *input, struct arena *arena,
			 struct buf *out, struct err_detail *detail)
{
	struct generated_query *query;
	err_t err = codec_decode_query_json_lenient(codec, buf_str(input), 0, arena, &query, detail);
	if (!err)
		codec_json_query(query, out);
	return err;
}

static int run_schema(const char *command, const struct buf *input)
{
	struct err_detail detail = { "" };
	struct schema *schema;
	err_t err = schema_parse(buf_str(input), &schema, &detail);
	if (err)
		return fail(err, &detail);
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	if (strcmp(command, "fingerprint") == 0)
		buf_printf(&text, "%016llx", (unsigned long long)canonical_fingerprint(schema));
	else
		canonical_form(schema, &text);
	schema_free(schema);
	fwrite(text.data, 1, text.len, stdout);
	return 0;
}

static err_t run_measure(const struct codec *codec, const char *kind, int count, const struct buf *input,
			 struct buf *out, struct err_detail *detail)
{
	int64_t both_us[2];
	for (int with_encode = 0; with_encode < 2; with_encode++) {
		int64_t start_us = clock_monotonic_us();
		for (int i = 0; i < count; i++) {
			_cleanup_(arena_cleanup) struct arena *arena = arena_new();
			struct generated_query *query;
			struct scored_query *scored;
			bool is_query = strcmp(kind, "query") == 0;
			err_t err = is_query ? codec_decode_query(codec, input->data, input->len, arena,
								  &query, detail)
					     : codec_decode_scored(codec, input->data, input->len, arena,
								   &scored, detail);
			buf_reset(out);
			if (!err && with_encode)
				err = is_query ? codec_encode_query(codec, query, out)
					       : codec_encode_scored(codec, scored, out);
			if (err)
				return err;
		}
		both_us[with_encode] = clock_monotonic_us() - start_us;
	}
	buf_reset(out);
	buf_printf(out, "bytes %zu decode_us %.2f encode_us %.2f", input->len, (double)both_us[0] / count,
		   (double)(both_us[1] - both_us[0]) / count);
	return ERR_OK;
}

static err_t run(int argc, char **argv, const struct buf *input, struct buf *out, struct err_detail *detail)
{
	const char *command = argv[1], *kind = argc > 2 ? argv[2] : "query";
	bool measure = strcmp(command, "measure") == 0;
	struct codec_options options = { .output = WIRE_SINGLE_OBJECT,
					 .schema_directory = argc > 3 && !measure ? argv[3] : NULL };
	struct codec *codec;
	err_t err = codec_new(&options, &codec, detail);
	if (err)
		return err;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	if (measure)
		err = run_measure(codec, kind, (int)strtol(argc > 3 ? argv[3] : "100000", NULL, 10), input,
				  out, detail);
	else if (strcmp(command, "lenient") == 0)
		err = run_lenient(codec, input, arena, out, detail);
	else
		err = convert(codec, kind, strcmp(command, "decode") == 0, input, arena, out, detail);
	codec_free(codec);
	return err;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: avro_tool decode|encode|lenient|canonical|fingerprint|measure [record] …\n",
		      stderr);
		return 64;
	}
	_cleanup_(buf_free) struct buf input = BUF_INIT;
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	struct err_detail detail = { "" };
	read_input(&input);
	if (strcmp(argv[1], "canonical") == 0 || strcmp(argv[1], "fingerprint") == 0)
		return run_schema(argv[1], &input);
	err_t err = run(argc, argv, &input, &out, &detail);
	if (err)
		return fail(err, &detail);
	fwrite(out.data, 1, out.len, stdout);
	return 0;
}
