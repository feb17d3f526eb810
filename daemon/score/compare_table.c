#include "score/compare_table.h"

#include "common/hash.h"
#include "score/compare_moment.h"

#include <math.h>
#include <pthread.h>

#define MODES_COUNT (COMPARE_TEXT_ARRAY + 1)

struct compare_table {
	const struct result_set *set;
	struct arena *arena;
	struct compare_values **values; /* by column and mode; NULL: not read yet */
	uint64_t **fingerprints;	/* by column */
};

/* A column while it is read. */
struct reader {
	struct compare_values *values;
	struct compare_reading reading;
	enum compare_mode mode;
	size_t rows_count;
};

/* From the process's seed, and the hashes of the exact parts that occur most. */
static struct {
	uint64_t seeds[4];
	uint64_t number, absent, yes, no;
} marks;
static pthread_once_t marks_once = PTHREAD_ONCE_INIT;

static void make_marks(void)
{
	for (size_t i = 0; i < sizeof marks.seeds / sizeof *marks.seeds; i++)
		marks.seeds[i] = hash_seeded(&i, sizeof i) | 1;
	marks.number = hash_seeded("#", 1);
	marks.absent = hash_seeded("-", 1);
	marks.yes = hash_seeded("t", 1);
	marks.no = hash_seeded("f", 1);
}

/* Different words have different results. */
static inline uint64_t scatter(uint64_t word)
{
	word = (word ^ marks.seeds[2]) * marks.seeds[3];
	word = (word ^ (word >> 32)) * 0xff51afd7ed558ccdu;
	word = (word ^ (word >> 29)) * 0xc4ceb9fe1a85ec53u;
	return word ^ (word >> 32);
}

uint64_t compare_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ marks.seeds[0]) * (b ^ marks.seeds[1]);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

bool compare_is_number(uint64_t exact)
{
	return exact == marks.number;
}

static void put_number(struct reader *reader, size_t row, double number)
{
	struct compare_values *values = reader->values;
	if (!values->numbers)
		values->numbers = ARENA_ARRAY(reader->reading.arena, double, reader->rows_count);
	values->exact[row] = marks.number;
	values->numbers[row] = number;
	values->plain = false;
}

static void put_list(struct reader *reader, size_t row)
{
	struct compare_values *values = reader->values;
	const struct compare_reading *reading = &reader->reading;
	double *copy = ARENA_ARRAY(reading->arena, double, reading->numbers_count);
	memcpy(copy, reading->numbers, reading->numbers_count * sizeof *copy);
	if (!values->lists)
		values->lists = ARENA_ARRAY(reading->arena, struct compare_numbers, reader->rows_count);
	values->lists[row] = (struct compare_numbers){ copy, reading->numbers_count };
}

/* Whatever the mode: as compare_read does it. */
static void read_slowly(struct reader *reader, size_t row, str_t text)
{
	struct compare_reading *reading = &reader->reading;
	compare_reading_reset(reading);
	compare_read(reading, reader->mode, text);
	reader->values->exact[row] = hash_seeded(reading->exact.data, reading->exact.len);
	reader->values->plain = false;
	if (reading->numbers_count == 1 && compare_is_number(reader->values->exact[row]))
		put_number(reader, row, reading->numbers[0]);
	else if (reading->numbers_count > 0)
		put_list(reader, row);
}

/* A moment, or else a text. */
static void read_textual(struct reader *reader, size_t row, str_t text)
{
	int64_t us;
	bool may_be_moment = text.len >= 10 && text.ptr[0] <= '9' && text.ptr[0] >= '0';
	reader->values->exact[row] = may_be_moment && compare_parse_moment(text, &us)
					     ? scatter((uint64_t)us)
					     : compare_mix(hash_seeded(text.ptr, text.len), text.len);
}

static void read_loosely(struct reader *reader, size_t row, str_t text, bool guessed)
{
	double number;
	if (compare_number_simple(text, &number) && (!guessed || compare_number_plain(text))) {
		put_number(reader, row, number);
		return;
	}
	enum compare_number kind = compare_number_of(text);
	if (kind == COMPARE_NUMBER_NONE ||
	    (guessed && kind == COMPARE_NUMBER_FINITE && !compare_number_plain(text)))
		read_textual(reader, row, text);
	else
		read_slowly(reader, row, text);
}

/* Whole numbers of moderate length are told apart by themselves, others by their exact form. */
static void read_whole(struct reader *reader, size_t row, str_t text)
{
	int64_t number;
	if (compare_number_whole(text, &number))
		reader->values->exact[row] = scatter((uint64_t)number);
	else
		read_slowly(reader, row, text);
}

static void read_truth_value(struct reader *reader, size_t row, str_t text)
{
	char byte = text.len == 1 ? text.ptr[0] : '\0';
	if (byte == 't' || byte == '1')
		reader->values->exact[row] = marks.yes;
	else if (byte == 'f' || byte == '0')
		reader->values->exact[row] = marks.no;
	else
		read_slowly(reader, row, text);
}

static void read_value(struct reader *reader, size_t row, str_t cell)
{
	if (!str_present(cell)) {
		reader->values->exact[row] = marks.absent;
		return;
	}
	str_t text = compare_trim(cell);
	switch (reader->mode) {
	case COMPARE_TEXT:
	case COMPARE_MOMENT:
		read_textual(reader, row, text);
		break;
	case COMPARE_LOOSE:
		read_loosely(reader, row, text, false);
		break;
	case COMPARE_GUESSED:
		read_loosely(reader, row, text, true);
		break;
	case COMPARE_INTEGER:
		read_whole(reader, row, text);
		break;
	case COMPARE_BOOLEAN:
		read_truth_value(reader, row, text);
		break;
	default:
		read_slowly(reader, row, text);
	}
}

static struct compare_values *read_column(const struct compare_table *table, size_t column,
					  enum compare_mode mode)
{
	const struct result_set *set = table->set;
	struct reader reader = {
		.values = ARENA_NEW(table->arena, struct compare_values),
		.reading = { .arena = table->arena },
		.mode = mode,
		.rows_count = set->rows_count,
	};
	reader.values->exact = ARENA_ARRAY(table->arena, uint64_t, set->rows_count);
	reader.values->plain = true;
	for (size_t row = 0; row < set->rows_count; row++)
		read_value(&reader, row, set->cells[row * set->columns_count + column]);
	compare_reading_free(&reader.reading);
	return reader.values;
}

struct compare_table *compare_table_new(const struct result_set *set, struct arena *arena)
{
	struct compare_table *table = ARENA_NEW(arena, struct compare_table);
	pthread_once(&marks_once, make_marks);
	*table = (struct compare_table){
		.set = set,
		.arena = arena,
		.values = ARENA_ARRAY(arena, struct compare_values *, set->columns_count * MODES_COUNT),
		.fingerprints = ARENA_ARRAY(arena, uint64_t *, set->columns_count),
	};
	return table;
}

const struct result_set *compare_table_set(const struct compare_table *table)
{
	return table->set;
}

/* Without a number in it a column reads as text in all these modes alike. */
static bool reads_as_text(enum compare_mode mode)
{
	return mode == COMPARE_TEXT || mode == COMPARE_MOMENT || mode == COMPARE_GUESSED;
}

const struct compare_values *compare_table_values(struct compare_table *table, size_t column,
						  enum compare_mode mode)
{
	struct compare_values **values = table->values + column * MODES_COUNT;
	if (!values[mode] && reads_as_text(mode) && values[COMPARE_LOOSE] && values[COMPARE_LOOSE]->plain)
		values[mode] = values[COMPARE_LOOSE];
	if (!values[mode])
		values[mode] = read_column(table, column, mode);
	return values[mode];
}

static uint64_t fingerprint_number(double number)
{
	return scatter((uint64_t)compare_quantise(number));
}

/* 0 and 1 look alike in columns that are and that are not boolean. */
static void fingerprint_booleans(const struct compare_table *table, size_t column, uint64_t *fingerprints)
{
	const struct result_set *set = table->set;
	uint64_t no = fingerprint_number(0), yes = fingerprint_number(1);
	for (size_t row = 0; row < set->rows_count; row++) {
		str_t cell = set->cells[row * set->columns_count + column];
		bool is_true = cell.len > 0 && (cell.ptr[0] == 't' || cell.ptr[0] == '1');
		fingerprints[row] = !str_present(cell) ? marks.absent : is_true ? yes : no;
	}
}

static uint64_t fingerprint_value(const struct compare_values *values, size_t row)
{
	uint64_t exact = values->exact[row];
	if (compare_is_number(exact) && values->numbers)
		return fingerprint_number(values->numbers[row]);
	for (size_t i = 0; values->lists && i < values->lists[row].count; i++)
		exact = compare_mix(exact, fingerprint_number(values->lists[row].items[i]));
	return exact;
}

const uint64_t *compare_table_fingerprints(struct compare_table *table, size_t column)
{
	enum cell_class type = table->set->columns[column].type;
	if (table->fingerprints[column])
		return table->fingerprints[column];
	uint64_t *fingerprints = ARENA_ARRAY(table->arena, uint64_t, table->set->rows_count);
	table->fingerprints[column] = fingerprints;
	if (type == CELL_BOOLEAN) {
		fingerprint_booleans(table, column, fingerprints);
		return fingerprints;
	}
	const struct compare_values *values = compare_table_values(table, column, compare_mode_alone(type));
	for (size_t row = 0; row < table->set->rows_count; row++)
		fingerprints[row] = fingerprint_value(values, row);
	return fingerprints;
}
