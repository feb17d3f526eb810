#include "sql/findings/unparsed.h"

#include "sql/lex/statement_words.h"

/* Two words that together begin nothing but a statement that writes: prose has them inside its lines. */
static const struct {
	const char *first;
	const char *second;
} writes[] = {
	{ "insert", "into" },	   { "delete", "from" },     { "merge", "into" },      { "replace", "into" },
	{ "drop", "table" },	   { "drop", "database" },   { "drop", "schema" },     { "drop", "view" },
	{ "drop", "index" },	   { "drop", "user" },	     { "drop", "role" },       { "drop", "function" },
	{ "drop", "procedure" },   { "drop", "trigger" },    { "create", "table" },    { "create", "view" },
	{ "create", "index" },	   { "create", "function" }, { "create", "trigger" },  { "create", "user" },
	{ "create", "role" },	   { "create", "or" },	     { "create", "database" }, { "create", "schema" },
	{ "create", "extension" }, { "alter", "table" },     { "alter", "user" },      { "alter", "role" },
	{ "alter", "database" },   { "alter", "system" },    { "truncate", "table" },  { "rename", "table" },
	{ "load", "data" },	   { "grant", "all" },	     { "attach", "database" },
};

/* Quotes and comments that never end; each is looked for up to the end of the text. */
#define MAX_BROKEN 16

struct seen {
	str_t text;
	enum sql_dialect dialect;
	refused_by_name_fn refused;
	struct violations *violations;
	struct scan_token before[2]; /* the tokens in front, the nearest first; END: none */
	size_t tokens;		     /* but semicolons */
};

/* UPDATE … SET, and the pairs. */
static bool writes_at(const struct seen *seen, struct scan_token first)
{
	struct scan_token second = scan_next(seen->text, first.offset + first.len, seen->dialect);
	for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++)
		if (scan_is_word(seen->text, first, writes[i].first) &&
		    scan_is_word(seen->text, second, writes[i].second))
			return true;
	if (!scan_is_word(seen->text, first, "update") || !scan_is_name(second))
		return false;
	struct scan_token third = scan_next(seen->text, second.offset + second.len, seen->dialect);
	return scan_is_word(seen->text, third, "set");
}

static bool begins_line(const struct seen *seen, struct scan_token token)
{
	size_t at = token.offset;
	while (at > 0 && strchr(" \t\r\f\v", seen->text.ptr[at - 1]))
		at--;
	return at == 0 || seen->text.ptr[at - 1] == '\n';
}

static void see_statement(struct seen *seen, struct scan_token token)
{
	bool after_semicolon = scan_is_char(seen->text, seen->before[0], ';');
	str_t word = scan_name(seen->text, token);
	enum statement_word begins = statement_word(word, seen->dialect);
	if (begins == STATEMENT_WORD_NONE)
		return;
	bool writing = begins == STATEMENT_WORD_OTHER &&
		       (after_semicolon ||
			((begins_line(seen, token) || scan_is_char(seen->text, seen->before[0], '(') ||
			  scan_is_char(seen->text, seen->before[0], ')')) &&
			 writes_at(seen, token)));
	if (after_semicolon && seen->tokens > 0)
		violations_add(seen->violations, VIOLATION_MULTIPLE_STATEMENTS, (int64_t)token.offset,
			       "another statement, " STR_FMT, STR_ARG(word));
	if (writing)
		violations_add(seen->violations, VIOLATION_NOT_A_READ, (int64_t)token.offset, STR_FMT,
			       STR_ARG(word));
}

static void see_call(struct seen *seen, struct scan_token token)
{
	enum sql_violation_code code;
	struct scan_token next = scan_next(seen->text, token.offset + token.len, seen->dialect);
	if (!seen->refused || !scan_is_char(seen->text, next, '('))
		return;
	bool qualified = scan_is_char(seen->text, seen->before[0], '.') && scan_is_name(seen->before[1]);
	str_t schema = qualified ? scan_name(seen->text, seen->before[1]) : STR_NONE,
	      name = scan_name(seen->text, token);
	if (seen->refused(schema, name, &code))
		violations_add(seen->violations, code, (int64_t)token.offset, "function " STR_FMT,
			       STR_ARG(name));
}

/* What a client would take for a command of its own, such as one that runs a program. */
static void see_client_command(struct seen *seen, struct scan_token token)
{
	if (scan_is_char(seen->text, token, '\\') &&
	    (begins_line(seen, token) || scan_is_char(seen->text, seen->before[0], ';')))
		violations_add(seen->violations, VIOLATION_NOT_A_READ, (int64_t)token.offset,
			       "a command of the client");
}

static void see(struct seen *seen, struct scan_token token)
{
	if (token.kind == SCAN_WORD)
		see_statement(seen, token);
	see_client_command(seen, token);
	if (scan_is_name(token))
		see_call(seen, token);
	if (scan_is_word(seen->text, seen->before[0], "into") &&
	    (scan_is_word(seen->text, token, "outfile") || scan_is_word(seen->text, token, "dumpfile")))
		violations_add(seen->violations, VIOLATION_FILE_ACCESS, (int64_t)token.offset,
			       "a file is written");
	if (!scan_is_char(seen->text, token, ';'))
		seen->tokens++;
	seen->before[1] = seen->before[0];
	seen->before[0] = token;
}

void unparsed_check(str_t text, enum sql_dialect dialect, refused_by_name_fn refused, str_t reason,
		    struct violations *violations)
{
	struct seen seen = { .text = text, .dialect = dialect, .refused = refused, .violations = violations };
	struct scan_token token = scan_next(text, 0, dialect);
	unsigned broken = 0;
	while (token.kind != SCAN_END && broken < MAX_BROKEN) {
		if (token.kind == SCAN_BROKEN) { /* what its quote was meant to hold cannot be told */
			token.len = 1;
			broken++;
		}
		if (text.ptr[token.offset] != '\0') /* where some parsers end, and others do not */
			see(&seen, token);
		token = scan_next(text, token.offset + token.len, dialect);
	}
	violations_doubt(violations, STR_FMT, STR_ARG(reason));
}
