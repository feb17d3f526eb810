#include "sql/postgresql/resolve/literal_internal.h"

#include "catalog/pg_type_d.h"

#include <errno.h>

struct reader {
	const char *at;
	bool in_doubt; /* a number is out of range */
};

static void skip_space(struct reader *reader)
{
	while (literal_is_space(*reader->at))
		reader->at++;
}

static bool take(struct reader *reader, char c)
{
	bool there = *reader->at == c;
	reader->at += there;
	return there;
}

static bool take_number(struct reader *reader)
{
	char *end;
	skip_space(reader);
	errno = 0;
	(void)strtod(reader->at, &end);
	reader->in_doubt |= errno != 0;
	bool found = end != reader->at;
	reader->at = end;
	skip_space(reader);
	return found;
}

/* "(1,2)" or "1,2" */
static bool take_point(struct reader *reader)
{
	skip_space(reader);
	bool has_parentheses = take(reader, '(');
	if (!take_number(reader) || !take(reader, ',') || !take_number(reader))
		return false;
	if (!has_parentheses)
		return true;
	bool closed = take(reader, ')');
	skip_space(reader);
	return closed;
}

/* Points with commas between them; parentheses around all of them, or brackets where they are `open`. */
static bool take_path(struct reader *reader, bool open, size_t points)
{
	skip_space(reader);
	bool has_bracket = open && take(reader, '[');
	unsigned depth = has_bracket;
	if (!has_bracket && *reader->at == '(') {
		struct reader inner = { reader->at + 1, false };
		skip_space(&inner);
		if (*inner.at == '(' || strrchr(reader->at, '(') == reader->at) {
			depth = 1;
			reader->at = inner.at;
		}
	}
	for (size_t i = 0; i < points; i++) {
		if (!take_point(reader))
			return false;
		(void)take(reader, ',');
	}
	if (depth > 0 && !take(reader, ')') && !(has_bracket && take(reader, ']')))
		return false;
	if (depth > 0)
		skip_space(reader);
	return true;
}

static size_t count_points(const char *text)
{
	size_t commas = 0;
	for (; *text; text++)
		commas += *text == ',';
	return commas % 2 ? (commas + 1) / 2 : 0;
}

static bool take_whole_path(struct reader *reader)
{
	size_t points = count_points(reader->at);
	skip_space(reader);
	bool has_parenthesis = *reader->at == '(' && strrchr(reader->at, '(') == reader->at;
	reader->at += has_parenthesis;
	if (points == 0 || !take_path(reader, true, points))
		return false;
	bool closed = !has_parenthesis || take(reader, ')');
	skip_space(reader);
	return closed;
}

static bool take_shape(struct reader *reader, type_id type)
{
	size_t points = count_points(reader->at);
	switch (type) {
	case POINTOID:
		return take_point(reader);
	case LSEGOID:
		return take_path(reader, true, 2);
	case BOXOID:
		return take_path(reader, false, 2);
	case PATHOID:
		return take_whole_path(reader);
	default:
		return points > 0 && take_path(reader, false, points);
	}
}

/* Lines and circles have several forms: too few numbers are told. */
static literal_fault count_numbers(const char *text)
{
	size_t count = 0;
	while (*text) {
		char *end;
		(void)strtod(text, &end);
		count += end != text;
		text = end != text ? end : text + 1;
	}
	return count < 3 ? BAD_TEXT : LITERAL_DOUBT;
}

literal_fault literal_shape(type_id type, const char *text)
{
	struct reader reader = { text, false };
	if (type == LINEOID || type == CIRCLEOID)
		return count_numbers(text);
	if (!take_shape(&reader, type) || *reader.at)
		return reader.in_doubt ? LITERAL_DOUBT : BAD_TEXT;
	return reader.in_doubt ? LITERAL_DOUBT : NULL;
}
