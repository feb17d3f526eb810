/*
 * How long the Avro of one event takes: decoding its GeneratedQuery and encoding its ScoredQuery, by our own
 * codec and by avro-c, in turns in one run.
 *
 *     bench_avro FILE [ROUNDS]
 *
 * FILE has a GeneratedQuery and a ScoredQuery as JSON, one a line (what goes into `assayd score` and comes
 * out of it). avro-c reads into values that are used again and again, behind the same bounds check as our own
 * plan; what it read is bound to our structs by index, without any resolution: a floor of what it would cost.
 * Both must give the same record and the same bytes. Prints medians of CPU time. Our own path is worth
 * keeping while the difference of both together is more than 5 % of what an event takes, which is 45 to 77
 * us.
 */
#include "avro/bounds.h"
#include "avro/builtin.h"
#include "avro/encode.h"
#include "avro/json_quick.h"
#include "avro/plan.h"
#include "tests/bench/samples.h"

#include <avro.h>

enum { ROUNDS = 21, REPEATS = 500, OUTPUT_MAX = 1 << 20 };

static const struct json_limits json_limits = { 100000, JSON_BY_PROGRAM };
static const struct bounds_limits limits = { BOUNDS_MAX_ITEMS, BOUNDS_MAX_DEPTH };

struct bench {
	const struct record_type *type;
	struct schema *schema;
	struct arena *plans;
	const struct plan *plan;
	avro_schema_t foreign;
	avro_value_iface_t *interface;
	avro_value_t value; /* used again and again */
	avro_reader_t reader;
	avro_writer_t writer;
	char *output;
	struct arena *arena; /* of the record and its bytes */
	void *record;
	struct buf bytes;
};

static void must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "bench_avro: %s: %s\n", what, avro_strerror());
	exit(1);
}

/* ---- values of avro-c to structs ---- */

static void bind_record(const struct record_type *type, avro_value_t *value, struct arena *arena,
			void *record);

static void bind_text(avro_value_t *value, struct arena *arena, str_t *ret_text)
{
	const char *text;
	size_t size; /* with the NUL */
	must(avro_value_get_string(value, &text, &size) == 0, "a string");
	*ret_text = arena_text(arena, text, size - 1);
}

static void bind_field(const struct field *field, avro_value_t *value, struct arena *arena, void *record)
{
	avro_value_t branch;
	int number;
	int64_t whole;
	double real;
	if (field_nullable(field)) {
		must(avro_value_get_discriminant(value, &number) == 0, "a union");
		if (number == 0)
			return; /* the struct is at its defaults */
		must(avro_value_get_current_branch(value, &branch) == 0, "a branch");
		value = &branch;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		must(avro_value_get_boolean(value, &number) == 0, "a boolean");
		field_set_bool(field, record, number != 0);
		break;
	case FIELD_LONG:
	case FIELD_TIME:
		must(avro_value_get_long(value, &whole) == 0, "a long");
		field_set_long(field, record, whole);
		break;
	case FIELD_DOUBLE:
		must(avro_value_get_double(value, &real) == 0, "a double");
		field_set_double(field, record, real);
		break;
	case FIELD_TEXT:
		bind_text(value, arena, field_at(field, record));
		break;
	case FIELD_ENUM:
		must(avro_value_get_enum(value, &number) == 0, "an enum");
		*(int *)field_at(field, record) = number;
		break;
	case FIELD_RECORD:
		bind_record(field->record, value, arena, field_make_record(field, record, arena));
		break;
	case FIELD_ARRAY:
	case FIELD_MAP: {
		struct field_items items = { NULL, 0 };
		must(avro_value_get_size(value, &items.count) == 0, "items");
		items.data = arena_calloc(arena, items.count, field->item_size_bytes);
		for (size_t i = 0; i < items.count; i++) {
			avro_value_t content;
			const char *key = NULL;
			char *item = items.data + i * field->item_size_bytes;
			must(avro_value_get_by_index(value, i, &content, &key) == 0, "an item");
			if (field->kind == FIELD_MAP)
				*(str_t *)(void *)item = arena_text(arena, key, strlen(key));
			bind_field(field->item, &content, arena, item);
		}
		field_set_items(field, record, items);
	}
	}
}

static void bind_record(const struct record_type *type, avro_value_t *value, struct arena *arena,
			void *record)
{
	for (size_t i = 0; i < type->count; i++) {
		avro_value_t child;
		must(avro_value_get_by_index(value, i, &child, NULL) == 0, "a field");
		bind_field(&type->fields[i], &child, arena, record);
	}
}

/* ---- structs to values of avro-c ---- */

static void fill_record(const struct record_type *type, avro_value_t *value, const void *record);

static void fill_field(const struct field *field, avro_value_t *value, const void *record)
{
	avro_value_t branch;
	if (field_nullable(field)) {
		bool present = field_present(field, record);
		must(avro_value_set_branch(value, present, &branch) == 0, "a branch");
		if (!present)
			return;
		value = &branch;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		avro_value_set_boolean(value, field_bool(field, record));
		break;
	case FIELD_LONG:
	case FIELD_TIME:
		avro_value_set_long(value, field_long(field, record));
		break;
	case FIELD_DOUBLE:
		avro_value_set_double(value, field_double(field, record));
		break;
	case FIELD_TEXT: {
		const str_t *text = field_in(field, record);
		avro_value_set_string_len(value, text->ptr, text->len + 1);
		break;
	}
	case FIELD_ENUM:
		avro_value_set_enum(value, *(const int *)field_in(field, record));
		break;
	case FIELD_RECORD:
		fill_record(field->record, value, field_record(field, record));
		break;
	case FIELD_ARRAY:
	case FIELD_MAP: {
		struct field_items items = field_items(field, record);
		for (size_t i = 0; i < items.count; i++) {
			avro_value_t content;
			const char *item = items.data + i * field->item_size_bytes;
			if (field->kind == FIELD_MAP)
				avro_value_add(value, ((const str_t *)(const void *)item)->ptr, &content,
					       NULL, NULL);
			else
				avro_value_append(value, &content, NULL);
			fill_field(field->item, &content, item);
		}
	}
	}
}

static void fill_record(const struct record_type *type, avro_value_t *value, const void *record)
{
	for (size_t i = 0; i < type->count; i++) {
		avro_value_t child;
		must(avro_value_get_by_index(value, i, &child, NULL) == 0, "a field");
		fill_field(&type->fields[i], &child, record);
	}
}

/* ---- both ways ---- */

static void *decode_ours(const struct bench *bench, struct arena *arena)
{
	void *record = arena_alloc(arena, bench->type->size_bytes);
	fields_init(bench->type, record);
	must(bounds_check(bench->schema->root, bench->bytes.data, bench->bytes.len, &limits, NULL) ==
			     ERR_OK &&
		     plan_decode(bench->plan, buf_str(&bench->bytes), &limits, arena, record, NULL) == ERR_OK,
	     "our own decoding");
	return record;
}

static void *decode_foreign(struct bench *bench, struct arena *arena)
{
	void *record = arena_alloc(arena, bench->type->size_bytes);
	fields_init(bench->type, record);
	must(bounds_check(bench->schema->root, bench->bytes.data, bench->bytes.len, &limits, NULL) == ERR_OK,
	     "the bounds check");
	avro_reader_memory_set_source(bench->reader, bench->bytes.data, (int64_t)bench->bytes.len);
	must(avro_value_read(bench->reader, &bench->value) == 0, "avro_value_read");
	bind_record(bench->type, &bench->value, arena, record);
	return record;
}

static void encode_foreign(struct bench *bench, const void *record, struct buf *out)
{
	avro_value_reset(&bench->value);
	fill_record(bench->type, &bench->value, record);
	avro_writer_memory_set_dest(bench->writer, bench->output, OUTPUT_MAX);
	must(avro_value_write(bench->writer, &bench->value) == 0, "avro_value_write");
	buf_append(out, bench->output, (size_t)avro_writer_tell(bench->writer));
}

static int64_t decode_ns(struct bench *bench, bool ours)
{
	int64_t start_ns = cpu_ns();
	for (int i = 0; i < REPEATS; i++) {
		struct arena *arena = arena_new();
		if (ours)
			decode_ours(bench, arena);
		else
			decode_foreign(bench, arena);
		arena_free(arena);
	}
	return (cpu_ns() - start_ns) / REPEATS;
}

static int64_t encode_ns(struct bench *bench, bool ours)
{
	struct buf out = BUF_INIT;
	int64_t start_ns = cpu_ns();
	for (int i = 0; i < REPEATS; i++) {
		buf_reset(&out);
		if (ours)
			must(encode_record(bench->type, bench->record, &out) == ERR_OK, "our own encoding");
		else
			encode_foreign(bench, bench->record, &out);
	}
	int64_t ns = (cpu_ns() - start_ns) / REPEATS;
	buf_free(&out);
	return ns;
}

/* Both have read the same, and write the same. */
static void check_same(struct bench *bench)
{
	struct buf one = BUF_INIT, other = BUF_INIT;
	struct arena *arena = arena_new();
	json_write(bench->type, decode_ours(bench, arena), &one);
	json_write(bench->type, decode_foreign(bench, arena), &other);
	must(one.len == other.len && memcmp(one.data, other.data, one.len) == 0, "not the same record");
	buf_reset(&other);
	encode_foreign(bench, bench->record, &other);
	must(other.len == bench->bytes.len, "not the same bytes");
	buf_free(&one);
	buf_free(&other);
	arena_free(arena);
}

static void prepare(struct bench *bench, enum record_id id, str_t json)
{
	str_t text = builtin_schema(id);
	*bench = (struct bench){ .type = builtin_record(id), .plans = arena_new(), .arena = arena_new() };
	bench->record = arena_alloc(bench->arena, bench->type->size_bytes);
	fields_init(bench->type, bench->record);
	must(json_read_quickly(bench->type, json, &json_limits, bench->arena, bench->record),
	     "the JSON is not read");
	must(encode_record(bench->type, bench->record, &bench->bytes) == ERR_OK, "our own encoding");
	must(schema_parse(text, &bench->schema, NULL) == ERR_OK &&
		     plan_make(bench->schema, bench->schema, bench->type, bench->plans, &bench->plan, NULL) ==
			     ERR_OK,
	     "our own plan");
	must(avro_schema_from_json_length(text.ptr, text.len, &bench->foreign) == 0, "the schema");
	bench->interface = avro_generic_class_from_schema(bench->foreign);
	must(avro_generic_value_new(bench->interface, &bench->value) == 0, "a value");
	bench->output = malloc(OUTPUT_MAX);
	bench->reader = avro_reader_memory(bench->bytes.data, (int64_t)bench->bytes.len);
	bench->writer = avro_writer_memory(bench->output, OUTPUT_MAX);
	must(bench->output && bench->reader && bench->writer, "memory");
}

static void finish(struct bench *bench)
{
	avro_reader_free(bench->reader);
	avro_writer_free(bench->writer);
	avro_value_decref(&bench->value);
	avro_value_iface_decref(bench->interface);
	avro_schema_decref(bench->foreign);
	schema_free(bench->schema);
	arena_free(bench->plans);
	arena_free(bench->arena);
	buf_free(&bench->bytes);
	free(bench->output);
}

/* How many microseconds avro-c takes more. */
static double compare(struct bench *bench, const char *what, int64_t (*ns_of)(struct bench *, bool),
		      int rounds)
{
	struct samples ours = { 0 }, foreign = { 0 };
	for (int i = 0; i < rounds; i++) {
		samples_add(&ours, ns_of(bench, true));
		samples_add(&foreign, ns_of(bench, false));
	}
	double one = samples_summary(&ours).median_us, other = samples_summary(&foreign).median_us;
	printf("%-14s %6zu bytes %s: ours %6.2f us, avro-c %6.2f us\n", bench->type->name, bench->bytes.len,
	       what, one, other);
	free(ours.ns);
	free(foreign.ns);
	return other - one;
}

int main(int argc, char **argv)
{
	static const enum record_id ids[] = { RECORD_QUERY, RECORD_SCORED };
	char *line = NULL;
	size_t size = 0;
	double event_us = 0;
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : ROUNDS;
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!file || rounds < 1) {
		fputs("usage: bench_avro FILE [ROUNDS]\n", stderr);
		return 64;
	}
	for (size_t i = 0; i < 2; i++) {
		struct bench bench;
		ssize_t len = getline(&line, &size, file);
		if (len <= 0)
			return 64;
		prepare(&bench, ids[i], (str_t){ line, (size_t)len });
		check_same(&bench);
		double decode_us = compare(&bench, "decoded", decode_ns, rounds);
		double encode_us = compare(&bench, "encoded", encode_ns, rounds);
		event_us += ids[i] == RECORD_QUERY ? decode_us : encode_us;
		finish(&bench);
	}
	printf("avro-c takes %.2f us of an event more: %.0f %% of 77 us, %.0f %% of 45 us\n", event_us,
	       event_us / 77 * 100, event_us / 45 * 100);
	free(line);
	fclose(file);
	return 0;
}
