#include "http/accept.h"

#include "common/str.h"

#include <strings.h>

enum { MAX_Q = 1000 }; /* q in thousandths */

static str_t trimmed(str_t text)
{
	while (text.len > 0 && (*text.ptr == ' ' || *text.ptr == '\t')) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
		text.len--;
	return text;
}

/* Takes what stands before the next `separator` off the front. */
static str_t take(str_t *rest, char separator)
{
	const char *end = memchr(rest->ptr, separator, rest->len);
	str_t piece = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };
	size_t taken = piece.len + (end != NULL);
	rest->ptr += taken;
	rest->len -= taken;
	return trimmed(piece);
}

static bool is_word(str_t text, const char *word)
{
	return strlen(word) == text.len && strncasecmp(text.ptr, word, text.len) == 0;
}

/* "0.25" is 250; what is no weight is 0. */
static int read_weight(str_t text)
{
	int weight = 0, unit = MAX_Q;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (i == 1 && c == '.')
			continue;
		if (c < '0' || c > '9' || i > 4 || (i == 0 && c > '1'))
			return 0;
		weight += (c - '0') * unit;
		unit /= 10;
	}
	return weight < MAX_Q ? weight : MAX_Q;
}

struct accept_range {
	str_t type;
	str_t version; /* absent: any */
	int weight;
};

static struct accept_range read_range(str_t text)
{
	struct accept_range range = { .type = take(&text, ';'), .weight = MAX_Q };
	while (text.len > 0) {
		str_t value = take(&text, ';'), name = take(&value, '=');
		if (is_word(name, "q"))
			range.weight = read_weight(trimmed(value));
		else if (is_word(name, "version"))
			range.version = trimmed(value);
	}
	return range;
}

static bool is_version(const struct accept_range *range, const char *version)
{
	return !str_present(range->version) || is_word(range->version, version);
}

/* How exactly a range names the text format; 0: not at all. */
static int exactness_of_text(const struct accept_range *range)
{
	if (is_word(range->type, "text/plain"))
		return is_version(range, "0.0.4") ? 3 : 0;
	return is_word(range->type, "text/*") ? 2 : is_word(range->type, "*/*");
}

bool accept_openmetrics(const char *accept)
{
	str_t rest = str_from(accept);
	int openmetrics = 0, text = 0, exactest = 0;
	while (rest.len > 0) {
		struct accept_range range = read_range(take(&rest, ','));
		int exactness = exactness_of_text(&range);
		if (is_word(range.type, "application/openmetrics-text") && is_version(&range, "1.0.0") &&
		    range.weight > openmetrics)
			openmetrics = range.weight;
		if (exactness > exactest || (exactness && exactness == exactest && range.weight > text)) {
			exactest = exactness;
			text = range.weight;
		}
	}
	return openmetrics > 0 && openmetrics >= text;
}
