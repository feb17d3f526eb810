#include "sql/postgresql/resolve/literal_internal.h"

#include "catalog/pg_type_d.h"

#define DIMENSIONS_MAX 6
#define VALUE_BYTES    512 /* longer elements are in doubt */
#define BAD_RANGE      "22000"

static const char *skip_space(const char *text)
{
	while (literal_is_space(*text))
		text++;
	return text;
}

/* The worst of what was found, the first refusal before others. */
static void add_fault(literal_fault *all, literal_fault fault)
{
	if (!literal_is_refused(*all) && fault)
		*all = fault;
}

static literal_fault check_value(const struct literal_context *context, type_id type, const char *value,
				 size_t length)
{
	if (length >= VALUE_BYTES)
		return LITERAL_DOUBT;
	return literal_of(&(struct literal_context){ context->catalog, context->depth + 1 }, type, value);
}

/* Bytes of a value without quotes and escapes; those that do not fit are counted alone. */
struct value {
	char text[VALUE_BYTES];
	size_t length;
};

static void put(struct value *value, char c)
{
	if (value->length < VALUE_BYTES - 1)
		value->text[value->length] = c;
	value->length++;
}

static void finish(struct value *value)
{
	value->text[value->length < VALUE_BYTES ? value->length : VALUE_BYTES - 1] = '\0';
}

/* ---- Arrays ---- */

struct array {
	const struct literal_context *context;
	type_id element;
	char separator;
	const char *at;
	size_t counts[DIMENSIONS_MAX]; /* elements of the first part of each dimension; 0: none yet */
	literal_fault elements;
};

static literal_fault read_quoted(struct array *array, struct value *value)
{
	for (array->at++; *array->at != '"'; array->at++) {
		if (*array->at == '\\')
			array->at++;
		if (!*array->at)
			return BAD_TEXT;
		put(value, *array->at);
	}
	array->at = skip_space(array->at + 1);
	return *array->at == array->separator || *array->at == '}' ? NULL : BAD_TEXT;
}

static literal_fault read_plain(struct array *array, struct value *value)
{
	size_t length = 0;
	for (; *array->at != array->separator && *array->at != '}'; array->at++) {
		bool is_space = literal_is_space(*array->at);
		if (*array->at == '{' || *array->at == '"')
			return BAD_TEXT;
		if (*array->at == '\\') {
			array->at++;
			is_space = false;
		}
		if (!*array->at)
			return BAD_TEXT;
		put(value, *array->at);
		length = is_space ? length : value->length;
	}
	if (length == 0)
		return BAD_TEXT;
	value->length = length;
	return NULL;
}

static literal_fault read_element(struct array *array)
{
	struct value value = { .length = 0 };
	bool quoted = *array->at == '"';
	literal_fault fault = quoted ? read_quoted(array, &value) : read_plain(array, &value);
	if (fault)
		return fault;
	finish(&value);
	if (quoted || strcasecmp(value.text, "null") != 0)
		add_fault(&array->elements,
			  check_value(array->context, array->element, value.text, value.length));
	return NULL;
}

static literal_fault read_array(struct array *array, unsigned dimension)
{
	size_t count = 0;
	bool nested = false;
	if (dimension == DIMENSIONS_MAX)
		return "54000";
	for (;; array->at++) {
		array->at = skip_space(array->at + (count == 0));
		bool is_nested = *array->at == '{';
		if (count == 0 && *array->at == '}')
			return dimension == 0 ? NULL : LITERAL_DOUBT;
		if (count > 0 && is_nested != nested)
			return BAD_TEXT;
		nested = is_nested;
		literal_fault fault = nested ? read_array(array, dimension + 1) : read_element(array);
		if (fault)
			return fault;
		count++;
		array->at = skip_space(array->at + nested);
		if (*array->at == '}')
			break;
		if (*array->at != array->separator)
			return BAD_TEXT;
	}
	bool differs = array->counts[dimension] && array->counts[dimension] != count;
	array->counts[dimension] = count;
	return differs ? BAD_TEXT : NULL;
}

/* "[1:2][0:3]=" in front; whether they go with what follows is in doubt. */
static literal_fault skip_bounds(const char **at)
{
	for (*at = skip_space(*at); **at == '['; *at = skip_space(*at)) {
		long lower = 1;
		const char *start = ++*at;
		*at += strspn(*at, "0123456789+-");
		if (*at == start)
			return BAD_TEXT;
		if (**at == ':') {
			lower = strtol(start, NULL, 10);
			start = ++*at;
			*at += strspn(*at, "0123456789+-");
			if (*at == start)
				return BAD_TEXT;
		}
		if (**at != ']')
			return BAD_TEXT;
		if (strtol(start, NULL, 10) < lower)
			return "2202E";
		++*at;
	}
	if (**at != '=')
		return BAD_TEXT;
	*at = skip_space(*at + 1);
	return LITERAL_DOUBT;
}

literal_fault literal_array(const struct literal_context *context, type_id element, const char *text)
{
	struct array array = { .context = context,
			       .element = element,
			       .separator = element == BOXOID ? ';' : ',',
			       .at = skip_space(text) };
	literal_fault bounds = *array.at == '[' ? skip_bounds(&array.at) : NULL;
	if (literal_is_refused(bounds))
		return bounds;
	if (*array.at != '{')
		return BAD_TEXT;
	literal_fault fault = read_array(&array, 0);
	if (fault)
		return fault;
	return *skip_space(array.at + 1)	    ? BAD_TEXT
	       : literal_is_refused(array.elements) ? array.elements
	       : bounds				    ? bounds
						    : array.elements;
}

/* ---- Rows and ranges ---- */

/* A part of a row or range, up to one of `ends`; "" and \ as in quotes. Absent: nothing is written there. */
static literal_fault read_part(const char **at, const char *ends, struct value *value)
{
	bool quoted = false;
	value->length = 0;
	for (; quoted || !**at || !strchr(ends, **at); (*at)++) {
		if (**at == '\\')
			(*at)++;
		else if (**at == '"' && quoted && (*at)[1] == '"')
			(*at)++;
		else if (**at == '"') {
			quoted = !quoted;
			continue;
		}
		if (!**at)
			return BAD_TEXT;
		put(value, **at);
	}
	finish(value);
	return NULL;
}

literal_fault literal_row(const struct literal_context *context, const struct catalog_type *type,
			  const char *text)
{
	literal_fault all = NULL;
	struct value value;
	size_t column = 0;
	bool is_known = type->columns_count > 0 && (!type->relation || !type->relation->is_open);
	text = skip_space(text);
	if (*text != '(')
		return BAD_TEXT;
	if (!is_known)
		return LITERAL_DOUBT;
	do {
		const char *start = ++text;
		literal_fault fault = read_part(&text, ",)", &value);
		if (literal_is_refused(all))
			return all;
		if (fault || column == type->columns_count)
			return BAD_TEXT;
		type_id wanted = type->columns[column++].value_type;
		if (text > start)
			add_fault(&all, check_value(context, wanted, value.text, value.length));
	} while (*text == ',');
	if (literal_is_refused(all))
		return all;
	return column < type->columns_count || *skip_space(text + 1) ? BAD_TEXT : all;
}

/* "2024-01-15" */
static bool is_plain_date(const char *text)
{
	static const char form[] = "0000-00-00";
	for (size_t i = 0; i < sizeof form; i++) {
		if (form[i] == '0' ? !literal_is_digit(text[i]) : text[i] != form[i])
			return false;
	}
	return true;
}

/* Whether the lower bound is surely above the upper one. */
static bool is_above(type_id type, const char *lower, const char *upper)
{
	char *lower_end, *upper_end;
	double a = strtod(lower, &lower_end), b = strtod(upper, &upper_end);
	switch (type) {
	case INT4OID:
	case INT8OID:
	case NUMERICOID:
	case FLOAT8OID:
		return !*lower_end && !*upper_end && a > b && a - b > 1e-6 * a;
	case DATEOID:
		return is_plain_date(lower) && is_plain_date(upper) && strcmp(lower, upper) > 0;
	default:
		return false;
	}
}

static literal_fault read_range(const struct literal_context *context, const struct catalog_type *type,
				const char **at)
{
	struct value lower, upper;
	literal_fault all = NULL;
	if (**at != '(' && **at != '[')
		return BAD_TEXT;
	const char *start = ++(*at);
	if (read_part(at, ",)]", &lower) || **at != ',')
		return BAD_TEXT;
	bool has_lower = *at > start;
	start = ++(*at);
	if (read_part(at, ",)]", &upper) || **at == ',')
		return BAD_TEXT;
	bool has_upper = *at > start;
	(*at)++;
	if (has_lower)
		add_fault(&all, check_value(context, type->subtype, lower.text, lower.length));
	if (has_upper)
		add_fault(&all, check_value(context, type->subtype, upper.text, upper.length));
	if (!literal_is_refused(all) && has_lower && has_upper &&
	    is_above(type->subtype, lower.text, upper.text))
		return BAD_RANGE;
	return all;
}

static bool take_empty(const char **at)
{
	if (strncasecmp(*at, "empty", strlen("empty")) != 0)
		return false;
	*at += strlen("empty");
	return true;
}

literal_fault literal_range(const struct literal_context *context, const struct catalog_type *type,
			    const char *text)
{
	const char *at = skip_space(text);
	literal_fault fault = take_empty(&at) ? NULL : read_range(context, type, &at);
	if (literal_fault_is(fault, BAD_TEXT))
		return fault;
	return *skip_space(at) ? BAD_TEXT : fault;
}

literal_fault literal_multirange(const struct literal_context *context, const struct catalog_type *type,
				 const char *text)
{
	literal_fault all = NULL;
	const char *at = skip_space(text);
	const struct catalog_type *range = catalog_type(context->catalog, type->range);
	if (!range)
		return LITERAL_DOUBT;
	if (*at != '{')
		return BAD_TEXT;
	at = skip_space(at + 1);
	while (*at != '}') {
		literal_fault fault = take_empty(&at) ? NULL : read_range(context, range, &at);
		add_fault(&all, fault);
		if (literal_is_refused(all))
			return all;
		at = skip_space(at);
		if (*at != ',' && *at != '}')
			return BAD_TEXT;
		if (*at == ',') {
			at = skip_space(at + 1);
			if (*at == '}')
				return BAD_TEXT;
		}
	}
	return *skip_space(at + 1) ? BAD_TEXT : all;
}
