#include "sql/mongodb/extended_json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MAX_DECIMAL_LEN 50

static bool all_of(str_t text, int (*is)(int))
{
	for (size_t i = 0; i < text.len; i++)
		if (!is((unsigned char)text.ptr[i]))
			return false;
	return text.len > 0;
}

/* So many digits at `at`, which moves on behind them. */
static bool digits(str_t text, size_t *at, size_t count, unsigned *ret_number)
{
	unsigned number = 0;
	for (size_t i = 0; i < count; i++, ++*at) {
		if (*at >= text.len || !isdigit((unsigned char)text.ptr[*at]))
			return false;
		number = number * 10 + (unsigned)(text.ptr[*at] - '0');
	}
	*ret_number = number;
	return true;
}

static bool byte_is(str_t text, size_t *at, const char *bytes)
{
	if (*at >= text.len || !strchr(bytes, text.ptr[*at]))
		return false;
	++*at;
	return true;
}

/* The end of the text, or a zone and the end. */
static bool ends_with_zone(str_t text, size_t at)
{
	unsigned hours, minutes;
	if (at == text.len || (byte_is(text, &at, "Z") && at == text.len))
		return true;
	if (!byte_is(text, &at, "+-") || !digits(text, &at, 2, &hours))
		return false;
	bool more = at < text.len;
	(void)byte_is(text, &at, ":");
	return (!more || digits(text, &at, 2, &minutes)) && at == text.len;
}

bool mongodb_is_date(str_t text)
{
	size_t at = 0;
	unsigned year, month = 1, day = 1, hour, minute, second = 0;
	if (!digits(text, &at, 4, &year))
		return false;
	if (byte_is(text, &at, "-") && !digits(text, &at, 2, &month))
		return false;
	if (byte_is(text, &at, "-") && !digits(text, &at, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	if (!byte_is(text, &at, "T "))
		return at == text.len;
	if (!digits(text, &at, 2, &hour) || !byte_is(text, &at, ":") || !digits(text, &at, 2, &minute))
		return false;
	if (byte_is(text, &at, ":") && !digits(text, &at, 2, &second))
		return false;
	if (byte_is(text, &at, "."))
		while (at < text.len && isdigit((unsigned char)text.ptr[at]))
			at++;
	return hour <= 24 && minute < 60 && second <= 60 && ends_with_zone(text, at);
}

str_t mongodb_date_of_slashes(str_t text, struct arena *arena)
{
	size_t at = 0;
	unsigned parts[6] = { 0 };
	const char *const between[] = { "/", "/", " ", ":", ":" };
	if (!digits(text, &at, 4, &parts[0]))
		return STR_NONE;
	for (size_t i = 1; i < 6 && at < text.len; i++) {
		size_t most = at + 2 < text.len && isdigit((unsigned char)text.ptr[at + 2]) ? 2 : 1;
		if (!byte_is(text, &at, between[i - 1]) || !digits(text, &at, most, &parts[i]))
			return STR_NONE;
	}
	bool whole = at == text.len && parts[2] > 0 && (parts[3] == 0 || memchr(text.ptr, ':', text.len));
	return whole ? arena_printf(arena, "%04u-%02u-%02uT%02u:%02u:%02u", parts[0], parts[1], parts[2],
				    parts[3], parts[4], parts[5])
		     : STR_NONE;
}

bool mongodb_is_local(str_t text)
{
	const char *time = memchr(text.ptr, ':', text.len);
	return time && !strpbrk(time, "Z+-");
}

bool mongodb_object_id_of(str_t text, struct mongodb_value *value, struct arena *arena)
{
	if (text.len != 24 || !all_of(text, isxdigit))
		return false;
	char *lower = arena_strdup(arena, text.ptr);
	for (size_t i = 0; i < text.len; i++)
		lower[i] = (char)tolower((unsigned char)lower[i]);
	value->kind = MONGODB_OBJECT_ID;
	value->text = (str_t){ lower, text.len };
	return true;
}

static bool is_decimal(str_t text)
{
	char *end = NULL;
	if (text.len == 0 || text.len > MAX_DECIMAL_LEN || strlen(text.ptr) != text.len ||
	    isspace((unsigned char)text.ptr[0]) || strpbrk(text.ptr, "xXpP"))
		return false;
	(void)strtod(text.ptr, &end);
	return end == text.ptr + text.len;
}

/* A text that is an integer of 64 bits, without leading zeros or a plus. */
static bool is_long(str_t text, long long *ret_number)
{
	char *end = NULL;
	if (text.len == 0 || text.len > 20 || strlen(text.ptr) != text.len ||
	    !(isdigit((unsigned char)text.ptr[0]) || (text.ptr[0] == '-' && text.len > 1)))
		return false;
	errno = 0;
	*ret_number = strtoll(text.ptr, &end, 10);
	return errno == 0 && end == text.ptr + text.len;
}

static str_t double_text(double number, struct arena *arena)
{
	char text[40];
	if (number == floor(number) && fabs(number) < 1e15)
		return arena_printf(arena, "%.0f", number == 0 ? 0.0 : number);
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof text, "%.*g", precision, number);
		if (strtod(text, NULL) == number)
			break;
	}
	return arena_text(arena, text, strlen(text));
}

bool mongodb_number_of(str_t text, const char *type, struct mongodb_value *value, struct arena *arena)
{
	long long whole;
	bool integer = is_long(text, &whole);
	bool bits_32 = integer && whole >= INT32_MIN && whole <= INT32_MAX;
	value->kind = MONGODB_NUMBER;
	value->type = type;
	if (strcmp(type, "int") == 0 ? bits_32 : strcmp(type, "long") == 0 && integer) {
		value->number = (double)whole;
		value->text = arena_printf(arena, "%lld", whole);
		return true;
	}
	if (strcmp(type, "int") == 0 || strcmp(type, "long") == 0 || !is_decimal(text))
		return false;
	value->number = strtod(text.ptr, NULL);
	if (strcmp(type, "decimal") == 0)
		value->text = integer ? arena_printf(arena, "%lld", whole) : arena_str(arena, text);
	else
		value->text = double_text(value->number, arena);
	return true;
}

/* {"$date": "…"}, {"$date": 0}, {"$date": {"$numberLong": "0"}} */
static bool take_date(struct mongodb_value *value)
{
	const struct mongodb_value *date = value->first;
	if (mongodb_is_text(date) ? !mongodb_is_date(date->text) : !mongodb_is_integer(date))
		return false;
	value->numeric = date->kind == MONGODB_NUMBER;
	value->number = date->number;
	value->text = date->text;
	value->kind = MONGODB_DATE;
	return true;
}

static bool take_regex(struct mongodb_value *value, struct arena *arena)
{
	const struct mongodb_value *pattern = mongodb_member(value->first, "pattern");
	const struct mongodb_value *options = mongodb_member(value->first, "options");
	if (!mongodb_is_text(pattern) || !mongodb_is_text(options) || value->first->count != 2)
		return false;
	str_t sorted = mongodb_regex_options(options->text, arena);
	if (!str_present(sorted))
		return false;
	value->kind = MONGODB_REGEX;
	value->text = pattern->text;
	value->options = sorted;
	return true;
}

static bool take_pair(struct mongodb_value *value, const char *type, const char *first, const char *second,
		      struct arena *arena)
{
	const struct mongodb_value *a = mongodb_member(value->first, first);
	const struct mongodb_value *b = mongodb_member(value->first, second);
	if (!a || !b || value->first->count != 2 || !str_present(a->text) || !str_present(b->text))
		return false;
	value->kind = MONGODB_OTHER;
	value->type = type;
	value->text = arena_printf(arena, STR_FMT "," STR_FMT, STR_ARG(a->text), STR_ARG(b->text));
	return true;
}

static bool take_other(struct mongodb_value *value, const char *type, str_t text)
{
	value->kind = MONGODB_OTHER;
	value->type = type;
	value->text = text;
	return true;
}

static bool take_value(struct mongodb_value *value, struct arena *arena)
{
	const struct mongodb_value *inner = value->first;
	str_t text = mongodb_is_text(inner) ? inner->text : STR_NONE;
	if (str_is(inner->key, "$oid"))
		return str_present(text) && mongodb_object_id_of(text, value, arena);
	if (str_is(inner->key, "$date"))
		return take_date(value);
	if (str_is(inner->key, "$numberInt"))
		return str_present(text) && mongodb_number_of(text, "int", value, arena);
	if (str_is(inner->key, "$numberLong"))
		return str_present(text) && mongodb_number_of(text, "long", value, arena);
	if (str_is(inner->key, "$numberDouble"))
		return str_present(text) && mongodb_number_of(text, "double", value, arena);
	if (str_is(inner->key, "$numberDecimal"))
		return str_present(text) && mongodb_number_of(text, "decimal", value, arena);
	if (str_is(inner->key, "$uuid"))
		return str_present(text) && take_other(value, "uuid", text);
	if (str_is(inner->key, "$minKey") || str_is(inner->key, "$maxKey"))
		return inner->kind == MONGODB_NUMBER && inner->number == 1 &&
		       take_other(value, inner->key.ptr + 1, STR(""));
	if (str_is(inner->key, "$regularExpression"))
		return take_regex(value, arena);
	if (str_is(inner->key, "$binary"))
		return take_pair(value, "binary", "subType", "base64", arena);
	return str_is(inner->key, "$timestamp") && take_pair(value, "timestamp", "t", "i", arena);
}

void mongodb_take_extended_json(struct mongodb_value *document, struct arena *arena)
{
	struct mongodb_value value = *document;
	if (document->count != 1 || document->first->key.ptr[0] != '$' || !take_value(&value, arena))
		return;
	value.first = value.last = NULL;
	value.count = 0;
	*document = value;
}
