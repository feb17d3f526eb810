#include "sql/mysql.h"

#include "sql/fence.h"
#include "sql/front_end.h"
#include "sql/gate.h"
#include "sql/mysql_canonical.h"
#include "sql/mysql_diagnose.h"
#include "sql/mysql_names.h"
#include "sql/mysql_parser.h"
#include "sql/mysql_safety.h"

static const enum sql_violation_code gate_violations[] = {
	[GATE_TOO_LONG] = VIOLATION_TOO_LONG,
	[GATE_ENCODING] = VIOLATION_UNANALYSABLE,
	[GATE_NUL] = VIOLATION_UNANALYSABLE,
	[GATE_TOO_DEEP] = VIOLATION_TOO_DEEP,
};

/* The text as given, without space around it. */
static struct fence_result trimmed(str_t sql)
{
	size_t start = 0, end = sql.len;
	while (start < end && strchr(" \t\r\n\f\v", sql.ptr[start]))
		start++;
	while (end > start && strchr(" \t\r\n\f\v", sql.ptr[end - 1]))
		end--;
	return (struct fence_result){ { sql.ptr + start, end - start }, start, false };
}

/* The text as given is tried first: a fence inside a literal is no fence. */
static struct fence_result parse_unwrapped(str_t sql, struct arena *arena, struct mysql_node **ret_root,
					   struct mysql_failure *ret_failure)
{
	struct fence_result part = trimmed(sql);
	*ret_failure = (struct mysql_failure){ 0 };
	*ret_root = mysql_parse(arena_text(arena, part.text.ptr, part.text.len), arena, ret_failure);
	struct fence_result unwrapped = fence_unwrap(sql);
	if (*ret_root || !unwrapped.wrapped)
		return part;
	*ret_failure = (struct mysql_failure){ 0 };
	*ret_root =
		mysql_parse(arena_text(arena, unwrapped.text.ptr, unwrapped.text.len), arena, ret_failure);
	return unwrapped;
}

static void report_failure(const struct mysql_failure *failure, struct diagnostics *diagnostics,
			   struct violations *violations)
{
	bool near = str_present(failure->near) && failure->near.len > 0;
	int shown = failure->near.len < 60 ? (int)failure->near.len : 60;
	diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, NULL, STR("statement"), (int64_t)failure->offset,
			near ? "%s at or near \"%.*s\"" : "%s", failure->reason, shown,
			near ? failure->near.ptr : "");
	violations_add(violations, failure->code, (int64_t)failure->offset, "%s", failure->reason);
}

static str_t statement_text(const struct fence_result *part, struct arena *arena)
{
	size_t length = part->text.len;
	while (length > 0 && strchr(" \t\r\n\f\v;", part->text.ptr[length - 1]))
		length--;
	return arena_text(arena, part->text.ptr, length);
}

/* False: a function is called of which nothing is known. */
static bool analyse_parsed(struct mysql_node *root, const struct sql_request *request, struct arena *arena,
			   struct diagnostics *diagnostics, struct violations *violations,
			   struct sql_analysis *analysis)
{
	struct mysql_names names;
	mysql_names_resolve(root, request, arena, diagnostics, &names);
	bool known = mysql_safety_check(root, analysis->text, request, violations);
	mysql_diagnose(root, analysis->text, request, diagnostics);
	analysis->names_resolved = request->catalog != NULL && !names.gave_up;
	analysis->tables = names.tables;
	analysis->tables_count = names.tables_count;
	analysis->tables_known = true;
	mysql_canonical_build(root, arena, analysis);
	return known;
}

void sql_analyse_mysql(const struct sql_request *request, struct arena *arena,
		       struct sql_analysis *ret_analysis)
{
	struct gate_result gate = gate_check(request->sql);
	if (gate.verdict != GATE_PASSED) {
		front_end_refuse(request, arena, gate_violations[gate.verdict], gate.reason,
				 (int64_t)gate.offset, ret_analysis);
		return;
	}
	struct mysql_node *root;
	struct mysql_failure failure;
	str_t sql = str_present(request->sql) ? request->sql : STR("");
	struct fence_result part = parse_unwrapped(sql, arena, &root, &failure);
	struct diagnostics diagnostics = { .arena = arena };
	if (part.wrapped)
		diagnostics_add(&diagnostics, DIAG_MARKDOWN_FENCE, NULL, STR("fence"), 0,
				"the statement is wrapped in a fence or in prose; return the SQL alone");
	diagnostics.text_offset = part.offset;
	*ret_analysis = (struct sql_analysis){ .text = statement_text(&part, arena),
					       .text_offset = part.offset,
					       .valid = root != NULL };
	struct violations violations = violations_begin(ret_analysis, arena);
	if (request->target_named && !request->catalog)
		diagnostics_add(&diagnostics, DIAG_CATALOG_UNAVAILABLE, NULL, STR("catalog"), 0,
				"the target's catalog cannot be had: names are not checked");
	bool known = true;
	if (root)
		known = analyse_parsed(root, request, arena, &diagnostics, &violations, ret_analysis);
	else
		report_failure(&failure, &diagnostics, &violations);
	ret_analysis->diagnostics = diagnostics.items;
	ret_analysis->diagnostics_count = diagnostics.count;
	violations_end(&violations, request, ret_analysis);
	/* Libraries can be loaded into a server as functions, and no catalog lists those: a name that nothing
	 * explains may be one of them and do anything, so that the statement is never executed. It is no
	 * violation either: most often the function just does not exist. */
	if (!known && ret_analysis->verdict == SQL_SAFE)
		ret_analysis->verdict = SQL_UNKNOWN;
}

static bool is_literal(const struct mysql_token *token)
{
	switch (token->kind) {
	case MYSQL_TOKEN_STRING:
	case MYSQL_TOKEN_NUMBER:
	case MYSQL_TOKEN_HEX:
	case MYSQL_TOKEN_BITS:
		return true;
	default:
		return false;
	}
}

bool mysql_literals(str_t sql, struct arena *arena, mysql_literal_fn found, void *context)
{
	struct mysql_failure failure = { 0 };
	struct mysql_tokens tokens;
	if (!mysql_parse(sql, arena, &failure) || !mysql_tokens_read(sql, arena, &tokens, &failure))
		return false;
	size_t comment = 0;
	for (size_t i = 0; i < tokens.count; i++) {
		const struct mysql_token *token = &tokens.items[i];
		for (; comment < tokens.comments_count && tokens.comments[comment].offset < token->offset;
		     comment++)
			found(context, tokens.comments[comment].offset, tokens.comments[comment].len, true);
		if (is_literal(token))
			found(context, token->offset, token->len, false);
	}
	return true;
}
