#include "avro/json_text.h"

#include "common/buf.h"
#include "common/hash.h"
#include "common/utf8.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#define DEPTH_MAX      64u
#define FEW_NAMES      32u /* up to here names are compared one by one */
#define FIRST_CAPACITY 256u
#define EXPONENT_MAX   100000
#define EXACT_MAX      9007199254740992u /* 2^53: whole numbers up to here are exact as doubles */
#define EXACT_POWER    22		 /* the same of powers of ten */

struct scanner {
	const char *start, *at, *end;
	struct json_value *values;
	size_t count, capacity;
	struct arena *arena;
	unsigned depth;
	struct err_detail *detail;
};

static err_t scan_value(struct scanner *scanner);

/* ---- what is wrong ---- */

static err_t complain(struct scanner *scanner, const char *behind, err_t err, const char *what)
{
	unsigned line = 1, column = 0;
	char text[32] = "";
	for (const char *at = scanner->start; at < behind; at++) {
		bool ended = *at == '\n';
		line += ended;
		column = ended ? 0 : column + ((*at & 0xc0) != 0x80);
	}
	if (line > 1)
		snprintf(text, sizeof text, "line %u, ", line);
	return err_fail(scanner->detail, err, "%scolumn %u: %s", text, column, what);
}

/* Something else was expected where the scanner is. */
static err_t refuse(struct scanner *scanner, const char *what)
{
	char text[128];
	size_t left = (size_t)(scanner->end - scanner->at);
	if (left == 0) {
		snprintf(text, sizeof text, "%s, but the text ends", what);
		return complain(scanner, scanner->at, ERR_JSON_SYNTAX, text);
	}
	if (utf8_valid_prefix(scanner->at, left < 4 ? left : 4) == 0)
		return complain(scanner, scanner->at, ERR_TEXT_ENCODING, "invalid UTF-8");
	return complain(scanner, scanner->at + (*scanner->at != '\n'), ERR_JSON_SYNTAX, what);
}

/* ---- tools ---- */

static struct json_value *push(struct scanner *scanner, enum json_kind kind)
{
	if (scanner->count == scanner->capacity) {
		scanner->capacity = scanner->capacity ? scanner->capacity * 2 : FIRST_CAPACITY;
		scanner->values = reallocarray(scanner->values, scanner->capacity, sizeof *scanner->values);
		if (!scanner->values)
			abort();
	}
	struct json_value *value = &scanner->values[scanner->count++];
	*value = (struct json_value){ .kind = (uint8_t)kind, .span = 1 };
	return value;
}

static bool at_byte(const struct scanner *scanner, char byte)
{
	return scanner->at < scanner->end && *scanner->at == byte;
}

static bool take(struct scanner *scanner, char byte)
{
	bool there = at_byte(scanner, byte);
	scanner->at += there;
	return there;
}

static bool at_digit(const struct scanner *scanner)
{
	return scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9';
}

static void skip_space(struct scanner *scanner)
{
	while (at_byte(scanner, ' ') || at_byte(scanner, '\n') || at_byte(scanner, '\t') ||
	       at_byte(scanner, '\r'))
		scanner->at++;
}

/* ---- strings ---- */

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Four digits; false: where it stands is none. */
static bool take_unit(const char **at, const char *end, unsigned *ret_unit)
{
	unsigned unit = 0;
	for (int i = 0; i < 4; i++, ++*at) {
		int digit = *at < end ? hex_digit(**at) : -1;
		if (digit < 0)
			return false;
		unit = unit * 16 + (unsigned)digit;
	}
	*ret_unit = unit;
	return true;
}

static const char *skip_units(struct scanner *scanner)
{
	unsigned unit, low = 0;
	if (!take_unit(&scanner->at, scanner->end, &unit))
		return "\\u needs four hexadecimal digits";
	if (unit < 0xd800 || unit > 0xdfff)
		return NULL;
	if (unit > 0xdbff || !take(scanner, '\\') || !take(scanner, 'u') ||
	    !take_unit(&scanner->at, scanner->end, &low) || low < 0xdc00 || low > 0xdfff)
		return "half of a surrogate pair";
	return NULL;
}

/* From the backslash on. What is wrong, or NULL. */
static const char *skip_escape(struct scanner *scanner)
{
	scanner->at++;
	if (take(scanner, 'u'))
		return skip_units(scanner);
	if (scanner->at == scanner->end || !*scanner->at || !strchr("\"\\/bfnrt", *scanner->at))
		return "an unknown escape";
	scanner->at++;
	return NULL;
}

/* Up to the closing quote. What is wrong, or NULL. */
static const char *skip_characters(struct scanner *scanner, bool *ret_escaped)
{
	for (;;) {
		const char *at = scanner->at;
		while (at < scanner->end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\')
			at++;
		scanner->at = at;
		if (!at_byte(scanner, '\\'))
			return at_byte(scanner, '"') ? NULL
			       : at == scanner->end  ? "expected a closing quote"
						     : "a control character has to be escaped";
		const char *problem = skip_escape(scanner);
		if (problem)
			return problem;
		*ret_escaped = true;
	}
}

/* The quotes are taken, too. */
static err_t scan_string(struct scanner *scanner)
{
	bool escaped = false;
	const char *start = ++scanner->at;
	const char *problem = skip_characters(scanner, &escaped);
	size_t len = (size_t)(scanner->at - start), valid = utf8_valid_prefix(start, len);
	if (valid < len) {
		scanner->at = start + valid;
		problem = "invalid UTF-8";
	}
	if (problem)
		return refuse(scanner, problem);
	scanner->at++;
	struct json_value *value = push(scanner, JSON_IS_STRING);
	value->text = (str_t){ start, len };
	value->escaped = escaped;
	return ERR_OK;
}

static char *put_utf8(char *out, unsigned code)
{
	if (code < 0x80) {
		*out++ = (char)code;
		return out;
	}
	if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*out++ = (char)(0xe0 | code >> 12);
		} else {
			*out++ = (char)(0xf0 | code >> 18);
			*out++ = (char)(0x80 | (code >> 12 & 0x3f));
		}
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (code & 0x3f));
	return out;
}

/* What stands behind a backslash, of a string that was scanned. */
static char *put_escape(char *out, const char **at, const char *end)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char name = *(*at)++;
	unsigned unit = 0, low = 0;
	if (name != 'u') {
		*out++ = meanings[strchr(names, name) - names];
		return out;
	}
	take_unit(at, end, &unit);
	if (unit < 0xd800 || unit > 0xdfff)
		return put_utf8(out, unit);
	*at += strlen("\\u");
	take_unit(at, end, &low);
	return put_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

str_t json_value_text(const struct json_value *string, struct arena *arena)
{
	if (!string->escaped)
		return string->text;
	/* an escape is never shorter than what it stands for */
	char *text = arena_alloc(arena, string->text.len + 1), *out = text;
	const char *at = string->text.ptr, *end = at + string->text.len;
	while (at < end)
		if (*at == '\\') {
			at++;
			out = put_escape(out, &at, end);
		} else {
			*out++ = *at++;
		}
	return (str_t){ text, (size_t)(out - text) };
}

/* ---- numbers ---- */

struct number {
	uint64_t digits; /* as far as they fit, as one number */
	int exponent;	 /* of ten, for these digits */
	bool all;	 /* they did fit */
};

/* False: there is none. */
static bool take_digits(struct scanner *scanner, struct number *number, bool fraction)
{
	if (!at_digit(scanner))
		return false;
	for (; at_digit(scanner); scanner->at++) {
		number->all = number->all && number->digits <= (UINT64_MAX - 9) / 10;
		if (!number->all)
			continue;
		number->digits = number->digits * 10 + (uint64_t)(*scanner->at - '0');
		number->exponent -= fraction;
	}
	return true;
}

static bool take_exponent(struct scanner *scanner, struct number *number)
{
	int exponent = 0;
	bool negative = take(scanner, '-');
	if (!negative)
		take(scanner, '+');
	if (!at_digit(scanner))
		return false;
	for (; at_digit(scanner); scanner->at++)
		if (exponent < EXPONENT_MAX)
			exponent = exponent * 10 + *scanner->at - '0';
	number->exponent += negative ? -exponent : exponent;
	return true;
}

/* Whether one operation gives the nearest double: both of its operands are exact. */
static bool simple(const struct number *number)
{
	return FLT_EVAL_METHOD == 0 && number->all && number->digits <= EXACT_MAX &&
	       number->exponent <= EXACT_POWER && number->exponent >= -EXACT_POWER;
}

static double simple_value(const struct number *number)
{
	static const double powers[EXACT_POWER + 1] = { 1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,
							1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
							1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	double digits = (double)number->digits;
	return number->exponent < 0 ? digits / powers[-number->exponent] : digits * powers[number->exponent];
}

/* By the C library, in its own locale whatever the process has. */
static double careful_value(const char *text, size_t len)
{
	_cleanup_(buf_free) struct buf copy = BUF_INIT;
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!plain)
		abort();
	buf_append(&copy, text, len);
	double value = strtod_l(copy.data, NULL, plain);
	freelocale(plain);
	return value;
}

static err_t push_whole(struct scanner *scanner, const struct number *number, bool negative)
{
	const uint64_t most = (uint64_t)INT64_MAX + negative;
	if (!number->all || number->digits > most)
		return complain(scanner, scanner->at, ERR_JSON_SHAPE, "a whole number is too big");
	push(scanner, JSON_IS_WHOLE)->whole =
		negative ? (int64_t)(0 - number->digits) : (int64_t)number->digits;
	return ERR_OK;
}

static err_t scan_number(struct scanner *scanner)
{
	struct number number = { .all = true };
	const char *start = scanner->at;
	bool whole = true, negative = take(scanner, '-');
	if (!take(scanner, '0') && !take_digits(scanner, &number, false))
		return refuse(scanner, "expected a digit");
	if (take(scanner, '.')) {
		whole = false;
		if (!take_digits(scanner, &number, true))
			return refuse(scanner, "expected a digit");
	}
	if (take(scanner, 'e') || take(scanner, 'E')) {
		whole = false;
		if (!take_exponent(scanner, &number))
			return refuse(scanner, "expected a digit");
	}
	if (whole)
		return push_whole(scanner, &number, negative);
	bool is_simple = simple(&number);
	double value =
		is_simple ? simple_value(&number) : careful_value(start, (size_t)(scanner->at - start));
	if (isinf(value))
		return complain(scanner, scanner->at, ERR_JSON_SHAPE, "overflow of a number");
	push(scanner, JSON_IS_REAL)->real = is_simple && negative ? -value : value;
	return ERR_OK;
}

/* ---- objects, arrays ---- */

/* Names of an object that has many; empty at first. */
struct names {
	struct arena *arena;
	struct hash_map map;
};

static void names_free(struct names *names)
{
	arena_free(names->arena);
}

/* Whether none of the object's members has the name, which is the last value so far. */
static bool is_new(struct scanner *scanner, size_t object, struct names *names)
{
	const struct json_value *last = &scanner->values[scanner->count - 1];
	const struct json_value *name = &scanner->values[object + 1];
	if (scanner->values[object].count < FEW_NAMES) {
		while (name < last && !str_equal(name->text, last->text))
			name = json_value_next(name + 1);
		return name == last;
	}
	if (!names->arena) {
		names->arena = arena_new();
		hash_map_init(&names->map, names->arena, FEW_NAMES * 2);
		for (; name < last; name = json_value_next(name + 1))
			hash_map_set(&names->map, name->text, scanner);
	}
	return !hash_map_set(&names->map, last->text, scanner);
}

static err_t scan_name(struct scanner *scanner, size_t object, struct names *names)
{
	if (!at_byte(scanner, '"'))
		return refuse(scanner, "expected a name in quotes");
	err_t err = scan_string(scanner);
	if (err)
		return err;
	struct json_value *name = &scanner->values[scanner->count - 1];
	name->text = json_value_text(name, scanner->arena);
	if (name->escaped && memchr(name->text.ptr, '\0', name->text.len))
		return complain(scanner, scanner->at, ERR_JSON_SYNTAX, "a name with a NUL");
	name->escaped = false;
	if (!is_new(scanner, object, names))
		return complain(scanner, scanner->at, ERR_JSON_SYNTAX, "duplicate name");
	skip_space(scanner);
	return take(scanner, ':') ? ERR_OK : refuse(scanner, "expected ':'");
}

static err_t scan_members(struct scanner *scanner, size_t object)
{
	_cleanup_(names_free) struct names names = { 0 };
	do {
		skip_space(scanner);
		err_t err = scan_name(scanner, object, &names);
		if (!err)
			err = scan_value(scanner);
		if (err)
			return err;
		scanner->values[object].count++;
		skip_space(scanner);
	} while (take(scanner, ','));
	return take(scanner, '}') ? ERR_OK : refuse(scanner, "expected ',' or '}'");
}

static err_t scan_items(struct scanner *scanner, size_t array)
{
	do {
		err_t err = scan_value(scanner);
		if (err)
			return err;
		scanner->values[array].count++;
		skip_space(scanner);
	} while (take(scanner, ','));
	return take(scanner, ']') ? ERR_OK : refuse(scanner, "expected ',' or ']'");
}

static err_t scan_container(struct scanner *scanner, bool object)
{
	err_t err = ERR_OK;
	size_t index = scanner->count;
	if (++scanner->depth > DEPTH_MAX)
		return complain(scanner, scanner->at + 1, ERR_JSON_SYNTAX,
				"the JSON is nested deeper than 64 levels");
	push(scanner, object ? JSON_IS_OBJECT : JSON_IS_ARRAY)->count = 0;
	scanner->at++;
	skip_space(scanner);
	if (!take(scanner, object ? '}' : ']'))
		err = object ? scan_members(scanner, index) : scan_items(scanner, index);
	scanner->values[index].span = (uint32_t)(scanner->count - index);
	scanner->depth--;
	return err;
}

/* ---- values ---- */

static err_t scan_literal(struct scanner *scanner)
{
	static const struct {
		const char *text;
		enum json_kind kind;
	} literals[] = { { "null", JSON_IS_NULL }, { "true", JSON_IS_TRUE }, { "false", JSON_IS_FALSE } };
	for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
		size_t len = strlen(literals[i].text);
		if ((size_t)(scanner->end - scanner->at) < len ||
		    memcmp(scanner->at, literals[i].text, len) != 0)
			continue;
		push(scanner, literals[i].kind);
		scanner->at += len;
		return ERR_OK;
	}
	return refuse(scanner, "expected a value");
}

static err_t scan_value(struct scanner *scanner)
{
	skip_space(scanner);
	switch (scanner->at < scanner->end ? *scanner->at : '\0') {
	case '{':
	case '[':
		return scan_container(scanner, *scanner->at == '{');
	case '"':
		return scan_string(scanner);
	default:
		return at_digit(scanner) || at_byte(scanner, '-') ? scan_number(scanner)
								  : scan_literal(scanner);
	}
}

static err_t scan_whole(struct scanner *scanner)
{
	skip_space(scanner);
	if (scanner->at == scanner->end)
		return err_fail(scanner->detail, ERR_JSON_SYNTAX,
				"the text is empty; expected an object, { … }");
	err_t err = scan_value(scanner);
	skip_space(scanner);
	if (!err && scanner->at < scanner->end)
		err = refuse(scanner, "expected the end of the text");
	return err;
}

err_t json_text_parse(str_t json, struct json_text *ret_text, struct err_detail *detail)
{
	struct scanner scanner = {
		.start = json.ptr, .at = json.ptr, .end = json.ptr + json.len, .detail = detail
	};
	if (json.len >= UINT32_MAX)
		return err_fail(detail, ERR_JSON_SYNTAX, "the text has more than 4 GiB");
	scanner.arena = arena_new();
	struct json_text text = { NULL, scanner.arena };
	err_t err = scan_whole(&scanner);
	text.values = scanner.values;
	if (err)
		json_text_free(&text);
	else
		*ret_text = text;
	return err;
}

void json_text_free(struct json_text *text)
{
	free(TAKE_PTR(text->values));
	arena_free(TAKE_PTR(text->arena));
}
