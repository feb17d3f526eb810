#include "sql/postgresql/resolve/literal_internal.h"

#include "catalog/pg_type_d.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

#define NESTED_MAX 8  /* types inside of each other */
#define NAME_BYTES 64 /* NAMEDATALEN */
#define BAD_VALUE  "22023"

/* Without the spaces around it. */
static str_t trimmed(const char *text)
{
	size_t length = strlen(text);
	while (length > 0 && literal_is_space(*text)) {
		text++;
		length--;
	}
	while (length > 0 && literal_is_space(text[length - 1]))
		length--;
	return (str_t){ text, length };
}

static bool same_word(str_t text, const char *word)
{
	return strlen(word) == text.len && strncasecmp(text.ptr, word, text.len) == 0;
}

static size_t digits_at(str_t text, size_t at)
{
	size_t count = 0;
	while (at + count < text.len && literal_is_digit(text.ptr[at + count]))
		count++;
	return count;
}

static size_t after_sign(str_t text)
{
	return text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
}

/* Words may be cut short as long as they stay unambiguous. */
static literal_fault read_boolean(str_t text)
{
	static const struct {
		const char *word;
		size_t shortest;
	} words[] = { { "true", 1 }, { "false", 1 }, { "yes", 1 }, { "no", 1 },
		      { "on", 2 },   { "off", 2 },   { "1", 1 },   { "0", 1 } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (text.len >= words[i].shortest && text.len <= strlen(words[i].word) &&
		    strncasecmp(text.ptr, words[i].word, text.len) == 0)
			return NULL;
	}
	return BAD_TEXT;
}

/* Later versions read 0x1F, 0o17, 0b11 and 1_000 as well. */
static bool is_later_notation(str_t text, size_t at)
{
	if (at + 2 < text.len && text.ptr[at] == '0' && strchr("xXoObB", text.ptr[at + 1]))
		return true;
	for (size_t i = at + 1; i + 1 < text.len; i++) {
		if (text.ptr[i] == '_' && literal_is_digit(text.ptr[i - 1]) &&
		    literal_is_digit(text.ptr[i + 1]))
			return true;
	}
	return false;
}

static literal_fault read_integer(str_t text, int64_t least, int64_t most)
{
	size_t sign = after_sign(text), digits = digits_at(text, sign);
	if (digits == 0)
		return BAD_TEXT;
	if (sign + digits != text.len && is_later_notation(text, sign))
		return LITERAL_DOUBT;
	errno = 0;
	long long value = strtoll(text.ptr, NULL, 10);
	if (errno == ERANGE || value < least || value > most)
		return OUT_OF_RANGE;
	return sign + digits == text.len ? NULL : BAD_TEXT;
}

/* As strtoul reads it: negative ones count from the end. */
static literal_fault read_oid(str_t text)
{
	size_t sign = after_sign(text), digits = digits_at(text, sign);
	if (digits == 0 || sign + digits != text.len)
		return BAD_TEXT;
	errno = 0;
	unsigned long long value = strtoull(text.ptr + sign, NULL, 10);
	if (sign && text.ptr[0] == '-')
		return errno == ERANGE || value > (unsigned long long)INT32_MAX + 1 ? OUT_OF_RANGE : NULL;
	return errno == ERANGE || value > UINT32_MAX ? OUT_OF_RANGE : NULL;
}

static bool is_special_number(str_t text)
{
	size_t sign = after_sign(text);
	str_t word = { text.ptr + sign, text.len - sign };
	return same_word(word, "nan") || same_word(word, "inf") || same_word(word, "infinity");
}

/* Sign, digits with at most one point, exponent. */
static bool is_decimal(str_t text)
{
	size_t at = after_sign(text), whole = digits_at(text, at), fraction = 0;
	at += whole;
	if (at < text.len && text.ptr[at] == '.') {
		fraction = digits_at(text, at + 1);
		at += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
		at++;
		at += at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+');
		size_t exponent = digits_at(text, at);
		if (exponent == 0)
			return false;
		at += exponent;
	}
	return at == text.len;
}

static literal_fault read_number(str_t text)
{
	if (is_special_number(text))
		return same_word(text, "+nan") || same_word(text, "-nan") ? LITERAL_DOUBT : NULL;
	if (is_decimal(text))
		return LITERAL_DOUBT;
	return is_later_notation(text, after_sign(text)) ? LITERAL_DOUBT : BAD_TEXT;
}

/* C's own notations are read, too. */
static literal_fault read_float(str_t text, bool is_single)
{
	char *end;
	if (text.len == 0)
		return BAD_TEXT;
	errno = 0;
	double value = is_single ? (double)strtof(text.ptr, &end) : strtod(text.ptr, &end);
	if (errno == ERANGE && (value == 0 || isinf(value)))
		return OUT_OF_RANGE;
	return end == text.ptr + text.len ? LITERAL_DOUBT : BAD_TEXT;
}

/* 32 digits; hyphens may follow any group of four, braces may be around. */
static literal_fault read_uuid(str_t text)
{
	size_t digits = 0;
	bool braces = text.len > 1 && text.ptr[0] == '{' && text.ptr[text.len - 1] == '}';
	for (size_t i = braces; i < text.len - braces; i++) {
		if (isxdigit((unsigned char)text.ptr[i]))
			digits++;
		else if (text.ptr[i] != '-' || digits == 0 || digits % 4 != 0 || text.ptr[i - 1] == '-')
			return BAD_TEXT;
	}
	return digits == 32 && text.ptr[text.len - 1 - braces] != '-' ? NULL : BAD_TEXT;
}

/* Binary digits; a leading letter may say so, or that they are hexadecimal. */
static literal_fault read_bits(str_t text)
{
	bool hexadecimal = text.len > 0 && strchr("xX", text.ptr[0]);
	size_t at = text.len > 0 && strchr("bBxX", text.ptr[0]) ? 1 : 0;
	for (; at < text.len; at++) {
		if (hexadecimal ? !isxdigit((unsigned char)text.ptr[at]) : !strchr("01", text.ptr[at]))
			return BAD_TEXT;
	}
	return LITERAL_DOUBT;
}

/* "\\x" and pairs of digits, or bytes and escapes. */
static literal_fault read_bytes(const char *text)
{
	if (text[0] == '\\' && text[1] == 'x') {
		size_t digits = 0;
		for (text += 2; *text; text++) {
			if (isxdigit((unsigned char)*text))
				digits++;
			else if (!strchr(" \n\t\r", *text) || digits % 2 != 0)
				return BAD_VALUE;
		}
		return digits % 2 != 0 ? BAD_VALUE : NULL;
	}
	for (; *text; text++) {
		if (*text != '\\')
			continue;
		bool octal = text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
			     text[3] >= '0' && text[3] <= '7';
		if (!octal && text[1] != '\\')
			return BAD_TEXT;
		text += octal ? 3 : 1;
	}
	return NULL;
}

/* Signs and separators are those of a locale: only what none has is refused. */
static literal_fault read_money(str_t text)
{
	bool has_digit = false, has_letter = false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		has_digit |= literal_is_digit(c);
		has_letter |= literal_is_letter(c);
		bool between = i > 0 && i + 1 < text.len && literal_is_digit(text.ptr[i - 1]) &&
			       literal_is_digit(text.ptr[i + 1]);
		if (strchr("{}[]:/\"=%_;<>&*!?@#^|~", c) || (between && c == '-'))
			return BAD_TEXT;
	}
	return has_letter && !has_digit ? BAD_TEXT : LITERAL_DOUBT;
}

/* Numbers with spaces between them. */
static literal_fault read_vector(const char *text, bool of_oids)
{
	for (;;) {
		char *end;
		while (literal_is_space(*text))
			text++;
		if (!*text)
			return NULL;
		errno = 0;
		long long value = strtoll(text, &end, 10);
		if (end == text)
			return BAD_TEXT;
		if (of_oids ? errno || value > UINT32_MAX || value < INT32_MIN
			    : errno || value > INT16_MAX || value < INT16_MIN)
			return OUT_OF_RANGE;
		if (!of_oids && *end && *end != ' ')
			return BAD_TEXT;
		text = end;
	}
}

/* "(block,offset)" */
static literal_fault read_row_place(const char *text)
{
	const char *parts[2];
	size_t count = 0;
	for (; *text && count < 2 && *text != ')'; text++) {
		if (*text == ',' || (*text == '(' && count == 0))
			parts[count++] = text + 1;
	}
	if (count < 2)
		return BAD_TEXT;
	char *end;
	(void)strtoul(parts[0], &end, 10);
	if (*end != ',')
		return BAD_TEXT;
	unsigned long offset = strtoul(parts[1], &end, 10);
	return *end != ')' || offset > UINT16_MAX ? BAD_TEXT : LITERAL_DOUBT;
}

static literal_fault read_label(const struct catalog_type *type, const char *text)
{
	if (strlen(text) >= NAME_BYTES)
		return BAD_TEXT;
	if (!type->labels)
		return LITERAL_DOUBT;
	for (size_t i = 0; i < type->labels_count; i++) {
		if (str_is(type->labels[i], text))
			return NULL;
	}
	return BAD_TEXT;
}

/* Types of the catalog by their kind. */
static literal_fault literal_of_kind(const struct literal_context *context, type_id id, const char *text)
{
	const struct catalog_type *type = context->catalog ? catalog_type(context->catalog, id) : NULL;
	if (!type)
		return LITERAL_DOUBT;
	if (type->element && type->category == 'A')
		return literal_array(context, type->element, text);
	switch (type->kind) {
	case 'e':
		return read_label(type, text);
	case 'r':
		return literal_range(context, type, text);
	case 'm':
		return literal_multirange(context, type, text);
	case 'c':
		return literal_row(context, type, text);
	default:
		return LITERAL_DOUBT;
	}
}

/* Shapes, and names of the catalog's objects. */
static literal_fault literal_of_object(const struct literal_context *context, type_id base, const char *text)
{
	switch (base) {
	case POINTOID:
	case LSEGOID:
	case BOXOID:
	case LINEOID:
	case CIRCLEOID:
	case PATHOID:
	case POLYGONOID:
		return literal_shape(base, text);
	case REGCLASSOID:
	case REGTYPEOID:
	case REGPROCOID:
	case REGPROCEDUREOID:
	case REGOPEROID:
	case REGNAMESPACEOID:
	case REGROLEOID:
	case REGCOLLATIONOID:
	case REGCONFIGOID:
	case REGDICTIONARYOID:
		return literal_name(context->catalog, base, text);
	default:
		return literal_of_kind(context, base, text);
	}
}

/* What is neither number nor object. */
static literal_fault literal_of_text(const struct literal_context *context, type_id base, const char *text)
{
	switch (base) {
	case TEXTOID:
		return NULL;
	case DATEOID:
		return literal_date(text);
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return literal_timestamp(text);
	case TIMEOID:
	case TIMETZOID:
		return literal_time(text);
	case INTERVALOID:
		return literal_interval(text);
	case UUIDOID:
		return read_uuid(str_from(text));
	case JSONOID:
	case JSONBOID:
		return literal_json(text, base == JSONBOID);
	case RECORDOID:
		return "0A000";
	case BITOID:
	case VARBITOID:
		return read_bits(str_from(text));
	case BYTEAOID:
		return read_bytes(text);
	case TIDOID:
		return read_row_place(text);
	case CIDROID:
	case INETOID:
		return literal_inet(text, base == CIDROID);
	case MACADDROID:
		return literal_mac(text);
	case MACADDR8OID:
		return literal_mac8(text);
	default:
		return literal_of_object(context, base, text);
	}
}

literal_fault literal_of(const struct literal_context *context, type_id type, const char *text)
{
	type_id base = context->catalog ? catalog_type_base(context->catalog, type) : type;
	str_t value = trimmed(text);
	if (context->depth > NESTED_MAX)
		return LITERAL_DOUBT;
	switch (base) {
	case BOOLOID:
		return read_boolean(value);
	case INT2OID:
		return read_integer(value, INT16_MIN, INT16_MAX);
	case INT4OID:
		return read_integer(value, INT32_MIN, INT32_MAX);
	case INT8OID:
		return read_integer(value, INT64_MIN, INT64_MAX);
	case NUMERICOID:
		return read_number(value);
	case FLOAT4OID:
	case FLOAT8OID:
		return read_float(value, base == FLOAT4OID);
	case OIDOID:
		return read_oid(value);
	case MONEYOID:
		return read_money(value);
	case INT2VECTOROID:
	case OIDVECTOROID:
		return read_vector(text, base == OIDVECTOROID);
	default:
		return literal_of_text(context, base, text);
	}
}

enum certainty literal_fits(const struct catalog *catalog, type_id type, const char *text,
			    const char **ret_sqlstate)
{
	literal_fault fault = literal_of(&(struct literal_context){ .catalog = catalog }, type, text);
	if (!literal_is_refused(fault))
		return fault ? PERHAPS : SURELY;
	*ret_sqlstate = fault;
	return SURELY_NOT;
}
