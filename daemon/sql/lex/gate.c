#include "sql/lex/gate.h"

#include <ctype.h>

/* One open bracket or CASE, or the text itself. Links are words and operators: no expression is deeper than
 * their number since the last place that begins a new one. */
struct level {
	char opened_by; /* '(', '[' or 'C' (CASE) */
	bool is_query;	/* SELECT stands in it */
	bool is_values; /* VALUES stands in it: the brackets in it are rows */
	size_t chain;	/* links since a new expression began, those of closed levels among them included */
	size_t longest; /* chain so far */
	size_t spine;	/* joins and set operations: they lean to the left over all their operands */
	size_t commas;
	size_t betweens; /* whose AND has not come yet */
};

/* State of the one pass. */
struct gate {
	str_t sql;
	size_t at;
	size_t tokens;
	size_t selects;
	size_t comment_scan;
	size_t depth;
	struct level levels[GATE_MAX_NESTING + 1];
	struct gate_result result;
};

static bool fail(struct gate *gate, enum gate_verdict verdict, size_t offset, const char *reason)
{
	gate->result = (struct gate_result){ verdict, offset, reason };
	return false;
}

static unsigned char byte_at(const struct gate *gate, size_t at)
{
	return at < gate->sql.len ? (unsigned char)gate->sql.ptr[at] : 0;
}

/* Length of the well-formed UTF-8 sequence at `p` (RFC 3629), or 0. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	size_t length = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	}
	bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
	bool beyond = (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF4 && p[1] > 0x8F);
	return overlong || beyond ? 0 : length;
}

static bool check_encoding(struct gate *gate)
{
	const unsigned char *text = (const unsigned char *)gate->sql.ptr;
	for (size_t i = 0; i < gate->sql.len;) {
		if (text[i] == 0)
			return fail(gate, GATE_NUL, i, "the SQL contains a NUL byte");
		size_t length = utf8_length(text + i, gate->sql.len - i);
		if (length == 0)
			return fail(gate, GATE_ENCODING, i, "the SQL is not valid UTF-8");
		i += length;
	}
	return true;
}

static bool starts_word(unsigned char c)
{
	return isalpha(c) || c == '_' || c >= 0x80;
}

static bool in_word(unsigned char c)
{
	return starts_word(c) || isdigit(c) || c == '$';
}

static bool is_operator(unsigned char c)
{
	return c != 0 && strchr("~!@#^&|`?+-*/%<>=:", c) != NULL;
}

static void skip_line_comment(struct gate *gate)
{
	while (gate->at < gate->sql.len && gate->sql.ptr[gate->at] != '\n' && gate->sql.ptr[gate->at] != '\r')
		gate->at++;
}

/* PostgreSQL's scanner takes all operator characters behind an opening and gives them back. */
static bool count_comment(struct gate *gate)
{
	size_t end = gate->at;
	while (is_operator(byte_at(gate, end)) && gate->comment_scan <= GATE_MAX_COMMENT_SCAN) {
		gate->comment_scan++;
		end++;
	}
	if (gate->comment_scan > GATE_MAX_COMMENT_SCAN)
		return fail(gate, GATE_TOO_DEEP, gate->at, "there are too many comments");
	return true;
}

static bool skip_block_comment(struct gate *gate)
{
	size_t depth = 0;
	do {
		if (byte_at(gate, gate->at) == '/' && byte_at(gate, gate->at + 1) == '*') {
			if (++depth > GATE_MAX_COMMENT_DEPTH)
				return fail(gate, GATE_TOO_DEEP, gate->at, "comments are nested too deeply");
			if (!count_comment(gate))
				return false;
			gate->at += 2;
		} else if (byte_at(gate, gate->at) == '*' && byte_at(gate, gate->at + 1) == '/') {
			depth--;
			gate->at += 2;
		} else {
			gate->at++;
		}
	} while (depth > 0 && gate->at < gate->sql.len);
	return true;
}

/* A literal goes on in a further quoted part behind white space with a line break (the standard's rule); the
 * part keeps the first one's escapes. */
static bool literal_continues(struct gate *gate)
{
	size_t start = gate->at;
	bool newline = false;
	for (;; gate->at++) {
		unsigned char c = byte_at(gate, gate->at);
		if (c == '-' && byte_at(gate, gate->at + 1) == '-') {
			skip_line_comment(gate);
			c = byte_at(gate, gate->at);
		}
		if (c == '\n' || c == '\r')
			newline = true;
		else if (c == 0 || !strchr(" \t\f\v", c))
			break;
	}
	if (newline && byte_at(gate, gate->at) == '\'')
		return true;
	gate->at = start;
	return false;
}

/* From behind the opening quote to behind the closing one. A doubled quote is two adjacent literals here. */
static void skip_quoted(struct gate *gate, char quote, bool backslash)
{
	while (gate->at < gate->sql.len) {
		char c = gate->sql.ptr[gate->at++];
		if (c == '\\' && backslash) {
			gate->at++;
			continue;
		}
		if (c != quote)
			continue;
		if (byte_at(gate, gate->at) == (unsigned char)quote)
			gate->at++;
		else if (quote == '\'' && literal_continues(gate))
			gate->at++;
		else
			return;
	}
}

/* `$tag$ … $tag$`; false when no such delimiter stands here. Linear overall: an unclosed one ends the text.
 */
static bool skip_dollar_quoted(struct gate *gate)
{
	size_t end = gate->at + 1;
	if (isdigit(byte_at(gate, end)))
		return false;
	while (in_word(byte_at(gate, end)) && byte_at(gate, end) != '$')
		end++;
	if (byte_at(gate, end) != '$')
		return false;
	size_t length = end + 1 - gate->at;
	const char *tag = gate->sql.ptr + gate->at;
	const char *rest = tag + length;
	const char *close = memmem(rest, gate->sql.len - gate->at - length, tag, length);
	gate->at = close ? (size_t)(close - gate->sql.ptr) + length : gate->sql.len;
	return true;
}

static bool word_is(const struct gate *gate, size_t start, const char *word)
{
	size_t length = gate->at - start;
	return strlen(word) == length && strncasecmp(gate->sql.ptr + start, word, length) == 0;
}

static struct level *level(struct gate *gate)
{
	return &gate->levels[gate->depth];
}

static bool count_links(struct gate *gate, size_t offset, size_t links)
{
	level(gate)->chain += links;
	if (level(gate)->chain > GATE_MAX_CHAIN)
		return fail(gate, GATE_TOO_DEEP, offset, "an expression is too long");
	return true;
}

static void begin_expression(struct gate *gate)
{
	if (level(gate)->longest < level(gate)->chain)
		level(gate)->longest = level(gate)->chain;
	level(gate)->chain = 0;
}

static bool open_level(struct gate *gate, char kind, size_t offset)
{
	if (gate->depth == GATE_MAX_NESTING)
		return fail(gate, GATE_TOO_DEEP, offset, "the SQL is nested too deeply");
	gate->levels[++gate->depth] = (struct level){ .opened_by = kind };
	return true;
}

/* What was in the level may be an operand of the chain around it. */
static bool leave_level(struct gate *gate, size_t offset)
{
	begin_expression(gate);
	size_t links = level(gate)->longest + level(gate)->spine;
	gate->depth--;
	return count_links(gate, offset, links);
}

/* A closing bracket also ends the CASEs left open inside (the parser will refuse them). */
static bool close_level(struct gate *gate, char kind, size_t offset)
{
	size_t depth = gate->depth;
	while (depth > 0 && gate->levels[depth].opened_by == 'C' && kind != 'C')
		depth--;
	if (depth == 0 || gate->levels[depth].opened_by != kind)
		return true;
	while (gate->depth >= depth)
		if (!leave_level(gate, offset))
			return false;
	return true;
}

static bool is_any(const struct gate *gate, size_t start, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (word_is(gate, start, words[i]))
			return true;
	return false;
}
#define IS_ANY(gate, start, words) is_any(gate, start, words, sizeof(words) / sizeof(words)[0])

/* Joins and set operations end the expression before them and lean on all before them. */
static bool take_spine(struct gate *gate, size_t start)
{
	begin_expression(gate);
	if (++level(gate)->spine > GATE_MAX_SPINE)
		return fail(gate, GATE_TOO_DEEP, start, "the SQL has too many joins or set operations");
	return true;
}

static bool take_select(struct gate *gate, size_t start)
{
	level(gate)->is_query = true;
	level(gate)->is_values |= word_is(gate, start, "values");
	if (++gate->selects > GATE_MAX_SELECTS)
		return fail(gate, GATE_TOO_DEEP, start, "the SQL has too many subqueries");
	return count_links(gate, start, 1);
}

/* AND and OR become flat lists; the AND of a BETWEEN does not. */
static bool take_connective(struct gate *gate, bool is_and, size_t start)
{
	if (is_and && level(gate)->betweens > 0) {
		level(gate)->betweens--;
		return count_links(gate, start, 1);
	}
	level(gate)->betweens = 0;
	begin_expression(gate);
	return true;
}

static bool take_keyword(struct gate *gate, size_t start)
{
	static const char *const spines[] = { "join", "union", "intersect", "except" };
	static const char *const selects[] = { "select", "values", "table" };
	static const char *const clauses[] = { "where", "having" };
	static const char *const branches[] = { "when", "then", "else" };
	if (word_is(gate, start, "and") || word_is(gate, start, "or"))
		return take_connective(gate, gate->at - start == 3, start);
	if (word_is(gate, start, "between"))
		level(gate)->betweens++;
	if (word_is(gate, start, "case"))
		return open_level(gate, 'C', start);
	if (word_is(gate, start, "end") && level(gate)->opened_by == 'C')
		return close_level(gate, 'C', start);
	if (IS_ANY(gate, start, spines))
		return take_spine(gate, start);
	if (IS_ANY(gate, start, selects))
		return take_select(gate, start);
	if (IS_ANY(gate, start, clauses) || (level(gate)->opened_by == 'C' && IS_ANY(gate, start, branches)))
		begin_expression(gate);
	return count_links(gate, start, 1);
}

static bool take_word(struct gate *gate)
{
	static const char *const prefixes[] = { "e", "b", "x", "n" };
	size_t start = gate->at;
	while (in_word(byte_at(gate, gate->at)))
		gate->at++;
	if (byte_at(gate, gate->at) == '\'' && IS_ANY(gate, start, prefixes)) {
		gate->at++;
		skip_quoted(gate, '\'', gate->sql.ptr[start] == 'e' || gate->sql.ptr[start] == 'E');
		return true;
	}
	return take_keyword(gate, start);
}

/* Each character may be an operator of its own: `+-+-1`. */
static bool take_operator(struct gate *gate)
{
	size_t start = gate->at;
	do {
		gate->at++;
	} while (is_operator(byte_at(gate, gate->at)) &&
		 !(byte_at(gate, gate->at) == '-' && byte_at(gate, gate->at + 1) == '-') &&
		 !(byte_at(gate, gate->at) == '/' && byte_at(gate, gate->at + 1) == '*'));
	return count_links(gate, start, gate->at - start);
}

static bool take_comma(struct gate *gate, size_t start)
{
	begin_expression(gate);
	level(gate)->betweens = 0;
	bool of_query = gate->depth == 0 || level(gate)->is_query || gate->levels[gate->depth - 1].is_values;
	if (++level(gate)->commas > GATE_MAX_LIST && of_query)
		return fail(gate, GATE_TOO_LONG, start, "a list of the query is too long");
	return true;
}

static bool take_mark(struct gate *gate, unsigned char c)
{
	size_t start = gate->at++;
	switch (c) {
	case '\'':
	case '"':
		skip_quoted(gate, (char)c, false);
		return true;
	case '(':
	case '[':
		return count_links(gate, start, 1) && open_level(gate, (char)c, start);
	case ')':
		return close_level(gate, '(', start);
	case ']':
		return close_level(gate, '[', start);
	case ',':
		return take_comma(gate, start);
	default:
		while (isdigit(byte_at(gate, gate->at)))
			gate->at++;
		return isdigit(c) || count_links(gate, start, 1);
	}
}

static bool take_token(struct gate *gate, unsigned char c)
{
	if (starts_word(c))
		return take_word(gate);
	if (c == '$' && skip_dollar_quoted(gate))
		return true;
	return is_operator(c) ? take_operator(gate) : take_mark(gate, c);
}

static bool check_tokens(struct gate *gate)
{
	while (gate->at < gate->sql.len) {
		unsigned char c = byte_at(gate, gate->at);
		if (isspace(c)) {
			gate->at++;
		} else if (c == '-' && byte_at(gate, gate->at + 1) == '-') {
			skip_line_comment(gate);
		} else if (c == '/' && byte_at(gate, gate->at + 1) == '*') {
			if (!skip_block_comment(gate))
				return false;
		} else {
			if (++gate->tokens > GATE_MAX_TOKENS)
				return fail(gate, GATE_TOO_LONG, gate->at, "the SQL has too many words");
			if (!take_token(gate, c))
				return false;
		}
	}
	return true;
}

static bool check_bytes(struct gate *gate)
{
	if (gate->sql.len > GATE_MAX_BYTES)
		return fail(gate, GATE_TOO_LONG, GATE_MAX_BYTES, "the SQL is longer than 64 KiB");
	return check_encoding(gate);
}

struct gate_result gate_check(str_t sql)
{
	struct gate gate = { .sql = sql, .result = { GATE_PASSED, 0, NULL } };
	if (check_bytes(&gate))
		(void)check_tokens(&gate);
	return gate.result;
}

struct gate_result gate_check_bytes(str_t text)
{
	struct gate gate = { .sql = text, .result = { GATE_PASSED, 0, NULL } };
	(void)check_bytes(&gate);
	return gate.result;
}
