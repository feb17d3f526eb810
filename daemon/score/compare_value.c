#include "score/compare_value.h"

#include "common/hash.h"
#include "score/compare_document.h"
#include "score/compare_moment.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

void compare_reading_free(struct compare_reading *reading)
{
	buf_free(&reading->exact);
}

void compare_reading_reset(struct compare_reading *reading)
{
	buf_reset(&reading->exact);
	reading->numbers_count = 0;
}

/* The mode of a column compared with one of its own class. */
static enum compare_mode own_mode(enum cell_class type)
{
	static const enum compare_mode modes[] = {
		[CELL_UNKNOWN] = COMPARE_LOOSE,	    [CELL_INTEGER] = COMPARE_LOOSE,
		[CELL_DECIMAL] = COMPARE_LOOSE,	    [CELL_FLOAT] = COMPARE_LOOSE,
		[CELL_BOOLEAN] = COMPARE_BOOLEAN,   [CELL_TEXT] = COMPARE_TEXT,
		[CELL_DATE] = COMPARE_MOMENT,	    [CELL_TIME] = COMPARE_TIME,
		[CELL_TIMESTAMP] = COMPARE_MOMENT,  [CELL_TIMESTAMP_TZ] = COMPARE_MOMENT,
		[CELL_INTERVAL] = COMPARE_INTERVAL, [CELL_BYTES] = COMPARE_BYTES,
		[CELL_JSON] = COMPARE_JSON,	    [CELL_ARRAY] = COMPARE_ARRAY,
		[CELL_NULL] = COMPARE_TEXT,
	};
	return modes[type];
}

enum compare_mode compare_mode_of(enum cell_class a, enum cell_class b)
{
	enum compare_mode left = own_mode(a), right = own_mode(b);
	if (left == right || b == CELL_NULL)
		return left;
	if (a == CELL_NULL)
		return right;
	if (left == COMPARE_JSON || right == COMPARE_JSON)
		return COMPARE_JSON;
	if (left == COMPARE_TEXT || (a == CELL_UNKNOWN && right != COMPARE_TEXT))
		return right;
	if (right == COMPARE_TEXT || b == CELL_UNKNOWN)
		return left;
	if ((left == COMPARE_BOOLEAN && right == COMPARE_LOOSE) ||
	    (left == COMPARE_LOOSE && right == COMPARE_BOOLEAN))
		return COMPARE_BOOLEAN;
	return COMPARE_TEXT;
}

str_t compare_trim(str_t text)
{
	while (text.len > 0 && isspace((unsigned char)text.ptr[0])) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && isspace((unsigned char)text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static size_t count_digits(str_t text, size_t from)
{
	size_t at = from;
	while (at < text.len && isdigit((unsigned char)text.ptr[at]))
		at++;
	return at - from;
}

size_t compare_number_length(str_t text)
{
	size_t at = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
	size_t digits = count_digits(text, at);
	at += digits;
	if (at < text.len && text.ptr[at] == '.') {
		size_t fraction = count_digits(text, at + 1);
		digits += fraction;
		at += 1 + fraction;
	}
	if (digits == 0)
		return 0;
	if (at < text.len && (text.ptr[at] | 0x20) == 'e') {
		size_t sign =
			at + 1 < text.len && (text.ptr[at + 1] == '-' || text.ptr[at + 1] == '+') ? 1 : 0;
		size_t exponent = count_digits(text, at + 1 + sign);
		if (exponent > 0)
			at += 1 + sign + exponent;
	}
	return at;
}

/* Beyond the range of a double a number is as good as infinite. */
void compare_push_number(struct compare_reading *reading, double number)
{
	if (!isfinite(number)) {
		buf_append_text(&reading->exact, isnan(number) ? "?n" : number > 0 ? "?+" : "?-");
		return;
	}
	buf_append_char(&reading->exact, '#');
	ARENA_PUSH(reading->arena, reading->numbers, reading->numbers_count, reading->numbers_capacity,
		   number);
}

void compare_push_text(struct compare_reading *reading, str_t text)
{
	buf_printf(&reading->exact, "%zu:", text.len);
	buf_append_str(&reading->exact, text);
}

static void push_micros(struct compare_reading *reading, char mark, int64_t us)
{
	buf_printf(&reading->exact, "%c%lld;", mark, (long long)us);
}

static bool parse_number(str_t text, double *ret_number)
{
	static const struct {
		const char *name;
		double value;
	} special[] = {
		{ "nan", (double)NAN },
		{ "infinity", (double)INFINITY },
		{ "-infinity", -(double)INFINITY },
		{ "inf", (double)INFINITY },
		{ "-inf", -(double)INFINITY },
	};
	if (text.len > 0 && compare_number_length(text) == text.len) {
		*ret_number = strtod(text.ptr, NULL);
		return true;
	}
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		if (text.len == strlen(special[i].name) &&
		    strncasecmp(text.ptr, special[i].name, text.len) == 0) {
			*ret_number = special[i].value;
			return true;
		}
	return false;
}

static bool read_number(struct compare_reading *reading, str_t text)
{
	double number;
	if (!parse_number(text, &number))
		return false;
	compare_push_number(reading, number);
	return true;
}

static bool read_moment(struct compare_reading *reading, str_t text)
{
	int64_t us;
	if (!compare_parse_moment(text, &us))
		return false;
	push_micros(reading, 'm', us);
	return true;
}

static bool read_time(struct compare_reading *reading, str_t text)
{
	int64_t us;
	if (!compare_parse_time(text, &us))
		return false;
	push_micros(reading, 'c', us);
	return true;
}

static bool read_interval(struct compare_reading *reading, str_t text)
{
	int64_t us;
	if (!compare_parse_interval(text, &us))
		return false;
	push_micros(reading, 'i', us);
	return true;
}

static bool is_word(str_t text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

/* Numbers other than 0 and 1 stay numbers: a boolean column never equals them. */
static bool read_boolean(struct compare_reading *reading, str_t text)
{
	double number;
	bool is_number = parse_number(text, &number);
	bool yes = is_word(text, "t") || is_word(text, "true") || (is_number && number >= 1 && number <= 1);
	bool no = is_word(text, "f") || is_word(text, "false") || (is_number && number >= 0 && number <= 0);
	if (yes || no)
		buf_append_text(&reading->exact, yes ? "t" : "f");
	else if (is_number)
		compare_push_number(reading, number);
	return yes || no || is_number;
}

static bool read_loose(struct compare_reading *reading, str_t text)
{
	return read_number(reading, text) || read_moment(reading, text);
}

/* An array stands for the list of JSON with the same elements. */
static bool read_document(struct compare_reading *reading, str_t text)
{
	return compare_read_json(reading, text) || compare_read_array(reading, text);
}

static bool read_nothing(struct compare_reading *reading, str_t text)
{
	(void)reading;
	(void)text;
	return false;
}

void compare_read(struct compare_reading *reading, enum compare_mode mode, str_t cell)
{
	static bool (*const readers[])(struct compare_reading *, str_t) = {
		[COMPARE_TEXT] = read_moment,	      [COMPARE_LOOSE] = read_loose,
		[COMPARE_BOOLEAN] = read_boolean,     [COMPARE_MOMENT] = read_moment,
		[COMPARE_TIME] = read_time,	      [COMPARE_INTERVAL] = read_interval,
		[COMPARE_BYTES] = read_nothing,	      [COMPARE_JSON] = read_document,
		[COMPARE_ARRAY] = compare_read_array,
	};
	if (!str_present(cell)) {
		buf_append_char(&reading->exact, '-');
		return;
	}
	str_t text = compare_trim(cell);
	if (!readers[mode](reading, text))
		compare_push_text(reading, text);
}

bool compare_close(double a, double b, const struct compare_tolerance *tolerance)
{
	double larger = fmax(fabs(a), fabs(b));
	double difference = fabs(a - b);
	/* The last bits: 100.0001 and 100 differ by 1e-4 although their doubles differ by a little more. */
	return difference <= tolerance->absolute + 4 * DBL_EPSILON * larger ||
	       difference <= tolerance->relative * larger;
}

bool compare_readings_equal(const struct compare_reading *a, const struct compare_reading *b,
			    const struct compare_tolerance *tolerance)
{
	if (!str_equal(buf_str(&a->exact), buf_str(&b->exact)))
		return false;
	for (size_t i = 0; i < a->numbers_count; i++)
		if (!compare_close(a->numbers[i], b->numbers[i], tolerance))
			return false;
	return true;
}

/* About six significant digits; the offset keeps the borders away from round numbers. */
static int64_t quantise(double number)
{
	int exponent;
	if (fabs(number) < 1e-4)
		return 0;
	double fraction = frexp(number, &exponent);
	return (int64_t)floor(fraction * 0x1p20 + 0.381966) * 4096 + exponent;
}

uint64_t compare_fingerprint(struct compare_reading *scratch, enum cell_class type, str_t cell)
{
	enum compare_mode mode = type == CELL_TEXT ? COMPARE_LOOSE : own_mode(type);
	compare_reading_reset(scratch);
	/* 0 and 1 have to look alike from columns that are and that are not boolean. */
	if (mode == COMPARE_BOOLEAN && str_present(cell) && cell.len > 0)
		cell = cell.ptr[0] == 't' || cell.ptr[0] == '1' ? STR("1") : STR("0");
	compare_read(scratch, mode == COMPARE_BOOLEAN ? COMPARE_LOOSE : mode, cell);
	for (size_t i = 0; i < scratch->numbers_count; i++) {
		int64_t step = quantise(scratch->numbers[i]);
		buf_append(&scratch->exact, &step, sizeof step);
	}
	return hash_seeded(scratch->exact.data, scratch->exact.len);
}
