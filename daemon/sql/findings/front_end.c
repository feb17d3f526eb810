#include "sql/findings/front_end.h"

#include "sql/findings/unparsed.h"
#include "sql/lex/scan.h"

#include <ctype.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

void front_end_refuse(const struct sql_request *request, struct arena *arena, enum sql_violation_code code,
		      const char *reason, int64_t offset, struct sql_analysis *ret_analysis)
{
	struct diagnostics diagnostics = { .arena = arena };
	diagnostics_add(&diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"), offset, "%s", reason);
	*ret_analysis = (struct sql_analysis){
		.text = arena_text(arena, request->sql.ptr ? request->sql.ptr : "", request->sql.len),
		.diagnostics = diagnostics.items,
		.diagnostics_count = diagnostics.count,
	};
	struct violations violations = violations_begin(ret_analysis, arena);
	if (code == VIOLATION_UNANALYSABLE)
		unparsed_check(ret_analysis->text, request->dialect, NULL, str_from(reason), &violations);
	else
		violations_add(&violations, code, offset, "%s", reason);
	violations_end(&violations, request, ret_analysis);
}

bool front_end_lists_function(const struct sql_policy *policy, const struct catalog_function *function,
			      bool (*same)(str_t a, str_t b))
{
	for (size_t i = 0; i < policy->allowed_functions_count; i++) {
		str_t allowed = policy->allowed_functions[i];
		size_t schema = function->schema.len;
		bool qualified = allowed.len == schema + 1 + function->name.len &&
				 allowed.ptr[schema] == '.' &&
				 same((str_t){ allowed.ptr, schema }, function->schema);
		str_t last = qualified ? (str_t){ allowed.ptr + schema + 1, function->name.len } : allowed;
		if (same(last, function->name))
			return true;
	}
	return false;
}

/* Words that go on with a condition or a query behind a literal. */
static const char *const continuations[] = {
	"and",	  "or",	       "xor", "order",	 "group", "having",  "limit", "offset", "union",
	"except", "intersect", "as",  "collate", "like",  "between", "then",  "else",	"end",
};

static bool continues(str_t text)
{
	size_t len = 0;
	while (len < text.len && isalpha((unsigned char)text.ptr[len]))
		len++;
	for (size_t i = 0; i < COUNT(continuations); i++)
		if (strlen(continuations[i]) == len && strncasecmp(continuations[i], text.ptr, len) == 0)
			return true;
	return false;
}

/* The byte at `at`, or '\0' behind the end. */
static char byte_at(str_t text, size_t at)
{
	return at < text.len ? text.ptr[at] : '\0';
}

/* Whether balanced quotes open a literal that no prose has: `''` and then nothing, or `''`) as it ends an
 * operand; or one that is glued to a literal of the other quotes. */
static bool looks_glued(char quote, str_t rest)
{
	const char *second = memchr(rest.ptr, quote, rest.len);
	if (!second)
		return false;
	size_t at = (size_t)(second - rest.ptr);
	char behind = byte_at(rest, at + 1);
	if (at == 0)
		return behind == '\0' || behind == ')' || behind == ';';
	return behind == (quote == '"' ? '\'' : '"');
}

/* Whether a quote closes what was opened before it, by what follows it. `even`: the comment's quotes are
 * balanced, the first one included, as where it opens. */
static bool closes(char quote, str_t rest, bool even)
{
	size_t spaces = 0;
	while (isspace((unsigned char)byte_at(rest, spaces)))
		spaces++;
	unsigned char next = (unsigned char)byte_at(rest, spaces);
	if (next == '\0' || (even && looks_glued(quote, rest)))
		return true;
	if (next == (unsigned char)quote) /* an empty literal, or one of spaces */
		return !even;
	if (spaces > 0 || strchr("),;", next))
		return true;
	if (isalnum(next) || next == '_' || next >= 0x80)
		return !even && continues(rest);
	return !even;
}

bool front_end_cuts_literal(str_t comment)
{
	char quote = comment.len > 0 ? comment.ptr[0] : '\0';
	size_t quotes = 0;
	for (size_t i = 0; i < comment.len; i++)
		quotes += comment.ptr[i] == quote;
	return (quote == '\'' || quote == '"') &&
	       closes(quote, (str_t){ comment.ptr + 1, comment.len - 1 }, quotes % 2 == 0);
}

void front_end_check_comments(str_t text, enum sql_dialect dialect, const char *skipped,
			      struct violations *violations)
{
	struct scan_token token = scan_token_at(text, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_token_at(text, token.offset + token.len, dialect)) {
		if (token.kind != SCAN_COMMENT || text.ptr[token.offset] != '-')
			continue;
		size_t begin = 2 + strspn(text.ptr + token.offset + 2, skipped);
		if (begin < token.len && text.ptr[token.offset + begin] == '\'' &&
		    front_end_cuts_literal((str_t){ text.ptr + token.offset + begin, token.len - begin }))
			violations_add(violations, VIOLATION_INJECTION_PATTERN, (int64_t)token.offset,
				       "a comment swallows the rest of a literal");
	}
}

void front_end_note_fence(const struct code_fence_result *part, struct diagnostics *diagnostics)
{
	diagnostics->text_offset = 0; /* the fence is around the part */
	if (part->wrapped)
		diagnostics_add(diagnostics, DIAG_MARKDOWN_FENCE, SUB_NONE, STR("fence"), 0,
				"the statement is wrapped in a fence or in prose; return the SQL alone");
	diagnostics->text_offset = part->offset;
}

void front_end_note_catalog(const struct sql_request *request, struct diagnostics *diagnostics)
{
	if (request->target_named && !request->catalog)
		diagnostics_add(diagnostics, DIAG_CATALOG_UNAVAILABLE, SUB_NONE, STR("catalog"), 0,
				"the target's catalog cannot be had: names are not checked");
}
