#include "avro/json_quick.h"

#include "avro/json_text.h"
#include "avro/timestamp.h"
#include "common/decimal.h"
#include "common/utf8.h"

#include <math.h>

enum {
	MAX_DEPTH = 64,
	MAX_FIELDS = 64,  /* bits of a mask */
	MAX_UNKNOWN = 32, /* names in one object that the record does not have */
	MAX_KEYS = 128,	  /* of a map */
	MAX_DIGITS = 18,  /* fit into an integer of 64 bits */
	FIRST_ITEMS = 8,
};

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

struct quick {
	const char *at, *end;
	const struct json_limits *limits;
	struct arena *arena;
	int depth;
};

/* Names that were seen in an object and are no fields of its record. */
struct quick_names {
	str_t names[MAX_UNKNOWN];
	size_t count;
};

static bool read_value(struct quick *quick, const struct field *field, void *record);
static bool read_object(struct quick *quick, const struct record_type *type, void *record);
static bool skip_value(struct quick *quick);

/* ---- tokens ---- */

static void skip_blanks(struct quick *quick)
{
	while (quick->at < quick->end &&
	       (*quick->at == ' ' || *quick->at == '\n' || *quick->at == '\r' || *quick->at == '\t'))
		quick->at++;
}

/* The next token's first byte, or NUL at the end. */
static char peek(struct quick *quick)
{
	skip_blanks(quick);
	return quick->at < quick->end ? *quick->at : '\0';
}

static bool take(struct quick *quick, char byte)
{
	if (peek(quick) != byte || quick->at == quick->end)
		return false;
	quick->at++;
	return true;
}

static bool take_word(struct quick *quick, const char *word)
{
	size_t len = strlen(word);
	if ((size_t)(quick->end - quick->at) < len || memcmp(quick->at, word, len) != 0)
		return false;
	quick->at += len;
	return true;
}

/* ---- strings ---- */

/* Past the bytes that stand for themselves. */
static const char *pass_plain(const char *at, const char *end)
{
	return at + json_plain_prefix(at, (size_t)(end - at));
}

static bool hex_digits(const char *at, unsigned *ret_value)
{
	unsigned value = 0;
	for (int i = 0; i < 4; i++) {
		unsigned char byte = (unsigned char)at[i], letter = byte | 0x20;
		if (byte >= '0' && byte <= '9')
			value = value * 16 + byte - '0';
		else if (letter >= 'a' && letter <= 'f')
			value = value * 16 + letter - 'a' + 10;
		else
			return false;
	}
	*ret_value = value;
	return true;
}

static size_t put_utf8(unsigned code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)((0xf00 >> len) | code);
	return len;
}

/* The character of \uXXXX, whose digits are at `at`, with the second half of a pair; bytes read, or 0. */
static size_t read_code(const char *at, const char *end, unsigned *ret_code)
{
	unsigned code, second;
	if (end - at < 4 || !hex_digits(at, &code))
		return 0;
	*ret_code = code;
	if (code < 0xd800 || code > 0xdfff)
		return 4;
	if (code > 0xdbff || end - at < 10 || at[4] != '\\' || at[5] != 'u' || !hex_digits(at + 6, &second) ||
	    second < 0xdc00 || second > 0xdfff)
		return 0;
	*ret_code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
	return 10;
}

/* What stands behind a backslash at `*at`, into `to`; its bytes, or 0: it is none. Never longer than the
 * escape is. */
static size_t read_escape(const char **at, const char *end, char *to)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	unsigned code;
	if (*at == end)
		return 0;
	const char *found = **at ? strchr(names, **at) : NULL;
	if (found) {
		*to = bytes[found - names];
		++*at;
		return 1;
	}
	size_t read = **at == 'u' ? read_code(*at + 1, end, &code) : 0;
	if (read == 0)
		return 0;
	*at += 1 + read;
	return put_utf8(code, to);
}

/* Copies into `to`, if there is one, what the string says from its first escape at `at` on. */
static bool unescape(const char *at, const char *end, char *to, size_t *ret_len, const char **ret_end)
{
	char scratch[4];
	size_t len = 0;
	for (;;) {
		const char *plain = pass_plain(at, end);
		if (to)
			memcpy(to + len, at, (size_t)(plain - at));
		len += (size_t)(plain - at);
		if (plain == end || (unsigned char)*plain < 0x20)
			return false;
		at = plain + 1;
		if (*plain == '"')
			break;
		size_t more = read_escape(&at, end, to ? to + len : scratch);
		if (more == 0)
			return false;
		len += more;
	}
	*ret_len = len;
	*ret_end = at;
	return true;
}

/* A string as it is written, without its quotes; false: it has escapes, too. The name of a member. */
static bool take_name(struct quick *quick, str_t *ret_name)
{
	if (!take(quick, '"'))
		return false;
	const char *end = pass_plain(quick->at, quick->end);
	str_t name = { quick->at, (size_t)(end - quick->at) };
	if (end == quick->end || *end != '"' || utf8_valid_prefix(name.ptr, name.len) != name.len)
		return false;
	quick->at = end + 1;
	*ret_name = name;
	return true;
}

/* The length of the string that begins here, from its opening to its closing quote; 0: it does not end. */
static size_t string_span(const struct quick *quick)
{
	const char *at = quick->at + 1;
	for (;; at += 2) {
		at = pass_plain(at, quick->end);
		if (at == quick->end || (unsigned char)*at < 0x20)
			return 0;
		if (*at == '"')
			return (size_t)(at + 1 - quick->at);
		if (quick->end - at < 2)
			return 0;
	}
}

/* A string's text, copied into the arena. */
static bool take_text(struct quick *quick, str_t *ret_text)
{
	if (peek(quick) != '"')
		return false;
	size_t span = string_span(quick), len;
	if (span == 0)
		return false;
	const char *first = quick->at + 1, *escape = memchr(first, '\\', span - 2);
	str_t text = arena_text(quick->arena, first, span - 2);
	if (utf8_valid_prefix(first, span - 2) != span - 2)
		return false;
	if (escape) {
		char *to = (char *)(uintptr_t)text.ptr + (escape - first);
		const char *end;
		if (!unescape(escape, quick->end, to, &len, &end))
			return false;
		text.len = (size_t)(escape - first) + len;
		to[len] = '\0';
	}
	quick->at += span;
	*ret_text = text;
	return true;
}

static bool skip_string(struct quick *quick)
{
	size_t len, span = string_span(quick);
	const char *end;
	if (span == 0 || utf8_valid_prefix(quick->at + 1, span - 2) != span - 2 ||
	    !unescape(quick->at + 1, quick->end, NULL, &len, &end))
		return false;
	quick->at = end;
	return true;
}

/* ---- numbers ---- */

struct number {
	bool whole; /* has neither a point nor an exponent */
	int64_t integer;
	double real;
};

/* The digits here, added to `*digits`; how many they are, or −1: there is none, or too many. */
static int take_digits(struct quick *quick, uint64_t *digits, int *total)
{
	int count = 0;
	for (; quick->at < quick->end && *quick->at >= '0' && *quick->at <= '9'; quick->at++, count++) {
		*digits = *digits * 10 + (uint64_t)(*quick->at - '0');
		*total += *total > 0 || *quick->at != '0';
		if (*total > MAX_DIGITS)
			return -1;
	}
	return count ? count : -1;
}

static bool take_exponent(struct quick *quick, int *ret_exponent)
{
	uint64_t digits = 0;
	int total = 0;
	quick->at++;
	bool negative = quick->at < quick->end && *quick->at == '-';
	if (negative || (quick->at < quick->end && *quick->at == '+'))
		quick->at++;
	if (take_digits(quick, &digits, &total) < 0 || digits > 9999)
		return false;
	*ret_exponent = negative ? -(int)digits : (int)digits;
	return true;
}

static bool take_number(struct quick *quick, struct number *ret_number)
{
	uint64_t digits = 0;
	int total = 0, places = 0, exponent = 0;
	const char *first = quick->at;
	bool negative = *first == '-';
	quick->at += negative;
	bool zero = quick->at < quick->end && *quick->at == '0';
	int count = take_digits(quick, &digits, &total);
	if (count < 0 || (zero && count > 1))
		return false;
	struct number number = { .whole = true };
	if (quick->at < quick->end && *quick->at == '.') {
		quick->at++;
		number.whole = false;
		if ((places = take_digits(quick, &digits, &total)) < 0)
			return false;
	}
	if (quick->at < quick->end && (*quick->at | 0x20) == 'e') {
		number.whole = false;
		if (!take_exponent(quick, &exponent))
			return false;
	}
	number.integer = negative ? -(int64_t)digits : (int64_t)digits;
	number.real = (double)number.integer;
	*ret_number = number;
	str_t text = { first, (size_t)(quick->at - first) };
	return number.whole || decimal_read(text, digits, exponent - places, &ret_number->real);
}

static bool is_number(char byte)
{
	return byte == '-' || (byte >= '0' && byte <= '9');
}

static bool read_long(struct quick *quick, const struct field *field, void *record)
{
	struct number number;
	int64_t value;
	str_t text;
	if (field->kind == FIELD_TIME && peek(quick) == '"') {
		if (!take_text(quick, &text) || !timestamp_parse(text, &value))
			return false;
	} else if (!is_number(peek(quick)) || !take_number(quick, &number)) {
		return false;
	} else if (number.whole) {
		value = number.integer;
	} else {
		if (number.real != trunc(number.real) || fabs(number.real) > EXACT_MAX)
			return false;
		value = (int64_t)number.real;
	}
	field_set_long(field, record, value);
	return true;
}

static bool read_double(struct quick *quick, const struct field *field, void *record)
{
	struct number number;
	if (!is_number(peek(quick)) || !take_number(quick, &number))
		return false;
	field_set_double(field, record, number.real);
	return true;
}

/* ---- other values ---- */

static bool read_bool(struct quick *quick, const struct field *field, void *record)
{
	bool value = peek(quick) == 't';
	if (!take_word(quick, value ? "true" : "false"))
		return false;
	field_set_bool(field, record, value);
	return true;
}

static bool read_enum(struct quick *quick, const struct field *field, void *record)
{
	str_t text;
	if (!take_text(quick, &text))
		return false;
	int index = field_enumeration_find(field->symbols, text);
	if (index < 0 && (field->flags & FIELD_REQUIRED))
		return false;
	if (index < 0)
		field_set_unknown(field, record, text, quick->arena);
	else
		*(int *)field_at(field, record) = index;
	return true;
}

/* Goes into brackets; whether there is anything in them. */
static bool enter(struct quick *quick, char opening, char closing, bool *ret_empty)
{
	if (!take(quick, opening) || ++quick->depth > MAX_DEPTH)
		return false;
	*ret_empty = take(quick, closing);
	quick->depth -= *ret_empty;
	return true;
}

/* Behind an item: another one follows, or the brackets are left. */
static bool next_or_leave(struct quick *quick, char closing, bool *ret_left)
{
	*ret_left = take(quick, closing);
	quick->depth -= *ret_left;
	return *ret_left || take(quick, ',');
}

/* Room for another item, at zero, in items that hold `*capacity`. */
static char *add_item(struct quick *quick, const struct field *field, struct field_items *items,
		      size_t *capacity)
{
	size_t size = field->item_size_bytes;
	if (items->count == *capacity) {
		char *larger = arena_calloc(quick->arena, *capacity ? 2 * *capacity : FIRST_ITEMS, size);
		if (items->count)
			memcpy(larger, items->data, items->count * size);
		*capacity = *capacity ? 2 * *capacity : FIRST_ITEMS;
		items->data = larger;
	}
	return items->data + items->count++ * size;
}

static bool read_array(struct quick *quick, const struct field *field, void *record)
{
	struct field_items items = { NULL, 0 };
	size_t capacity = 0;
	bool left;
	if (!enter(quick, '[', ']', &left))
		return false;
	while (!left) {
		if (items.count == quick->limits->max_items ||
		    !read_value(quick, field->item, add_item(quick, field, &items, &capacity)) ||
		    !next_or_leave(quick, ']', &left))
			return false;
	}
	field_set_items(field, record, items);
	return true;
}

static bool has_key(const struct field *field, const struct field_items *items, str_t key)
{
	for (size_t i = 0; i < items->count; i++)
		if (str_equal(*(const str_t *)(const void *)(items->data + i * field->item_size_bytes), key))
			return true;
	return false;
}

static bool read_map(struct quick *quick, const struct field *field, void *record)
{
	struct field_items items = { NULL, 0 };
	size_t capacity = 0;
	bool left;
	str_t key;
	if (!enter(quick, '{', '}', &left))
		return false;
	while (!left) {
		if (!take_name(quick, &key) || !take(quick, ':') || items.count == MAX_KEYS ||
		    items.count == quick->limits->max_items || has_key(field, &items, key))
			return false;
		char *item = add_item(quick, field, &items, &capacity);
		*(str_t *)(void *)item = arena_str(quick->arena, key);
		if (!read_value(quick, field->item, item) || !next_or_leave(quick, '}', &left))
			return false;
	}
	field_set_items(field, record, items);
	return true;
}

static bool read_record(struct quick *quick, const struct field *field, void *record)
{
	return peek(quick) == '{' &&
	       read_object(quick, field->record, field_make_record(field, record, quick->arena));
}

static bool read_value(struct quick *quick, const struct field *field, void *record)
{
	if (peek(quick) == 'n') {
		if ((field->flags & FIELD_REQUIRED) || !take_word(quick, "null"))
			return false;
		field_init(field, record);
		return true;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		return read_bool(quick, field, record);
	case FIELD_LONG:
	case FIELD_TIME:
		return read_long(quick, field, record);
	case FIELD_DOUBLE:
		return read_double(quick, field, record);
	case FIELD_TEXT:
		return take_text(quick, field_at(field, record));
	case FIELD_ENUM:
		return read_enum(quick, field, record);
	case FIELD_RECORD:
		return read_record(quick, field, record);
	case FIELD_ARRAY:
		return read_array(quick, field, record);
	default:
		return read_map(quick, field, record);
	}
}

/* ---- what is not read ---- */

static bool note_name(struct quick_names *names, str_t name)
{
	for (size_t i = 0; i < names->count; i++)
		if (str_equal(names->names[i], name))
			return false;
	if (names->count == MAX_UNKNOWN)
		return false;
	names->names[names->count++] = name;
	return true;
}

static bool skip_object(struct quick *quick)
{
	struct quick_names names;
	bool left;
	str_t name;
	names.count = 0;
	if (!enter(quick, '{', '}', &left))
		return false;
	while (!left)
		if (!take_name(quick, &name) || !note_name(&names, name) || !take(quick, ':') ||
		    !skip_value(quick) || !next_or_leave(quick, '}', &left))
			return false;
	return true;
}

static bool skip_array(struct quick *quick)
{
	bool left;
	if (!enter(quick, '[', ']', &left))
		return false;
	while (!left)
		if (!skip_value(quick) || !next_or_leave(quick, ']', &left))
			return false;
	return true;
}

static bool skip_value(struct quick *quick)
{
	struct number number;
	switch (peek(quick)) {
	case '"':
		return skip_string(quick);
	case '{':
		return skip_object(quick);
	case '[':
		return skip_array(quick);
	case 't':
		return take_word(quick, "true");
	case 'f':
		return take_word(quick, "false");
	case 'n':
		return take_word(quick, "null");
	default:
		return is_number(peek(quick)) && take_number(quick, &number);
	}
}

/* ---- records ---- */

/* The index of the field of that name, `next` if it can be, or the count: there is none. */
static size_t find_field(const struct record_type *type, str_t name, size_t next)
{
	for (size_t i = 0; i < type->count; i++) {
		size_t index = next + i < type->count ? next + i : next + i - type->count;
		if (str_is(name, type->fields[index].name))
			return index;
	}
	return type->count;
}

static bool read_member(struct quick *quick, const struct record_type *type, uint64_t *seen, size_t *next,
			struct quick_names *unknown, void *record)
{
	str_t name;
	if (!take_name(quick, &name) || !take(quick, ':'))
		return false;
	size_t index = find_field(type, name, *next);
	if (index == type->count)
		return note_name(unknown, name) && skip_value(quick);
	if (*seen >> index & 1)
		return false;
	*seen |= UINT64_C(1) << index;
	*next = index + 1 < type->count ? index + 1 : 0;
	return read_value(quick, &type->fields[index], record);
}

static bool read_object(struct quick *quick, const struct record_type *type, void *record)
{
	struct quick_names unknown;
	uint64_t seen = 0;
	size_t next = 0;
	bool left;
	unknown.count = 0;
	if (type->count > MAX_FIELDS || !enter(quick, '{', '}', &left))
		return false;
	while (!left)
		if (!read_member(quick, type, &seen, &next, &unknown, record) ||
		    !next_or_leave(quick, '}', &left))
			return false;
	for (size_t i = 0; i < type->count; i++)
		if ((type->fields[i].flags & FIELD_REQUIRED) && !(seen >> i & 1))
			return false;
	return true;
}

bool json_read_quickly(const struct record_type *type, str_t json, const struct json_limits *limits,
		       struct arena *arena, void *record)
{
	struct quick quick = { json.ptr, json.ptr + json.len, limits, arena, 0 };
	if (!read_object(&quick, type, record))
		return false;
	skip_blanks(&quick);
	return quick.at == quick.end;
}
