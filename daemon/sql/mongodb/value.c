#include "sql/mongodb/value.h"

#include "common/buf.h"
#include "sql/mongodb/extended_json.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#define LARGEST_INTEGER 9007199254740992.0
#define MAX_NUMBER_LEN	64
#define MAX_ARGUMENTS	7

void *mongodb_fail(struct mongodb_reader *reader, size_t offset, const char *what)
{
	if (!reader->failure) {
		reader->failure = what;
		reader->failed_at = offset;
	}
	return NULL;
}

char mongodb_peek(const struct mongodb_reader *reader)
{
	return reader->at < reader->text.len ? reader->text.ptr[reader->at] : '\0';
}

static char peek_behind(const struct mongodb_reader *reader, size_t ahead)
{
	return reader->at + ahead < reader->text.len ? reader->text.ptr[reader->at + ahead] : '\0';
}

size_t mongodb_space(str_t text, size_t at, bool *ret_ends_line)
{
	static const char *const wide[] = { "\xC2\xA0",	    "\xEF\xBB\xBF", "\xE1\x9A\x80", "\xE2\x80\xA8",
					    "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80" };
	const char *here = text.ptr + at;
	size_t left = text.len - at, len = 0;
	bool ends_line = left > 0 && (here[0] == '\n' || here[0] == '\r');
	if (left > 0 && isspace((unsigned char)here[0]))
		len = 1;
	for (size_t i = 0; len == 0 && i < sizeof wide / sizeof wide[0]; i++)
		if (left >= strlen(wide[i]) && memcmp(here, wide[i], strlen(wide[i])) == 0) {
			len = strlen(wide[i]);
			ends_line = i == 3 || i == 4;
		}
	if (len == 0 && left >= 3 && memcmp(here, "\xE2\x80", 2) == 0 && (unsigned char)here[2] <= 0x8A)
		len = 3;
	if (ret_ends_line)
		*ret_ends_line = ends_line;
	return len;
}

/* Behind the comment that begins here. False: it is not closed. */
static bool find_end_of_comment(struct mongodb_reader *reader)
{
	bool line = peek_behind(reader, 1) == '/', ends_line = false;
	for (reader->at += 2; reader->at < reader->text.len; reader->at++) {
		(void)mongodb_space(reader->text, reader->at, &ends_line);
		if (line && ends_line)
			return true;
		if (!line && reader->text.ptr[reader->at] == '*' && peek_behind(reader, 1) == '/') {
			reader->at += 2;
			return true;
		}
	}
	return line;
}

static bool skip_comment(struct mongodb_reader *reader)
{
	size_t start = reader->at;
	if (!find_end_of_comment(reader))
		return mongodb_fail(reader, start, "a comment is not closed");
	const struct mongodb_comment comment = { start, reader->at - start };
	ARENA_PUSH(reader->arena, reader->comments, reader->comments_count, reader->comments_capacity,
		   comment);
	return true;
}

bool mongodb_skip_space(struct mongodb_reader *reader)
{
	for (;;) {
		size_t space = mongodb_space(reader->text, reader->at, NULL);
		char next = peek_behind(reader, 1);
		if (space > 0)
			reader->at += space;
		else if (mongodb_peek(reader) != '/' || (next != '/' && next != '*'))
			return true;
		else if (!skip_comment(reader))
			return false;
	}
}

bool mongodb_take(struct mongodb_reader *reader, char byte)
{
	if (!mongodb_skip_space(reader) || mongodb_peek(reader) != byte)
		return false;
	reader->at++;
	return true;
}

static bool is_name_start(char byte)
{
	return isalpha((unsigned char)byte) || byte == '_' || byte == '$' || (unsigned char)byte >= 0x80;
}

static bool in_name(const struct mongodb_reader *reader, bool first)
{
	char byte = mongodb_peek(reader);
	return (is_name_start(byte) || (!first && isdigit((unsigned char)byte))) &&
	       mongodb_space(reader->text, reader->at, NULL) == 0;
}

str_t mongodb_take_name(struct mongodb_reader *reader)
{
	size_t start = reader->at;
	while (in_name(reader, reader->at == start))
		reader->at++;
	return arena_text(reader->arena, reader->text.ptr + start, reader->at - start);
}

/* --- strings --- */

static void append_code_point(struct buf *out, uint32_t code)
{
	char bytes[4];
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char leads[] = { 0, 0x00, 0xC0, 0xE0, 0xF0 };
	for (size_t i = len; i-- > 1; code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3F));
	bytes[0] = (char)(leads[len] | code);
	buf_append(out, bytes, len);
}

/* So many hexadecimal digits, or up to a closing brace. False: there are others. */
static bool take_hex(struct mongodb_reader *reader, size_t digits, uint32_t *ret_code)
{
	uint32_t code = 0;
	for (size_t i = 0; i < digits; i++, reader->at++) {
		unsigned char byte = (unsigned char)mongodb_peek(reader);
		if (!isxdigit(byte))
			return false;
		code = code * 16 + (uint32_t)(isdigit(byte) ? byte - '0' : tolower(byte) - 'a' + 10);
	}
	*ret_code = code;
	return true;
}

static bool take_braced(struct mongodb_reader *reader, uint32_t *ret_code)
{
	size_t digits = 0;
	reader->at++;
	while (isxdigit((unsigned char)peek_behind(reader, digits)))
		digits++;
	if (digits == 0 || digits > 6 || !take_hex(reader, digits, ret_code) || mongodb_peek(reader) != '}')
		return false;
	reader->at++;
	return true;
}

/* Behind `\u`. Two escapes may make one character. */
static bool take_unicode(struct mongodb_reader *reader, uint32_t *ret_code)
{
	uint32_t low;
	if (mongodb_peek(reader) == '{')
		return take_braced(reader, ret_code) && *ret_code <= 0x10FFFF &&
		       (*ret_code < 0xD800 || *ret_code > 0xDFFF);
	if (!take_hex(reader, 4, ret_code))
		return false;
	if (*ret_code < 0xD800 || *ret_code > 0xDFFF)
		return true;
	if (*ret_code > 0xDBFF || mongodb_peek(reader) != '\\' || peek_behind(reader, 1) != 'u')
		return false;
	reader->at += 2;
	if (!take_hex(reader, 4, &low) || low < 0xDC00 || low > 0xDFFF)
		return false;
	*ret_code = 0x10000 + ((*ret_code - 0xD800) << 10) + (low - 0xDC00);
	return true;
}

/* Behind a backslash. */
static bool take_escape(struct mongodb_reader *reader, struct buf *out)
{
	static const char plain[] = "nrtbfv", meant[] = "\n\r\t\b\f\v";
	char byte = mongodb_peek(reader);
	const char *known = byte ? strchr(plain, byte) : NULL;
	uint32_t code = 0;
	reader->at++;
	if (known) {
		buf_append_char(out, meant[known - plain]);
		return true;
	}
	if (byte == 'u' || byte == 'x') {
		if (byte == 'u' ? !take_unicode(reader, &code) : !take_hex(reader, 2, &code))
			return false;
		append_code_point(out, code);
		return true;
	}
	if (isdigit((unsigned char)byte)) { /* only \0 is no octal number */
		append_code_point(out, 0);
		return byte == '0' && !isdigit((unsigned char)mongodb_peek(reader));
	}
	bool goes_on = false; /* on the next line */
	size_t space = mongodb_space(reader->text, reader->at - 1, &goes_on);
	if (!goes_on)
		buf_append_char(out, byte);
	else
		reader->at += space - 1 + (byte == '\r' && mongodb_peek(reader) == '\n');
	return true;
}

static bool take_characters(struct mongodb_reader *reader, char quote, struct buf *out)
{
	while (reader->at < reader->text.len) {
		size_t start = reader->at;
		char byte = reader->text.ptr[reader->at++];
		if (byte == quote)
			return true;
		if (quote == '`' && byte == '$' && mongodb_peek(reader) == '{')
			return mongodb_fail(reader, start,
					    "a template that computes something is no literal");
		if ((byte == '\n' || byte == '\r') && quote != '`')
			return mongodb_fail(reader, start, "a string goes on over the end of its line");
		if (byte == '\r') { /* every end of a line in a template is one newline */
			reader->at += mongodb_peek(reader) == '\n';
			byte = '\n';
		}
		if (byte != '\\')
			buf_append_char(out, byte);
		else if (!take_escape(reader, out))
			return mongodb_fail(reader, start, "an escape sequence is not complete");
	}
	return false;
}

str_t mongodb_take_string(struct mongodb_reader *reader)
{
	struct buf out = BUF_INIT;
	size_t start = reader->at;
	char quote = mongodb_peek(reader);
	reader->at++;
	str_t text = STR_NONE;
	if (take_characters(reader, quote, &out))
		text = arena_str(reader->arena, buf_str(&out));
	else
		mongodb_fail(reader, start, "a string is not closed");
	buf_free(&out);
	return text;
}

/* --- numbers --- */

/* One form for each number, so that equal ones are equal texts. */
static str_t plain_digits(double number, struct arena *arena)
{
	char digits[40];
	if (fabs(number) < LARGEST_INTEGER && number == floor(number))
		snprintf(digits, sizeof digits, "%.0f", number == 0 ? 0.0 : number);
	else
		for (int precision = 15; precision <= 17; precision++) {
			snprintf(digits, sizeof digits, "%.*g", precision, number);
			if (strtod(digits, NULL) == number)
				break;
		}
	return arena_text(arena, digits, strlen(digits));
}

void mongodb_set_number(struct mongodb_value *value, double number, struct arena *arena)
{
	bool integral = number == floor(number) && number >= INT32_MIN && number <= INT32_MAX;
	value->kind = MONGODB_NUMBER;
	value->number = number;
	value->type = integral ? "int" : "double";
	value->text = isnan(number)   ? STR("NaN")
		      : isinf(number) ? (number > 0 ? STR("Infinity") : STR("-Infinity"))
				      : plain_digits(number, arena);
}

/* The length of a decimal number of JavaScript at `text`, without its sign; 0: there is none. */
static size_t number_length(const char *text, size_t left)
{
	size_t at = 0, digits = 0;
	while (at < left && isdigit((unsigned char)text[at]))
		at++, digits++;
	if (at < left && text[at] == '.')
		for (at++; at < left && isdigit((unsigned char)text[at]); at++)
			digits++;
	if (digits == 0)
		return 0;
	if (at < left && (text[at] == 'e' || text[at] == 'E')) {
		size_t exponent = at + 1;
		if (exponent < left && (text[exponent] == '+' || text[exponent] == '-'))
			exponent++;
		if (exponent < left && isdigit((unsigned char)text[exponent]))
			for (at = exponent; at < left && isdigit((unsigned char)text[at]);)
				at++;
	}
	return at;
}

static bool read_hexadecimal(struct mongodb_reader *reader, double sign, struct mongodb_value *value)
{
	double number = 0;
	size_t digits = 0;
	for (reader->at += 2; isxdigit((unsigned char)mongodb_peek(reader)); reader->at++, digits++) {
		unsigned char byte = (unsigned char)mongodb_peek(reader);
		number = number * 16 + (isdigit(byte) ? byte - '0' : tolower(byte) - 'a' + 10);
	}
	mongodb_set_number(value, sign * number, reader->arena);
	return digits > 0 && digits <= 16;
}

struct mongodb_value *mongodb_read_number(struct mongodb_reader *reader, struct mongodb_value *value)
{
	char digits[MAX_NUMBER_LEN + 1];
	double sign = mongodb_peek(reader) == '-' ? -1 : 1;
	if (mongodb_peek(reader) == '-' || mongodb_peek(reader) == '+')
		reader->at++;
	size_t start = reader->at, left = reader->text.len - start;
	if (left >= 8 && memcmp(reader->text.ptr + start, "Infinity", 8) == 0) {
		reader->at += 8;
		mongodb_set_number(value, sign * (double)INFINITY, reader->arena);
		return value;
	}
	bool hexadecimal = mongodb_peek(reader) == '0' && (peek_behind(reader, 1) | 0x20) == 'x';
	if (hexadecimal)
		return read_hexadecimal(reader, sign, value)
			       ? value
			       : mongodb_fail(reader, start, "a number is not complete");
	if (mongodb_peek(reader) == '0' && isdigit((unsigned char)peek_behind(reader, 1)))
		return mongodb_fail(reader, start, "a number begins with a zero");
	size_t len = number_length(reader->text.ptr + start, left);
	if (len == 0 || len > MAX_NUMBER_LEN)
		return mongodb_fail(reader, value->offset,
				    len == 0 ? "a value is expected" : "a number is too long");
	memcpy(digits, reader->text.ptr + start, len);
	digits[len] = '\0';
	reader->at += len;
	if (is_name_start(mongodb_peek(reader)) && mongodb_space(reader->text, reader->at, NULL) == 0)
		return mongodb_fail(reader, reader->at, "a number is followed by letters");
	mongodb_set_number(value, sign * strtod(digits, NULL), reader->arena);
	return value;
}

bool mongodb_is_integer(const struct mongodb_value *value)
{
	return value && value->kind == MONGODB_NUMBER && value->number == floor(value->number) &&
	       fabs(value->number) <= LARGEST_INTEGER;
}

/* --- regular expressions --- */

static int by_byte(const void *left, const void *right)
{
	return *(const char *)left - *(const char *)right;
}

str_t mongodb_regex_options(str_t options, struct arena *arena)
{
	static const char allowed[] = "imsxu";
	char *sorted = arena_strdup(arena, options.ptr);
	size_t kept = 0;
	qsort(sorted, options.len, 1, by_byte);
	for (size_t i = 0; i < options.len; i++) {
		if (!strchr(allowed, sorted[i]))
			return STR_NONE;
		if (kept == 0 || sorted[kept - 1] != sorted[i])
			sorted[kept++] = sorted[i];
	}
	sorted[kept] = '\0';
	return (str_t){ sorted, kept };
}

/* What the driver makes of a pattern of JavaScript: of its flags `i` and `m` are sent, and `g` as `s`. */
static str_t options_of_flags(str_t flags, struct arena *arena)
{
	char options[4];
	size_t count = 0;
	for (size_t i = 0; i < flags.len; i++)
		if (!strchr("dgimsuvy", flags.ptr[i]))
			return STR_NONE;
	for (const char *flag = "img"; *flag; flag++)
		if (memchr(flags.ptr, *flag, flags.len))
			options[count++] = *flag == 'g' ? 's' : *flag;
	return arena_text(arena, options, count);
}

static bool read_flags(struct mongodb_reader *reader, struct mongodb_value *value)
{
	size_t start = reader->at;
	value->options = options_of_flags(mongodb_take_name(reader), reader->arena);
	if (!str_present(value->options))
		return mongodb_fail(reader, start, "a regular expression has no such option");
	return true;
}

static struct mongodb_value *read_regex(struct mongodb_reader *reader, struct mongodb_value *value)
{
	size_t start = reader->at + 1;
	bool in_class = false;
	for (reader->at++; reader->at < reader->text.len; reader->at++) {
		char byte = reader->text.ptr[reader->at];
		bool ends_line;
		(void)mongodb_space(reader->text, reader->at, &ends_line);
		if (ends_line)
			break;
		if (byte == '/' && !in_class) {
			value->kind = MONGODB_REGEX;
			value->text = arena_text(reader->arena, reader->text.ptr + start, reader->at - start);
			reader->at++;
			return read_flags(reader, value) ? value : NULL;
		}
		if (byte == '[')
			in_class = true;
		else if (byte == ']')
			in_class = false;
		else if (byte == '\\')
			reader->at++;
	}
	return mongodb_fail(reader, start - 1, "a regular expression is not closed");
}

/* --- what stands for types: ObjectId("…") --- */

struct mongodb_call {
	str_t name;
	size_t offset;
	struct mongodb_value *arguments[MAX_ARGUMENTS];
	size_t count;
};

static bool read_arguments(struct mongodb_reader *reader, struct mongodb_call *call)
{
	while (!mongodb_take(reader, ')')) {
		if (call->count == MAX_ARGUMENTS)
			return mongodb_fail(reader, reader->at, "there are too many arguments");
		struct mongodb_value *argument = mongodb_read_value(reader);
		if (!argument)
			return false;
		call->arguments[call->count++] = argument;
		if (!mongodb_take(reader, ',') && mongodb_peek(reader) != ')')
			return mongodb_fail(reader, reader->at, "a comma or a closing bracket is expected");
	}
	return true;
}

static struct mongodb_value *only_argument(const struct mongodb_call *call, enum mongodb_kind kind)
{
	return call->count == 1 && call->arguments[0]->kind == kind ? call->arguments[0] : NULL;
}

/* A number that is given as one, or as a text. */
static bool argument_number(const struct mongodb_call *call, str_t *ret_text)
{
	struct mongodb_value *number = only_argument(call, MONGODB_NUMBER);
	struct mongodb_value *text = only_argument(call, MONGODB_STRING);
	if (number)
		*ret_text = number->text;
	else if (text)
		*ret_text = text->text;
	return number || text;
}

static bool make_number(const struct mongodb_call *call, const char *type, struct mongodb_value *value,
			struct arena *arena)
{
	str_t text;
	return argument_number(call, &text) && mongodb_number_of(text, type, value, arena);
}

static bool make_date(const struct mongodb_call *call, struct mongodb_value *value, struct arena *arena)
{
	if (call->count == 0) {
		value->kind = MONGODB_NOW;
		return true;
	}
	struct mongodb_value *number = only_argument(call, MONGODB_NUMBER);
	struct mongodb_value *text = only_argument(call, MONGODB_STRING);
	value->kind = MONGODB_DATE;
	if (number) {
		value->numeric = true;
		value->number = number->number;
		value->text = number->text;
		return mongodb_is_integer(number);
	}
	if (text) {
		str_t slashes =
			str_is(call->name, "Date") ? mongodb_date_of_slashes(text->text, arena) : STR_NONE;
		value->text = str_present(slashes) ? slashes : text->text;
		if (str_is(call->name, "Date") && mongodb_is_local(value->text))
			value->type = "local";
		return mongodb_is_date(value->text);
	}
	str_t parts = STR("");
	for (size_t i = 0; i < call->count; i++) {
		if (!mongodb_is_integer(call->arguments[i]))
			return false;
		parts = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(parts), i ? "," : "",
				     STR_ARG(call->arguments[i]->text));
	}
	value->text = parts;
	return call->count >= 2;
}

static bool make_regex(const struct mongodb_call *call, struct mongodb_value *value, struct arena *arena)
{
	bool fits = (call->count == 1 || call->count == 2) && mongodb_is_text(call->arguments[0]) &&
		    (call->count == 1 || mongodb_is_text(call->arguments[1]));
	if (!fits)
		return false;
	value->kind = MONGODB_REGEX;
	value->text = call->arguments[0]->text;
	str_t options = call->count == 2 ? call->arguments[1]->text : STR("");
	value->options = str_is(call->name, "RegExp") ? options_of_flags(options, arena)
						      : mongodb_regex_options(options, arena);
	return str_present(value->options);
}

/* Timestamp({t: 1, i: 2}) is Timestamp(1, 2). */
static bool timestamp_of(const struct mongodb_value *document, struct mongodb_value *value,
			 struct arena *arena)
{
	const struct mongodb_value *seconds = mongodb_member(document, "t");
	const struct mongodb_value *number = mongodb_member(document, "i");
	if (document->count != 2 || !mongodb_is_integer(seconds) || !mongodb_is_integer(number))
		return false;
	value->kind = MONGODB_OTHER;
	value->type = "timestamp";
	value->text = arena_printf(arena, STR_FMT "," STR_FMT, STR_ARG(seconds->text), STR_ARG(number->text));
	return true;
}

static bool make_other(const struct mongodb_call *call, struct mongodb_value *value, struct arena *arena)
{
	bool none = STR_IS_ANY(call->name, "MinKey", "MaxKey");
	str_t parts = STR("");
	value->kind = MONGODB_OTHER;
	value->type = str_is(call->name, "MinKey")	? "minKey"
		      : str_is(call->name, "MaxKey")	? "maxKey"
		      : str_is(call->name, "UUID")	? "uuid"
		      : str_is(call->name, "Timestamp") ? "timestamp"
							: "binary";
	for (size_t i = 0; i < call->count; i++) {
		const struct mongodb_value *argument = call->arguments[i];
		if (argument->kind != MONGODB_STRING && argument->kind != MONGODB_NUMBER)
			return false;
		parts = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(parts), i ? "," : "",
				     STR_ARG(argument->text));
	}
	value->text = parts;
	return none ? call->count == 0 : call->count == (str_is(call->name, "UUID") ? 1u : 2u);
}

static bool make_value(const struct mongodb_call *call, bool constructed, struct mongodb_value *value,
		       struct arena *arena)
{
	str_t name = call->name;
	struct mongodb_value *text = only_argument(call, MONGODB_STRING);
	if (str_is(name, "ObjectId"))
		return text && mongodb_object_id_of(text->text, value, arena);
	if (str_is(name, "ISODate") || (constructed && str_is(name, "Date")))
		return make_date(call, value, arena);
	if (STR_IS_ANY(name, "NumberInt", "Int32"))
		return make_number(call, "int", value, arena);
	if (STR_IS_ANY(name, "NumberLong", "Long"))
		return make_number(call, "long", value, arena);
	if (STR_IS_ANY(name, "NumberDecimal", "Decimal128"))
		return make_number(call, "decimal", value, arena);
	if (STR_IS_ANY(name, "Long.fromString", "Decimal128.fromString"))
		return text && make_number(call, name.ptr[0] == 'L' ? "long" : "decimal", value, arena);
	if (str_is(name, "Timestamp") && call->count == 1)
		return timestamp_of(call->arguments[0], value, arena);
	if (STR_IS_ANY(name, "Double", "Number"))
		return make_number(call, "double", value, arena);
	if (STR_IS_ANY(name, "RegExp", "BSONRegExp"))
		return make_regex(call, value, arena);
	return STR_IS_ANY(name, "UUID", "BinData", "Timestamp", "MinKey", "MaxKey") &&
	       make_other(call, value, arena);
}

static struct mongodb_value *read_word(struct mongodb_reader *reader, struct mongodb_value *value)
{
	struct mongodb_call call = { .offset = reader->at };
	bool constructed = false;
	call.name = mongodb_take_name(reader);
	if (str_is(call.name, "new")) {
		constructed = true;
		if (!mongodb_skip_space(reader))
			return NULL;
		call.offset = reader->at;
		call.name = mongodb_take_name(reader);
	} else if (STR_IS_ANY(call.name, "true", "false")) {
		value->kind = MONGODB_BOOLEAN;
		value->number = str_is(call.name, "true");
		return value;
	} else if (STR_IS_ANY(call.name, "null", "undefined")) {
		return value;
	} else if (STR_IS_ANY(call.name, "NaN", "Infinity")) {
		mongodb_set_number(value, str_is(call.name, "NaN") ? (double)NAN : (double)INFINITY,
				   reader->arena);
		return value;
	}
	if (!constructed && STR_IS_ANY(call.name, "Long", "Decimal128") && mongodb_take(reader, '.')) {
		str_t method = mongodb_take_name(reader);
		call.name =
			arena_printf(reader->arena, STR_FMT "." STR_FMT, STR_ARG(call.name), STR_ARG(method));
	}
	if (!mongodb_take(reader, '(')) {
		if (!STR_IS_ANY(call.name, "MinKey", "MaxKey"))
			return mongodb_fail(reader, call.offset, "this is no literal value");
	} else if (!read_arguments(reader, &call)) {
		return NULL;
	}
	if (!make_value(&call, constructed, value, reader->arena))
		return mongodb_fail(reader, call.offset, "no value is written like this");
	return value;
}

/* --- documents and arrays --- */

static void append(struct mongodb_value *parent, struct mongodb_value *child)
{
	*(parent->last ? &parent->last->next : &parent->first) = child;
	parent->last = child;
	parent->count++;
}

struct mongodb_value *mongodb_member(const struct mongodb_value *document, const char *key)
{
	struct mongodb_value *member = mongodb_is_document(document) ? document->first : NULL;
	while (member && !str_is(member->key, key))
		member = member->next;
	return member;
}

static str_t read_key(struct mongodb_reader *reader)
{
	char byte = mongodb_peek(reader);
	if (byte == '"' || byte == '\'')
		return mongodb_take_string(reader);
	size_t start = reader->at;
	if (is_name_start(byte))
		return mongodb_take_name(reader);
	while (isdigit((unsigned char)mongodb_peek(reader)))
		reader->at++;
	if (reader->at == start || (byte == '0' && reader->at - start > 1) || reader->at - start > 9) {
		mongodb_fail(reader, start, "the name of a field is expected");
		return STR_NONE;
	}
	return arena_text(reader->arena, reader->text.ptr + start, reader->at - start);
}

/* JavaScript's own meaning of it is another one. */
static bool key_is_usable(struct mongodb_reader *reader, str_t key, size_t offset)
{
	if (!str_present(key))
		return false;
	if (memchr(key.ptr, '\0', key.len))
		return mongodb_fail(reader, offset, "the name of a field holds a NUL");
	if (str_is(key, "__proto__"))
		return mongodb_fail(reader, offset, "__proto__ is no field");
	return true;
}

static bool read_field(struct mongodb_reader *reader, struct mongodb_value *document)
{
	if (!mongodb_skip_space(reader))
		return false;
	size_t offset = reader->at;
	str_t key = read_key(reader);
	if (!key_is_usable(reader, key, offset))
		return false;
	if (!mongodb_take(reader, ':'))
		return mongodb_fail(reader, reader->at, "a colon is expected");
	struct mongodb_value *value = mongodb_read_value(reader);
	if (!value)
		return false;
	value->key = key;
	value->key_offset = offset;
	append(document, value);
	return true;
}

static bool read_members(struct mongodb_reader *reader, struct mongodb_value *value, char close)
{
	while (!mongodb_take(reader, close)) {
		if (reader->failure)
			return false;
		struct mongodb_value *item = NULL;
		if (close == '}' ? !read_field(reader, value) : !(item = mongodb_read_value(reader)))
			return false;
		if (item)
			append(value, item);
		if (!mongodb_take(reader, ',') && mongodb_peek(reader) != close)
			return mongodb_fail(reader, reader->at,
					    close == '}' ? "a comma or a closing brace is expected"
							 : "a comma or a closing bracket is expected");
	}
	return true;
}

static int by_key(const void *left, const void *right)
{
	const struct mongodb_value *a = *(struct mongodb_value *const *)left,
				   *b = *(struct mongodb_value *const *)right;
	int order = str_compare(a->key, b->key);
	return order ? order : (a->key_offset > b->key_offset) - (a->key_offset < b->key_offset);
}

/* Which of two fields of one name counts depends on who reads them. */
static bool keys_are_unique(struct mongodb_reader *reader, const struct mongodb_value *document)
{
	struct mongodb_value **sorted = ARENA_ARRAY(reader->arena, struct mongodb_value *, document->count);
	size_t count = 0;
	for (struct mongodb_value *member = document->first; member; member = member->next)
		sorted[count++] = member;
	qsort(sorted, count, sizeof *sorted, by_key);
	for (size_t i = 1; i < count; i++)
		if (str_equal(sorted[i - 1]->key, sorted[i]->key))
			return mongodb_fail(reader, sorted[i]->key_offset, "a field is there twice");
	return true;
}

/* 0 to 4294967294, as a number writes itself; else -1. */
static int64_t index_of(str_t key)
{
	int64_t index = 0;
	if (key.len == 0 || key.len > 10 || (key.ptr[0] == '0' && key.len > 1))
		return -1;
	for (size_t i = 0; i < key.len; i++) {
		if (!isdigit((unsigned char)key.ptr[i]))
			return -1;
		index = index * 10 + (key.ptr[i] - '0');
	}
	return index < UINT32_MAX ? index : -1;
}

static int by_place(const void *left, const void *right)
{
	const struct mongodb_value *a = *(struct mongodb_value *const *)left,
				   *b = *(struct mongodb_value *const *)right;
	int64_t index_a = index_of(a->key), index_b = index_of(b->key);
	if (index_a >= 0 && index_b >= 0)
		return (index_a > index_b) - (index_a < index_b);
	if (index_a >= 0 || index_b >= 0)
		return index_a >= 0 ? -1 : 1;
	return (a->key_offset > b->key_offset) - (a->key_offset < b->key_offset);
}

/* In JavaScript, fields whose names are indexes come first, by number. */
static void put_indexes_first(const struct mongodb_reader *reader, struct mongodb_value *document)
{
	struct mongodb_value **fields = ARENA_ARRAY(reader->arena, struct mongodb_value *, document->count);
	size_t count = 0;
	bool any = false;
	for (struct mongodb_value *field = document->first; field; field = field->next) {
		any |= index_of(field->key) >= 0;
		fields[count++] = field;
	}
	if (!any)
		return;
	qsort(fields, count, sizeof *fields, by_place);
	document->first = document->last = NULL;
	document->count = 0;
	for (size_t i = 0; i < count; i++) {
		fields[i]->next = NULL;
		append(document, fields[i]);
	}
}

static struct mongodb_value *read_members_of(struct mongodb_reader *reader, struct mongodb_value *value)
{
	bool document = mongodb_peek(reader) == '{';
	if (reader->depth == MONGODB_MAX_DEPTH) {
		reader->too_deep = !reader->failure;
		return mongodb_fail(reader, reader->at, "documents are nested too deeply");
	}
	reader->at++;
	reader->depth++;
	value->kind = document ? MONGODB_DOCUMENT : MONGODB_ARRAY;
	bool read = read_members(reader, value, document ? '}' : ']') &&
		    (!document || keys_are_unique(reader, value));
	reader->depth--;
	if (read && document && reader->script)
		put_indexes_first(reader, value);
	if (read && document)
		mongodb_take_extended_json(value, reader->arena);
	return read ? value : NULL;
}

/* A number, or a sum that begins with it or with a bracket. */
static struct mongodb_value *read_sum(struct mongodb_reader *reader, struct mongodb_value *value)
{
	size_t start = reader->at;
	if (mongodb_peek(reader) != '(') {
		if (!mongodb_read_number(reader, value))
			return NULL;
		size_t end = reader->at;
		if (!mongodb_skip_space(reader))
			return NULL;
		char byte = mongodb_peek(reader);
		if (byte == '\0' || !strchr("+-*/", byte)) {
			reader->at = end;
			return value;
		}
	}
	reader->at = start;
	return mongodb_compute(reader, value) ? value : NULL;
}

static struct mongodb_value *read_kind(struct mongodb_reader *reader, struct mongodb_value *value)
{
	char byte = mongodb_peek(reader);
	switch (byte) {
	case '{':
	case '[':
		return read_members_of(reader, value);
	case '"':
	case '\'':
	case '`':
		value->kind = MONGODB_STRING;
		value->text = mongodb_take_string(reader);
		return str_present(value->text) ? value : NULL;
	case '/':
		return read_regex(reader, value);
	case '-':
	case '+':
	case '.':
	case '(':
		return read_sum(reader, value);
	default:
		if (isdigit((unsigned char)byte))
			return read_sum(reader, value);
		if (is_name_start(byte))
			return read_word(reader, value);
		return mongodb_fail(reader, reader->at, "a value is expected");
	}
}

struct mongodb_value *mongodb_read_value(struct mongodb_reader *reader)
{
	if (!mongodb_skip_space(reader))
		return NULL;
	if (++reader->values > MONGODB_MAX_VALUES) {
		reader->too_many = !reader->failure;
		return mongodb_fail(reader, reader->at, "the text holds too many values");
	}
	struct mongodb_value *value = ARENA_NEW(reader->arena, struct mongodb_value);
	value->offset = reader->at;
	if (!read_kind(reader, value))
		return NULL;
	value->end = reader->at;
	value->before = reader->latest;
	reader->latest = value;
	return value;
}
