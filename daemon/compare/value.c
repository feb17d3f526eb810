#include "compare/value.h"

#include "compare/document.h"
#include "compare/moment.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

static enum compare_mode own_mode(enum cell_class type)
{
	static const enum compare_mode modes[] = {
		[CELL_UNKNOWN] = COMPARE_GUESSED,
		[CELL_INTEGER] = COMPARE_INTEGER,
		[CELL_DECIMAL] = COMPARE_LOOSE,
		[CELL_FLOAT] = COMPARE_LOOSE,
		[CELL_BOOLEAN] = COMPARE_BOOLEAN,
		[CELL_TEXT] = COMPARE_TEXT,
		[CELL_DATE] = COMPARE_MOMENT,
		[CELL_TIME] = COMPARE_TIME,
		[CELL_TIMESTAMP] = COMPARE_MOMENT,
		[CELL_TIMESTAMP_TZ] = COMPARE_MOMENT,
		[CELL_INTERVAL] = COMPARE_INTERVAL,
		[CELL_BYTES] = COMPARE_BYTES,
		[CELL_JSON] = COMPARE_JSON,
		[CELL_ARRAY] = COMPARE_ARRAY,
		[CELL_TEXT_ARRAY] = COMPARE_TEXT_ARRAY,
		[CELL_MONEY] = COMPARE_MONEY,
		[CELL_NULL] = COMPARE_TEXT,
	};
	return modes[type];
}

/* Beside another class a whole number is a number like others: 5 equals 4.99999999 and the text 5.0. Beside
 * one that need not be a number at all it still may be a key. */
static enum compare_mode mode_beside(enum cell_class type, enum cell_class other)
{
	enum compare_mode mode = own_mode(type);
	if (mode != COMPARE_INTEGER)
		return mode;
	return other == CELL_TEXT || other == CELL_UNKNOWN ? COMPARE_KEYED : COMPARE_LOOSE;
}

/* What values of two classes have in common, where neither class is vague. */
static enum compare_mode common_mode(enum compare_mode a, enum compare_mode b)
{
	static const struct {
		enum compare_mode a, b, common;
	} rules[] = {
		{ COMPARE_BOOLEAN, COMPARE_LOOSE, COMPARE_BOOLEAN },
		{ COMPARE_BOOLEAN, COMPARE_JSON, COMPARE_BOOLEAN },
		{ COMPARE_MONEY, COMPARE_LOOSE, COMPARE_MONEY },
		{ COMPARE_TIME, COMPARE_INTERVAL, COMPARE_INTERVAL },
		{ COMPARE_ARRAY, COMPARE_TEXT_ARRAY, COMPARE_ARRAY },
	};
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if ((rules[i].a == a && rules[i].b == b) || (rules[i].a == b && rules[i].b == a))
			return rules[i].common;
	return a == COMPARE_JSON || b == COMPARE_JSON ? COMPARE_JSON : COMPARE_TEXT;
}

enum compare_mode compare_mode_of(enum cell_class a, enum cell_class b)
{
	if (a == b || b == CELL_NULL)
		return own_mode(a);
	if (a == CELL_NULL)
		return own_mode(b);
	enum compare_mode left = mode_beside(a, b), right = mode_beside(b, a);
	if (left == right || right == COMPARE_TEXT)
		return left;
	if (left == COMPARE_TEXT || left == COMPARE_GUESSED)
		return right;
	return right == COMPARE_GUESSED ? left : common_mode(left, right);
}

static void push_micros(struct compare_reading *reading, char mark, int64_t us)
{
	buf_append_char(&reading->exact, mark);
	compare_append_whole(&reading->exact, us);
	buf_append_char(&reading->exact, ';');
}

/* Appends what is no finite number but has a place among the numbers. */
static bool push_special(struct compare_reading *reading, enum compare_number number)
{
	static const char *const marks[] = { [COMPARE_NUMBER_NAN] = "?n",
					     [COMPARE_NUMBER_INFINITE] = "?+",
					     [COMPARE_NUMBER_MINUS_INFINITE] = "?-" };
	if (number == COMPARE_NUMBER_NONE)
		return false;
	buf_append_text(&reading->exact, marks[number]);
	return true;
}

static bool read_number(struct compare_reading *reading, str_t text)
{
	enum compare_number number = compare_number_of(text);
	if (number != COMPARE_NUMBER_FINITE)
		return push_special(reading, number);
	compare_push_number(reading, text);
	return true;
}

static bool read_number_or_key(struct compare_reading *reading, str_t text)
{
	enum compare_number number = compare_number_of(text);
	if (number != COMPARE_NUMBER_FINITE)
		return push_special(reading, number);
	compare_push_number_or_key(reading, text);
	return true;
}

static bool read_integer(struct compare_reading *reading, str_t text)
{
	enum compare_number number = compare_number_of(text);
	if (number != COMPARE_NUMBER_FINITE)
		return push_special(reading, number);
	compare_push_exact_number(reading, text);
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
	bool is_number = compare_number_of(text) == COMPARE_NUMBER_FINITE;
	double number = is_number ? compare_number_double(text) : -1;
	bool yes = is_word(text, "t") || is_word(text, "true") || (number >= 1 && number <= 1);
	bool no = is_word(text, "f") || is_word(text, "false") || (number >= 0 && number <= 0);
	if (!yes && !no)
		return read_number(reading, text);
	buf_append_text(&reading->exact, yes ? "t" : "f");
	return true;
}

static bool read_loose(struct compare_reading *reading, str_t text)
{
	return read_number(reading, text) || read_moment(reading, text);
}

static bool read_keyed(struct compare_reading *reading, str_t text)
{
	return read_number_or_key(reading, text) || read_moment(reading, text);
}

static bool read_guessed(struct compare_reading *reading, str_t text)
{
	bool is_number = compare_number_of(text) != COMPARE_NUMBER_FINITE || compare_number_plain(text);
	return (is_number && read_number_or_key(reading, text)) || read_moment(reading, text);
}

/* A time of day may be as long as an interval in MariaDB. */
static bool read_clock(struct compare_reading *reading, str_t text)
{
	return read_time(reading, text) || read_interval(reading, text);
}

static int hex_digit(char byte)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = byte ? strchr(digits, byte | 0x20) : NULL;
	return found && (byte >= 'A' || (byte >= '0' && byte <= '9')) ? (int)(found - digits) : -1;
}

static bool read_bytes(struct compare_reading *reading, str_t text)
{
	bool prefixed =
		text.len >= 2 && (text.ptr[0] == '\\' || text.ptr[0] == '0') && (text.ptr[1] | 0x20) == 'x';
	str_t digits = prefixed ? (str_t){ text.ptr + 2, text.len - 2 } : text;
	size_t exact_len = reading->exact.len;
	compare_append_whole(&reading->exact, (int64_t)digits.len);
	buf_append_char(&reading->exact, ':');
	for (size_t i = 0; i < digits.len; i++) {
		int digit = hex_digit(digits.ptr[i]);
		if (digit < 0) {
			reading->exact.len = exact_len;
			return false;
		}
		buf_append_char(&reading->exact, "0123456789abcdef"[digit]);
	}
	return true;
}

static bool is_hexadecimal(str_t text)
{
	for (size_t i = 0; i < text.len; i++)
		if (hex_digit(text.ptr[i]) < 0)
			return false;
	return true;
}

#define UUID_LENGTH 36

/* 8-4-4-4-12 */
static bool is_uuid(str_t text)
{
	for (size_t i = 0; i < UUID_LENGTH; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
		if (hyphen ? text.ptr[i] != '-' : hex_digit(text.ptr[i]) < 0)
			return false;
	}
	return true;
}

bool compare_folds(str_t text)
{
	bool uuid = text.len == UUID_LENGTH && text.ptr[8] == '-';
	bool bytes = text.len >= 2 && text.len % 2 == 0 && text.ptr[0] == '\\' && (text.ptr[1] | 0x20) == 'x';
	if (!(uuid && is_uuid(text)) && !(bytes && is_hexadecimal((str_t){ text.ptr + 2, text.len - 2 })))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] >= 'A' && text.ptr[i] <= 'Z')
			return true;
	return false;
}

static void push_folded(struct compare_reading *reading, str_t text)
{
	compare_push_text(reading, text);
	if (!compare_folds(text))
		return;
	char *pushed = reading->exact.data + reading->exact.len - text.len;
	for (size_t i = 0; i < text.len; i++)
		pushed[i] = (char)tolower((unsigned char)pushed[i]);
}

/* An amount, or else a number of the usual form. */
static bool read_money(struct compare_reading *reading, str_t text)
{
	_cleanup_(buf_free) struct buf amount = BUF_INIT;
	if (compare_number_of(text) == COMPARE_NUMBER_NONE && compare_number_amount(text, &amount))
		return read_number(reading, buf_str(&amount));
	return read_number(reading, text);
}

/* An array stands for the list of JSON with the same elements. */
static bool read_document(struct compare_reading *reading, str_t text)
{
	return compare_read_json(reading, text) || compare_read_array(reading, text);
}

void compare_read(struct compare_reading *reading, enum compare_mode mode, str_t cell)
{
	static bool (*const readers[])(struct compare_reading *, str_t) = {
		[COMPARE_TEXT] = read_moment,
		[COMPARE_LOOSE] = read_loose,
		[COMPARE_KEYED] = read_keyed,
		[COMPARE_GUESSED] = read_guessed,
		[COMPARE_INTEGER] = read_integer,
		[COMPARE_BOOLEAN] = read_boolean,
		[COMPARE_MOMENT] = read_moment,
		[COMPARE_TIME] = read_clock,
		[COMPARE_INTERVAL] = read_interval,
		[COMPARE_BYTES] = read_bytes,
		[COMPARE_JSON] = read_document,
		[COMPARE_ARRAY] = compare_read_array,
		[COMPARE_TEXT_ARRAY] = compare_read_text_array,
		[COMPARE_MONEY] = read_money,
	};
	if (!str_present(cell)) {
		buf_append_char(&reading->exact, '-');
		return;
	}
	str_t text = compare_trim(cell);
	if (!readers[mode](reading, text))
		push_folded(reading, text);
}

/* Larger numbers are never so small by rounding alone. */
#define ROUNDED_ZERO	   1e-12
#define MAX_ABSOLUTE_SHARE 0.01

double compare_width(double larger, const struct compare_tolerance *tolerance)
{
	double absolute = tolerance->absolute;
	if (larger > ROUNDED_ZERO)
		absolute = fmin(absolute, MAX_ABSOLUTE_SHARE * larger);
	/* The last bits: 100.0001 and 100 differ by 1e-4 although their doubles differ by a little more. */
	return fmax(absolute + 4 * DBL_EPSILON * larger, tolerance->relative * larger);
}

bool compare_close(double a, double b, const struct compare_tolerance *tolerance)
{
	return fabs(a - b) <= compare_width(fmax(fabs(a), fabs(b)), tolerance);
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

int64_t compare_quantise(double number)
{
	double size = fabs(number);
	if (size < 0x1p52) {
		int64_t whole = (int64_t)(size + 0.5);
		if (fabs(size - (double)whole) <= (whole == 0 ? ROUNDED_ZERO : 1e-4))
			return number < 0 ? -whole * 2 : whole * 2;
	}
	/* The upper half: sign, exponent and 20 binary digits. The offset keeps borders away from round
	 * numbers. */
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	return (int64_t)((bits + 0x61c88646u) >> 32) * 2 + 1;
}

/* Columns of other classes may hold the same values: what both are read as has to be the same. */
enum compare_mode compare_mode_alone(enum cell_class type)
{
	switch (type) {
	case CELL_UNKNOWN:
	case CELL_BOOLEAN:
	case CELL_TEXT:
		return COMPARE_LOOSE;
	case CELL_TEXT_ARRAY:
		return COMPARE_ARRAY;
	default:
		return own_mode(type);
	}
}

void compare_read_alone(struct compare_reading *reading, enum cell_class type, str_t cell)
{
	/* 0 and 1 have to look alike from columns that are and that are not boolean. */
	if (type == CELL_BOOLEAN && str_present(cell) && cell.len > 0)
		cell = cell.ptr[0] == 't' || cell.ptr[0] == '1' ? STR("1") : STR("0");
	compare_read(reading, compare_mode_alone(type), cell);
}
