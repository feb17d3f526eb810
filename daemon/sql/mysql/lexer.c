#include "sql/mysql/lexer.h"

#include "common/buf.h"

#include <ctype.h>
#include <strings.h>

struct lexer {
	str_t text;
	size_t at;
	struct arena *arena;
	struct mysql_tokens *tokens;
	struct mysql_failure *failure;
	/* A backslash stands where settings decide on the end of a string: of any, of one in double quotes.
	 */
	bool ambiguous, ambiguous_double;
	size_t ambiguous_at;
	size_t *open; /* stack of open brackets */
	size_t open_count;
	size_t open_capacity;
};

static const char *const reserved[] = {
#define MYSQL_RESERVED(word) (word),
#include "sql/mysql/words.def"
#undef MYSQL_RESERVED
};

static int compare_word(const void *key, const void *entry)
{
	const str_t *word = key;
	const char *other = *(const char *const *)entry;
	int order = strncasecmp(word->ptr, other, word->len);
	return order ? order : -(other[word->len] != '\0');
}

bool mysql_word_reserved(str_t word)
{
	return bsearch(&word, reserved, sizeof reserved / sizeof reserved[0], sizeof reserved[0],
		       compare_word) != NULL;
}

static bool refuse(struct lexer *lexer, size_t offset, const char *reason)
{
	*lexer->failure = (struct mysql_failure){ .failed = true,
						  .merely = true,
						  .code = VIOLATION_UNANALYSABLE,
						  .offset = offset,
						  .reason = reason };
	return false;
}

/* A part of the statement that may as well be none: whatever it hides, it is there to be hidden. */
static bool refuse_hidden(struct lexer *lexer, size_t offset, const char *reason)
{
	(void)refuse(lexer, offset, reason);
	lexer->failure->merely = false;
	return false;
}

static char byte_at(const struct lexer *lexer, size_t at)
{
	return at < lexer->text.len ? lexer->text.ptr[at] : '\0';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool in_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Comments and space; false: refused. */
static bool skip_block_comment(struct lexer *lexer)
{
	size_t start = lexer->at;
	char mark = byte_at(lexer, start + 2);
	if (mark == '!' || ((mark == 'M' || mark == 'm') && byte_at(lexer, start + 3) == '!'))
		return refuse_hidden(lexer, start, "the server executes this comment");
	if (mark == '+')
		return refuse(lexer, start, "a hint for the optimizer");
	const char *rest = lexer->text.ptr + start + 2;
	const char *close = memmem(rest, lexer->text.len - start - 2, "*/", 2);
	if (!close)
		return refuse(lexer, start, "a comment that does not end");
	lexer->at = (size_t)(close - lexer->text.ptr) + 2;
	return true;
}

static void skip_line(struct lexer *lexer)
{
	while (lexer->at < lexer->text.len && lexer->text.ptr[lexer->at] != '\n')
		lexer->at++;
}

static bool starts_line_comment(const struct lexer *lexer)
{
	char c = byte_at(lexer, lexer->at);
	if (c == '#')
		return true;
	if (c != '-' || byte_at(lexer, lexer->at + 1) != '-')
		return false;
	char third = byte_at(lexer, lexer->at + 2);
	return lexer->at + 2 >= lexer->text.len || is_space(third) || iscntrl((unsigned char)third);
}

static void add_comment(struct lexer *lexer, size_t start)
{
	struct mysql_tokens *tokens = lexer->tokens;
	ARENA_PUSH(lexer->arena, tokens->comments, tokens->comments_count, tokens->comments_capacity,
		   (struct mysql_comment){ start, lexer->at - start });
}

static bool skip_space(struct lexer *lexer)
{
	while (lexer->at < lexer->text.len) {
		size_t start = lexer->at;
		if (is_space(lexer->text.ptr[start])) {
			lexer->at++;
			continue;
		}
		if (starts_line_comment(lexer))
			skip_line(lexer);
		else if (byte_at(lexer, start) != '/' || byte_at(lexer, start + 1) != '*')
			break;
		else if (!skip_block_comment(lexer))
			return false;
		add_comment(lexer, start);
	}
	return true;
}

static struct mysql_token *add(struct lexer *lexer, enum mysql_token_kind kind, size_t offset, str_t value)
{
	struct mysql_tokens *tokens = lexer->tokens;
	bool word = kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_OPERATOR;
	ARENA_PUSH(lexer->arena, tokens->items, tokens->count, tokens->capacity,
		   (struct mysql_token){ .kind = kind,
					 .first = word ? (char)tolower((unsigned char)value.ptr[0]) : '\0',
					 .offset = offset,
					 .len = lexer->at - offset,
					 .value = value });
	return &tokens->items[tokens->count - 1];
}

static str_t raw(const struct lexer *lexer, size_t start, size_t end)
{
	return (str_t){ lexer->text.ptr + start, end - start };
}

/* What `\c` stands for inside of a string. */
static void append_escaped(struct buf *value, char c)
{
	static const char letters[] = "0bnrtZ";
	static const char bytes[] = "\0\b\n\r\t\x1a";
	const char *found = c ? strchr(letters, c) : NULL;
	if (c == '%' || c == '_')
		buf_append_char(value, '\\'); /* these stay for LIKE */
	buf_append_char(value, found ? bytes[found - letters] : c);
}

/* Where the string that opens at `start` would end if backslashes were plain; 0: nowhere. */
static size_t plain_end(const struct lexer *lexer, size_t start)
{
	char quote = lexer->text.ptr[start];
	for (size_t i = start + 1; i < lexer->text.len; i++) {
		if (lexer->text.ptr[i] != quote)
			continue;
		if (byte_at(lexer, i + 1) != quote)
			return i + 1;
		i++;
	}
	return 0;
}

/* 'text' or "text" at `at`; false: it does not end. */
static bool take_quoted(struct lexer *lexer, str_t *ret_value)
{
	size_t start = lexer->at;
	char quote = lexer->text.ptr[start];
	struct buf value = BUF_INIT;
	bool escapes = false, closed = false;
	size_t i = start + 1;
	while (i < lexer->text.len && !closed) {
		char c = lexer->text.ptr[i++];
		if (c == '\\' && i < lexer->text.len) {
			escapes = true;
			append_escaped(&value, lexer->text.ptr[i++]);
		} else if (c != quote) {
			buf_append_char(&value, c);
		} else if (byte_at(lexer, i) == quote) {
			buf_append_char(&value, lexer->text.ptr[i++]);
		} else {
			closed = true;
		}
	}
	lexer->at = i;
	*ret_value = arena_str(lexer->arena, buf_str(&value));
	buf_free(&value);
	if (!closed)
		return refuse(lexer, start, "a string that does not end");
	if (escapes && plain_end(lexer, start) != i) {
		lexer->ambiguous_at = lexer->ambiguous ? lexer->ambiguous_at : start;
		lexer->ambiguous = true;
		lexer->ambiguous_double = lexer->ambiguous_double || quote == '"';
	}
	return true;
}

static bool take_string(struct lexer *lexer, size_t offset)
{
	str_t value;
	if (!take_quoted(lexer, &value))
		return false;
	(void)add(lexer, MYSQL_TOKEN_STRING, offset, value);
	return true;
}

static bool take_backquoted(struct lexer *lexer)
{
	size_t start = lexer->at;
	struct buf value = BUF_INIT;
	bool closed = false;
	size_t i = start + 1;
	while (i < lexer->text.len && !closed) {
		char c = lexer->text.ptr[i++];
		if (c != '`')
			buf_append_char(&value, c);
		else if (byte_at(lexer, i) == '`')
			buf_append_char(&value, lexer->text.ptr[i++]);
		else
			closed = true;
	}
	lexer->at = i;
	str_t name = arena_str(lexer->arena, buf_str(&value));
	buf_free(&value);
	if (!closed || name.len == 0)
		return refuse(lexer, start, "a quoted name that is empty or does not end");
	(void)add(lexer, MYSQL_TOKEN_IDENTIFIER, start, name);
	return true;
}

/* x'…' and b'…' hold digits alone. */
static bool take_digits(struct lexer *lexer, const char *digits, enum mysql_token_kind kind)
{
	size_t start = lexer->at;
	size_t i = start + 2;
	while (byte_at(lexer, i) && strchr(digits, byte_at(lexer, i)))
		i++;
	bool even = kind != MYSQL_TOKEN_HEX || (i - start) % 2 == 0;
	if (byte_at(lexer, i) != '\'' || !even)
		return refuse(lexer, start, "a literal of hexadecimal digits or bits that is not one");
	lexer->at = i + 1;
	(void)add(lexer, kind, start, identifier_lower(raw(lexer, start + 2, i), lexer->arena));
	return true;
}

bool mysql_known_introducer(str_t word)
{
	static const char *const known[] = {
		"_utf8", "_utf8mb3", "_utf8mb4", "_latin1", "_ascii", "_binary"
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (identifier_is(word, known[i]))
			return true;
	return false;
}

/* A character outside of the Basic Multilingual Plane cannot stand in a name without quotes. */
static bool take_word(struct lexer *lexer)
{
	size_t start = lexer->at;
	char next = byte_at(lexer, start + 1);
	if (next == '\'' && strchr("xX", lexer->text.ptr[start]))
		return take_digits(lexer, "0123456789abcdefABCDEF", MYSQL_TOKEN_HEX);
	if (next == '\'' && strchr("bB", lexer->text.ptr[start]))
		return take_digits(lexer, "01", MYSQL_TOKEN_BITS);
	if (next == '\'' && strchr("nN", lexer->text.ptr[start])) {
		lexer->at++;
		return take_string(lexer, start);
	}
	while (in_identifier(byte_at(lexer, lexer->at))) {
		if ((unsigned char)byte_at(lexer, lexer->at) >= 0xF0)
			return refuse(lexer, lexer->at, "a character that no name can have without quotes");
		lexer->at++;
	}
	str_t word = raw(lexer, start, lexer->at);
	size_t end = lexer->at, comments = lexer->tokens->comments_count;
	if (word.ptr[0] == '_') {
		if (!skip_space(lexer))
			return false;
		char quote = byte_at(lexer, lexer->at);
		if (quote == '\'' || quote == '"')
			return mysql_known_introducer(word)
				       ? take_string(lexer, start)
				       : refuse(lexer, start, "an unknown character set");
		lexer->at = end;
		lexer->tokens->comments_count = comments;
	}
	(void)add(lexer, MYSQL_TOKEN_WORD, start, arena_text(lexer->arena, word.ptr, word.len));
	return true;
}

static size_t skip_decimal(const struct lexer *lexer, size_t at)
{
	while (isdigit((unsigned char)byte_at(lexer, at)))
		at++;
	return at;
}

/* 0x… and 0b…; `at` stands behind the prefix. 0: it is none. */
static size_t prefixed_end(const struct lexer *lexer, size_t at, const char *digits)
{
	size_t end = at;
	while (byte_at(lexer, end) && strchr(digits, byte_at(lexer, end)))
		end++;
	return end > at && !in_identifier(byte_at(lexer, end)) ? end : 0;
}

static bool take_prefixed(struct lexer *lexer)
{
	size_t start = lexer->at;
	char kind = byte_at(lexer, start + 1);
	bool hex = kind == 'x';
	size_t end = 0;
	if (byte_at(lexer, start) == '0' && (hex || kind == 'b'))
		end = prefixed_end(lexer, start + 2, hex ? "0123456789abcdefABCDEF" : "01");
	if (end == 0)
		return false;
	lexer->at = end;
	(void)add(lexer, hex ? MYSQL_TOKEN_HEX : MYSQL_TOKEN_BITS, start,
		  identifier_lower(raw(lexer, start + 2, end), lexer->arena));
	return true;
}

/* Names may start with digits (18_49_rating), as long as nothing can take them for a number and a word. */
static bool take_number(struct lexer *lexer)
{
	size_t start = lexer->at;
	if (take_prefixed(lexer))
		return true;
	size_t end = skip_decimal(lexer, start);
	char c = byte_at(lexer, end);
	if (end > start && in_identifier(c) && !strchr("eExXbB", c))
		return take_word(lexer);
	if (c == '.')
		end = skip_decimal(lexer, end + 1);
	if ((byte_at(lexer, end) | 0x20) == 'e') {
		size_t exponent = end + 1;
		if (byte_at(lexer, exponent) == '+' || byte_at(lexer, exponent) == '-')
			exponent++;
		size_t exponent_end = skip_decimal(lexer, exponent);
		end = exponent_end > exponent ? exponent_end : end;
	}
	if (in_identifier(byte_at(lexer, end)) || byte_at(lexer, end) == '.')
		return refuse(lexer, start, "a number that runs into a word");
	lexer->at = end;
	str_t number = raw(lexer, start, end);
	(void)add(lexer, MYSQL_TOKEN_NUMBER, start, arena_text(lexer->arena, number.ptr, number.len));
	return true;
}

/* @name and @@name; quoted names of variables are refused. */
static bool take_variable(struct lexer *lexer)
{
	size_t start = lexer->at++;
	bool system = byte_at(lexer, lexer->at) == '@';
	lexer->at += system;
	size_t name = lexer->at;
	while (in_identifier(byte_at(lexer, lexer->at)) || byte_at(lexer, lexer->at) == '.')
		lexer->at++;
	if (lexer->at == name)
		return refuse(lexer, start, "a variable without a plain name");
	(void)add(lexer, system ? MYSQL_TOKEN_SYSTEM : MYSQL_TOKEN_VARIABLE, start,
		  identifier_lower(raw(lexer, name, lexer->at), lexer->arena));
	return true;
}

static size_t operator_length(const struct lexer *lexer)
{
	static const char *const operators[] = { "<=>", "->>", "<=", ">=", "<>", "!=", "<<", ">>",
						 "||",	"&&",  "->", "(",  ")",	 "{",  "}",  ",",
						 ".",	";",   "+",  "-",  "*",	 "/",  "%",  "=",
						 "<",	">",   "!",  "&",  "|",	 "^",  "~" };
	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
		size_t len = strlen(operators[i]);
		if (lexer->at + len <= lexer->text.len &&
		    memcmp(lexer->text.ptr + lexer->at, operators[i], len) == 0)
			return len;
	}
	return 0;
}

static void match_brackets(struct lexer *lexer, char c)
{
	size_t index = lexer->tokens->count - 1;
	if (c == '(')
		ARENA_PUSH(lexer->arena, lexer->open, lexer->open_count, lexer->open_capacity, index);
	else if (c == ')' && lexer->open_count > 0)
		lexer->tokens->items[lexer->open[--lexer->open_count]].match = index;
}

static bool take_operator(struct lexer *lexer)
{
	size_t start = lexer->at;
	size_t len = operator_length(lexer);
	if (len == 0)
		return refuse(lexer, start, "a character that no token starts with");
	lexer->at += len;
	(void)add(lexer, MYSQL_TOKEN_OPERATOR, start, raw(lexer, start, lexer->at));
	match_brackets(lexer, lexer->text.ptr[start]);
	return true;
}

/* What follows `name.` directly is a name, whatever it looks like. */
static bool behind_dot(const struct lexer *lexer)
{
	const struct mysql_tokens *tokens = lexer->tokens;
	if (tokens->count < 2)
		return false;
	const struct mysql_token *dot = &tokens->items[tokens->count - 1];
	enum mysql_token_kind owner = tokens->items[tokens->count - 2].kind;
	return dot->kind == MYSQL_TOKEN_OPERATOR && str_is(dot->value, ".") && dot->offset + 1 == lexer->at &&
	       (owner == MYSQL_TOKEN_WORD || owner == MYSQL_TOKEN_IDENTIFIER);
}

static bool take_name(struct lexer *lexer)
{
	size_t start = lexer->at;
	while (in_identifier(byte_at(lexer, lexer->at)) && (unsigned char)byte_at(lexer, lexer->at) < 0xF0)
		lexer->at++;
	if (in_identifier(byte_at(lexer, lexer->at)) || byte_at(lexer, lexer->at) == '\'')
		return refuse(lexer, start, "a name that runs into something else");
	str_t name = raw(lexer, start, lexer->at);
	(void)add(lexer, MYSQL_TOKEN_IDENTIFIER, start, arena_text(lexer->arena, name.ptr, name.len));
	return true;
}

static bool take_token(struct lexer *lexer)
{
	char c = lexer->text.ptr[lexer->at];
	if (in_identifier(c) && behind_dot(lexer))
		return take_name(lexer);
	if (isdigit((unsigned char)c) ||
	    (c == '.' && isdigit((unsigned char)byte_at(lexer, lexer->at + 1)) &&
	     !in_identifier(lexer->at > 0 ? lexer->text.ptr[lexer->at - 1] : 0) &&
	     byte_at(lexer, lexer->at - 1) != '`'))
		return take_number(lexer);
	if (in_identifier(c))
		return take_word(lexer);
	switch (c) {
	case '\'':
	case '"':
		return take_string(lexer, lexer->at);
	case '`':
		return take_backquoted(lexer);
	case '@':
		return take_variable(lexer);
	case '?':
		lexer->at++;
		(void)add(lexer, MYSQL_TOKEN_PARAMETER, lexer->at - 1, STR("?"));
		return true;
	default:
		return take_operator(lexer);
	}
}

/* Where the string that opens at `start` ends if backslashes escape; 0: nowhere. */
static size_t escaped_end(const struct lexer *lexer, size_t start)
{
	char quote = lexer->text.ptr[start];
	for (size_t i = start + 1; i < lexer->text.len; i++) {
		if (lexer->text.ptr[i] == '\\')
			i++;
		else if (lexer->text.ptr[i] != quote)
			continue;
		else if (byte_at(lexer, i + 1) != quote)
			return i + 1;
		else
			i++;
	}
	return 0;
}

/* Under other settings the strings of this text end elsewhere: NO_BACKSLASH_ESCAPES makes all backslashes
 * plain, ANSI_QUOTES (`single_escapes`) those between double quotes. Such a server has to reject the text
 * before anything runs: its last string never ends, and no statement ends before. */
static bool harmless_elsewhere(const struct lexer *lexer, bool single_escapes)
{
	struct lexer other = *lexer;
	struct mysql_failure failure = { 0 };
	other.failure = &failure;
	for (other.at = 0; other.at < other.text.len; other.at++) {
		char c = other.text.ptr[other.at];
		if (starts_line_comment(&other)) {
			skip_line(&other);
		} else if (c == '/' && byte_at(&other, other.at + 1) == '*') {
			if (!skip_block_comment(&other))
				return false;
			other.at--;
		} else if (c == '\'' || c == '"' || c == '`') {
			bool escapes = c == '\'' && single_escapes;
			size_t end = escapes ? escaped_end(&other, other.at) : plain_end(&other, other.at);
			if (end == 0)
				return c != '`';
			other.at = end - 1;
		} else if (c == ';') {
			return false;
		}
	}
	return false;
}

static bool same_everywhere(const struct lexer *lexer)
{
	return (!lexer->ambiguous || harmless_elsewhere(lexer, false)) &&
	       (!lexer->ambiguous_double || harmless_elsewhere(lexer, true));
}

bool mysql_tokens_read(str_t text, enum mysql_modes modes, struct arena *arena,
		       struct mysql_tokens *ret_tokens, struct mysql_failure *ret_failure)
{
	*ret_tokens = (struct mysql_tokens){ 0 };
	*ret_failure = (struct mysql_failure){ 0 };
	struct lexer lexer = { .text = text, .arena = arena, .tokens = ret_tokens, .failure = ret_failure };
	for (;;) {
		size_t before = lexer.at;
		if (!skip_space(&lexer))
			return false;
		if (lexer.at >= text.len)
			break;
		if (ret_tokens->count == MYSQL_MAX_TOKENS) {
			(void)refuse(&lexer, lexer.at, "the SQL has too many words");
			ret_failure->code = VIOLATION_TOO_LONG;
			ret_failure->merely = false;
			return false;
		}
		bool spaced = lexer.at > before;
		size_t index = ret_tokens->count;
		if (!take_token(&lexer))
			return false;
		ret_tokens->items[index].spaced = spaced;
	}
	(void)add(&lexer, MYSQL_TOKEN_END, text.len, STR(""));
	while (lexer.open_count > 0)
		ret_tokens->items[lexer.open[--lexer.open_count]].match = ret_tokens->count - 1;
	if (modes == MYSQL_ANY_MODE && !same_everywhere(&lexer))
		return refuse(
			&lexer, lexer.ambiguous_at,
			"the server's sql_mode decides where this string ends: double the quotes instead");
	return true;
}
