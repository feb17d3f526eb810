#include "sql/mysql/front_end.h"

#include "sql/front_end.h"
#include "sql/mysql/canonical.h"
#include "sql/mysql/diagnose.h"
#include "sql/mysql/names.h"
#include "sql/mysql/parser.h"
#include "sql/mysql/safety.h"
#include "sql/unparsed.h"

/* The text as given is tried first: a fence inside a literal is no fence. */
static struct fence_result parse_unwrapped(str_t sql, struct arena *arena, struct mysql_node **ret_root,
					   struct mysql_failure *ret_failure)
{
	struct fence_result part = fence_trim(sql);
	*ret_failure = (struct mysql_failure){ 0 };
	*ret_root = mysql_parse(arena_text(arena, part.text.ptr, part.text.len), MYSQL_ANY_MODE, arena,
				ret_failure);
	if (*ret_root)
		return part;
	struct fence_result unwrapped = fence_unwrap(sql, SQL_MYSQL);
	if (!unwrapped.wrapped)
		return part;
	*ret_failure = (struct mysql_failure){ 0 };
	*ret_root = mysql_parse(arena_text(arena, unwrapped.text.ptr, unwrapped.text.len), MYSQL_ANY_MODE,
				arena, ret_failure);
	return unwrapped;
}

static void report_failure(const struct mysql_failure *failure, str_t text, struct diagnostics *diagnostics,
			   struct violations *violations)
{
	bool near = str_present(failure->near) && failure->near.len > 0;
	int shown = failure->near.len < 60 ? (int)failure->near.len : 60;
	str_t help = mysql_hint_syntax(text, failure->offset, diagnostics->arena);
	diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, NULL, STR("statement"), (int64_t)failure->offset,
			near ? "%s at or near \"%.*s\"" STR_FMT : "%s%.*s" STR_FMT, failure->reason,
			near ? shown : 0, near ? failure->near.ptr : "", STR_ARG(help));
	if (failure->merely)
		unparsed_check(text, SQL_MYSQL, mysql_refused_by_name, str_from(failure->reason), violations);
	else
		violations_add(violations, failure->code, (int64_t)failure->offset, "%s", failure->reason);
}

static str_t statement_text(const struct fence_result *part, struct arena *arena)
{
	size_t length = part->text.len;
	while (length > 0 && strchr(" \t\r\n\f\v;", part->text.ptr[length - 1]))
		length--;
	return arena_text(arena, part->text.ptr, length);
}

static void analyse_parsed(struct mysql_node *root, const struct sql_request *request, struct arena *arena,
			   struct diagnostics *diagnostics, struct violations *violations,
			   struct sql_analysis *analysis)
{
	struct mysql_names names;
	mysql_names_resolve(root, request, arena, diagnostics, &names);
	mysql_safety_check(root, analysis->text, request, violations);
	mysql_diagnose(root, analysis->text, request, diagnostics);
	analysis->names_resolved = request->catalog != NULL && !names.gave_up;
	analysis->tables = names.tables;
	analysis->tables_count = names.tables_count;
	analysis->tables_known = true;
	mysql_canonical_build(root, arena, analysis);
}

void sql_analyse_mysql(const struct sql_request *request, struct arena *arena,
		       struct sql_analysis *ret_analysis)
{
	struct mysql_node *root;
	struct mysql_failure failure;
	str_t sql = str_present(request->sql) ? request->sql : STR("");
	struct fence_result part = parse_unwrapped(sql, arena, &root, &failure);
	struct diagnostics diagnostics = { .arena = arena };
	front_end_note_fence(&part, &diagnostics);
	*ret_analysis = (struct sql_analysis){ .text = statement_text(&part, arena),
					       .text_offset = part.offset,
					       .valid = root != NULL };
	struct violations violations = violations_begin(ret_analysis, arena);
	front_end_note_catalog(request, &diagnostics);
	if (root)
		analyse_parsed(root, request, arena, &diagnostics, &violations, ret_analysis);
	else
		report_failure(&failure, part.text, &diagnostics, &violations);
	ret_analysis->diagnostics = diagnostics.items;
	ret_analysis->diagnostics_count = diagnostics.count;
	violations_end(&violations, request, ret_analysis);
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
	if (!mysql_parse(sql, MYSQL_ANY_MODE, arena, &failure) ||
	    !mysql_tokens_read(sql, MYSQL_ANY_MODE, arena, &tokens, &failure))
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
