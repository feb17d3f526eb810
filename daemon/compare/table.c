#include "compare/table.h"

#include "common/hash.h"
#include "compare/moment.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>

#define MODES_COUNT (COMPARE_MONEY + 1)

/* Shorter numbers are no keys (compare_number_is_key), but for those with an exponent, which no mode reads
 * here. */
#define KEY_LENGTH_LEAST 10

struct compare_table {
	const struct result_set *set;
	struct arena *arena;
	struct compare_values **values; /* by column and mode; NULL: not read yet */
	const uint64_t **fingerprints;	/* by column */
	const uint64_t **exacts;	/* by column */
};

/* A column while it is read. */
struct table_reader {
	struct compare_values *values;
	struct compare_reading reading;
	enum compare_mode mode;
	size_t column;
	size_t rows_count;
};

struct compare_marks compare_marks;
static pthread_once_t marks_once = PTHREAD_ONCE_INIT;

static void make_marks(void)
{
	for (size_t i = 0; i < sizeof compare_marks.seeds / sizeof *compare_marks.seeds; i++)
		compare_marks.seeds[i] = hash_seeded(&i, sizeof i) | 1;
	compare_marks.number = hash_seeded("#", 1);
	compare_marks.absent = hash_seeded("-", 1);
	compare_marks.yes = hash_seeded("t", 1);
	compare_marks.no = hash_seeded("f", 1);
}

/* Different words have different results. */
static inline uint64_t scatter(uint64_t word)
{
	word = (word ^ compare_marks.seeds[2]) * compare_marks.seeds[3];
	word = (word ^ (word >> 32)) * 0xff51afd7ed558ccdu;
	word = (word ^ (word >> 29)) * 0xc4ceb9fe1a85ec53u;
	return word ^ (word >> 32);
}

static uint64_t fingerprint_number(double number)
{
	return scatter((uint64_t)compare_quantise(number));
}

static void put_number(struct table_reader *reader, size_t row, double number)
{
	struct compare_values *values = reader->values;
	if (!values->numbers)
		values->numbers = ARENA_ARRAY(reader->reading.arena, double, reader->rows_count);
	values->exact[row] = compare_marks.number;
	values->numbers[row] = number;
	values->plain = false;
}

static void put_list(struct table_reader *reader, size_t row)
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
static void read_slowly(struct table_reader *reader, size_t row, str_t text)
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

/* The last 16 bytes, or all: with the length they say what the text ends in. Parts may overlap, so that no
 * length needs a loop. */
static inline void last_words(str_t text, uint64_t words[2])
{
	const char *start = text.ptr, *end = text.ptr + text.len;
	uint32_t halves[2];
	words[0] = words[1] = 0;
	if (text.len >= 16) {
		memcpy(&words[0], end - 16, 8);
		memcpy(&words[1], end - 8, 8);
	} else if (text.len >= 8) {
		memcpy(&words[0], start, 8);
		memcpy(&words[1], end - 8, 8);
	} else if (text.len >= 4) {
		memcpy(&halves[0], start, 4);
		memcpy(&halves[1], end - 4, 4);
		words[0] = halves[0];
		words[1] = halves[1];
	} else if (text.len > 0) {
		words[0] = (unsigned char)start[0] | (uint64_t)(unsigned char)start[text.len / 2] << 8 |
			   (uint64_t)(unsigned char)end[-1] << 16;
	}
}

static inline uint64_t mix_words(uint64_t hash, const uint64_t words[2])
{
	return compare_mix(compare_mix(hash, words[0]), words[1] ^ compare_marks.seeds[2]);
}

/* 16 bytes at a time; without the seed nobody can make up texts that collide. */
static uint64_t hash_text(str_t text)
{
	uint64_t words[2], hash = text.len;
	for (size_t at = 0; text.len - at > 16; at += 16) {
		memcpy(words, text.ptr + at, 16);
		hash = mix_words(hash, words);
	}
	last_words(text, words);
	return compare_mix(mix_words(hash, words), compare_marks.seeds[3]);
}

/* Capital letters that stand for digits as small ones. */
static uint64_t hash_folded(struct table_reader *reader, str_t text)
{
	char *folded = arena_alloc(reader->reading.arena, text.len + 1);
	for (size_t i = 0; i < text.len; i++)
		folded[i] = (char)tolower((unsigned char)text.ptr[i]);
	return hash_text((str_t){ folded, text.len });
}

static uint64_t hash_any_text(struct table_reader *reader, str_t text)
{
	return compare_folds(text) ? hash_folded(reader, text) : hash_text(text);
}

/* A moment, or else a text. */
static void read_textual(struct table_reader *reader, size_t row, str_t text)
{
	int64_t us;
	bool may_be_moment = text.len >= 10 && text.ptr[0] <= '9' && text.ptr[0] >= '0';
	reader->values->exact[row] = may_be_moment && compare_parse_moment(text, &us)
					     ? scatter((uint64_t)us)
					     : hash_any_text(reader, text);
}

/* Whether numbers, NaN and infinities begin so. */
static bool begins_as_number(str_t text)
{
	char first = text.len > 0 ? text.ptr[0] : 'x';
	return first <= '9' || (first | 0x20) == 'n' || (first | 0x20) == 'i';
}

static void read_loosely(struct table_reader *reader, size_t row, str_t text)
{
	if (!begins_as_number(text)) {
		read_textual(reader, row, text);
		return;
	}
	bool guessed = reader->mode == COMPARE_GUESSED;
	bool no_key = reader->mode == COMPARE_LOOSE || text.len < KEY_LENGTH_LEAST;
	double number;
	if (no_key && compare_number_simple(text, &number) && (!guessed || compare_number_plain(text))) {
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
static void read_whole(struct table_reader *reader, size_t row, str_t text)
{
	int64_t number;
	uint64_t *fingerprints = reader->values->fingerprints;
	if (compare_number_whole(text, &number)) {
		reader->values->exact[row] = scatter((uint64_t)number);
		if (fingerprints)
			fingerprints[row] = fingerprint_number((double)number);
		return;
	}
	read_slowly(reader, row, text);
	if (fingerprints)
		fingerprints[row] = compare_number_of(text) == COMPARE_NUMBER_FINITE
					    ? fingerprint_number(compare_number_double(text))
					    : reader->values->exact[row];
}

static void read_truth_value(struct table_reader *reader, size_t row, str_t text)
{
	char byte = text.len == 1 ? text.ptr[0] : '\0';
	if (byte == 't' || byte == '1')
		reader->values->exact[row] = compare_marks.yes;
	else if (byte == 'f' || byte == '0')
		reader->values->exact[row] = compare_marks.no;
	else
		read_slowly(reader, row, text);
}

static inline str_t trim(str_t text)
{
	bool clean = text.len > 0 && (unsigned char)text.ptr[0] > ' ' &&
		     (unsigned char)text.ptr[text.len - 1] > ' ';
	return clean ? text : compare_trim(text);
}

static void read_value(struct table_reader *reader, size_t row, str_t cell)
{
	if (!str_present(cell)) {
		reader->values->exact[row] = compare_marks.absent;
		if (reader->values->fingerprints)
			reader->values->fingerprints[row] = compare_marks.absent;
		return;
	}
	str_t text = trim(cell);
	switch (reader->mode) {
	case COMPARE_TEXT:
	case COMPARE_MOMENT:
		read_textual(reader, row, text);
		break;
	case COMPARE_LOOSE:
	case COMPARE_KEYED:
	case COMPARE_GUESSED:
		read_loosely(reader, row, text);
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

struct compare_table *compare_table_new(const struct result_set *set, struct arena *arena)
{
	struct compare_table *table = ARENA_NEW(arena, struct compare_table);
	pthread_once(&marks_once, make_marks);
	*table = (struct compare_table){
		.set = set,
		.arena = arena,
		.values = ARENA_ARRAY(arena, struct compare_values *, set->columns_count * MODES_COUNT),
		.fingerprints = ARENA_ARRAY(arena, const uint64_t *, set->columns_count),
		.exacts = ARENA_ARRAY(arena, const uint64_t *, set->columns_count),
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

static struct compare_values **place_of(const struct compare_table *table, size_t column,
					enum compare_mode mode)
{
	return &table->values[column * MODES_COUNT + mode];
}

/* Whether the column was read in a way that serves the mode. */
static bool is_read(const struct compare_table *table, size_t column, enum compare_mode mode)
{
	struct compare_values **place = place_of(table, column, mode);
	struct compare_values *loose = *place_of(table, column, COMPARE_LOOSE);
	if (!*place && reads_as_text(mode) && loose && loose->plain)
		*place = loose;
	return *place;
}

static void start_reader(struct compare_table *table, size_t column, enum compare_mode mode,
			 bool fingerprinted, struct table_reader *reader)
{
	size_t rows = table->set->rows_count;
	*reader = (struct table_reader){
		.values = ARENA_NEW(table->arena, struct compare_values),
		.reading = { .arena = table->arena },
		.mode = mode,
		.column = column,
		.rows_count = rows,
	};
	reader->values->exact = ARENA_ARRAY(table->arena, uint64_t, rows);
	reader->values->plain = true;
	if (mode == COMPARE_INTEGER && fingerprinted)
		reader->values->fingerprints = ARENA_ARRAY(table->arena, uint64_t, rows);
	*place_of(table, column, mode) = reader->values;
}

static void run_readers(const struct compare_table *table, struct table_reader *readers, size_t count)
{
	const struct result_set *set = table->set;
	for (size_t row = 0; count > 0 && row < set->rows_count; row++) {
		const str_t *cells = set->cells + row * set->columns_count;
		for (size_t i = 0; i < count; i++)
			read_value(&readers[i], row, cells[readers[i].column]);
	}
	for (size_t i = 0; i < count; i++)
		compare_reading_free(&readers[i].reading);
}

void compare_table_read(struct compare_table *table, const enum compare_mode *modes)
{
	struct table_reader *readers =
		ARENA_ARRAY(table->arena, struct table_reader, table->set->columns_count);
	size_t count = 0;
	for (size_t i = 0; i < table->set->columns_count; i++)
		if (!is_read(table, i, modes[i]))
			start_reader(table, i, modes[i], false, &readers[count++]);
	run_readers(table, readers, count);
}

/* The mode that fingerprints are taken from. */
static enum compare_mode mode_alone(const struct compare_table *table, size_t column)
{
	enum cell_class type = table->set->columns[column].type;
	return type == CELL_BOOLEAN ? COMPARE_BOOLEAN : compare_mode_alone(type);
}

void compare_table_read_alone(struct compare_table *table, const bool *needed)
{
	struct table_reader *readers =
		ARENA_ARRAY(table->arena, struct table_reader, table->set->columns_count);
	size_t count = 0;
	for (size_t i = 0; i < table->set->columns_count; i++)
		if (needed[i] && !is_read(table, i, mode_alone(table, i)))
			start_reader(table, i, mode_alone(table, i), true, &readers[count++]);
	run_readers(table, readers, count);
}

static void read_column(struct compare_table *table, size_t column, enum compare_mode mode,
			bool fingerprinted)
{
	struct table_reader reader;
	start_reader(table, column, mode, fingerprinted, &reader);
	run_readers(table, &reader, 1);
}

const struct compare_values *compare_table_values(struct compare_table *table, size_t column,
						  enum compare_mode mode)
{
	if (!is_read(table, column, mode))
		read_column(table, column, mode, false);
	return *place_of(table, column, mode);
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

/* 0 and 1 look alike in columns that are and that are not boolean. */
static void fingerprint_booleans(uint64_t *fingerprints, size_t rows)
{
	uint64_t no = fingerprint_number(0), yes = fingerprint_number(1);
	for (size_t row = 0; row < rows; row++) {
		uint64_t fingerprint = fingerprints[row];
		fingerprints[row] = fingerprint == compare_marks.yes  ? yes
				    : fingerprint == compare_marks.no ? no
								      : fingerprint;
	}
}

static const uint64_t *make_fingerprints(const struct compare_table *table,
					 const struct compare_values *values, enum compare_mode mode)
{
	size_t rows = table->set->rows_count;
	if (values->fingerprints)
		return values->fingerprints;
	if (!values->numbers && !values->lists && mode != COMPARE_BOOLEAN)
		return values->exact;
	uint64_t *fingerprints = ARENA_ARRAY(table->arena, uint64_t, rows);
	for (size_t row = 0; row < rows; row++)
		fingerprints[row] = fingerprint_value(values, row);
	if (mode == COMPARE_BOOLEAN)
		fingerprint_booleans(fingerprints, rows);
	return fingerprints;
}

const uint64_t *compare_table_fingerprints(struct compare_table *table, size_t column)
{
	enum compare_mode mode = mode_alone(table, column);
	if (table->fingerprints[column])
		return table->fingerprints[column];
	const struct compare_values *values = compare_table_values(table, column, mode);
	if (mode == COMPARE_INTEGER && !values->fingerprints) {
		read_column(table, column, mode, true);
		values = compare_table_values(table, column, mode);
	}
	table->fingerprints[column] = make_fingerprints(table, values, mode);
	return table->fingerprints[column];
}

static uint64_t exact_number(uint64_t hash, double number)
{
	uint64_t bits;
	number += 0.0; /* -0 becomes 0 */
	memcpy(&bits, &number, sizeof bits);
	return compare_mix(hash, bits);
}

static uint64_t exact_value(const struct compare_values *values, size_t row)
{
	uint64_t exact = values->exact[row];
	if (values->numbers && compare_is_number(exact))
		return exact_number(exact, values->numbers[row]);
	for (size_t i = 0; values->lists && i < values->lists[row].count; i++)
		exact = exact_number(exact, values->lists[row].items[i]);
	return exact;
}

/* What is read as a number for guessing may be a text, alone or in an array. */
static uint64_t exact_text(str_t cell)
{
	return str_present(cell) ? hash_text(compare_trim(cell)) : compare_marks.absent;
}

const uint64_t *compare_table_exact(struct compare_table *table, size_t column)
{
	const struct result_set *set = table->set;
	enum cell_class type = set->columns[column].type;
	if (table->exacts[column])
		return table->exacts[column];
	const struct compare_values *values = compare_table_values(table, column, mode_alone(table, column));
	uint64_t *exacts = ARENA_ARRAY(table->arena, uint64_t, set->rows_count);
	for (size_t row = 0; row < set->rows_count; row++)
		exacts[row] = type == CELL_TEXT || type == CELL_UNKNOWN || type == CELL_TEXT_ARRAY
				      ? exact_text(set->cells[row * set->columns_count + column])
				      : exact_value(values, row);
	table->exacts[column] = exacts;
	return exacts;
}
