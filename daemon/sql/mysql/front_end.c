#include "sql/mysql/front_end.h"

#include "common/buf.h"
#include "sql/findings/front_end.h"
#include "sql/findings/instead.h"
#include "sql/findings/unparsed.h"
#include "sql/mysql/names.h"
#include "sql/mysql/parser.h"
#include "sql/mysql/safety.h"
#include "sql/query/bombs.h"
#include "sql/query/canonical.h"
#include "sql/query/conditions.h"
#include "sql/query/inner_cuts.h"
#include "sql/query/lint.h"

/* The text as given is tried first: a code fence inside a literal is no fence. */
static struct code_fence_result parse_unwrapped(str_t sql, struct arena *arena, struct query_node **ret_root,
						struct mysql_failure *ret_failure)
{
	struct code_fence_result part = code_fence_trim(sql);
	*ret_failure = (struct mysql_failure){ 0 };
	*ret_root = mysql_parse(arena_text(arena, part.text.ptr, part.text.len), MYSQL_ANY_MODE, arena,
				ret_failure);
	if (*ret_root)
		return part;
	struct code_fence_result unwrapped = code_fence_unwrap(sql, SQL_MYSQL);
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
	str_t help = instead_near(text, failure->offset, SQL_MYSQL, diagnostics->arena);
	diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"), (int64_t)failure->offset,
			near ? "%s at or near \"%.*s\"" STR_FMT : "%s%.*s" STR_FMT, failure->reason,
			near ? shown : 0, near ? failure->near.ptr : "", STR_ARG(help));
	if (failure->merely)
		unparsed_check(text, SQL_MYSQL, mysql_refused_by_name, str_from(failure->reason), violations);
	else
		violations_add(violations, failure->code, (int64_t)failure->offset, "%s", failure->reason);
}

static str_t statement_text(const struct code_fence_result *part, struct arena *arena)
{
	size_t length = part->text.len;
	while (length > 0 && strchr(" \t\r\n\f\v;", part->text.ptr[length - 1]))
		length--;
	return arena_text(arena, part->text.ptr, length);
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

/* The tokens as they are: only white space and comments vanish. */
static str_t token_text(struct arena *arena, str_t text, bool masked)
{
	struct mysql_tokens tokens;
	struct mysql_failure failure;
	struct buf buf = BUF_INIT;
	(void)mysql_tokens_read(text, MYSQL_ANY_MODE, arena, &tokens, &failure);
	buf_append_text(&buf, "text:");
	for (size_t i = 0; i < tokens.count; i++) {
		const struct mysql_token *token = &tokens.items[i];
		buf_append_char(&buf, ' ');
		if (masked && is_literal(token))
			buf_append_char(&buf, '?');
		else
			buf_append(&buf, text.ptr + token->offset, token->len);
	}
	str_t result = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return result;
}

/* Servers write definitions for their default settings, and read them so whatever the session's are. */
static const struct query_node *read_view(str_t definition, const struct sql_request *request,
					  struct arena *arena)
{
	struct mysql_failure failure = { 0 };
	struct diagnostics unused = { .arena = arena };
	struct mysql_names names = { 0 };
	struct query_node *root = mysql_parse(definition, MYSQL_DEFAULT_MODE, arena, &failure);
	if (root)
		mysql_names_resolve(root, request, arena, &unused, &names);
	return names.gave_up ? NULL : root;
}

static void analyse_parsed(struct query_node *root, const struct sql_request *request, struct arena *arena,
			   struct diagnostics *diagnostics, struct violations *violations,
			   struct sql_analysis *analysis)
{
	struct mysql_names names;
	mysql_names_resolve(root, request, arena, diagnostics, &names);
	mysql_safety_check(root, analysis->text, request, violations);
	query_bombs(root, SQL_MYSQL, false, violations);
	query_lint(root, analysis->text, SQL_MYSQL, diagnostics);
	query_required(root, request, read_view, diagnostics);
	analysis->names_resolved = request->catalog != NULL && !names.gave_up;
	analysis->tables = names.tables;
	analysis->tables_count = names.tables_count;
	analysis->tables_known = true;
	query_canonical(root, &(struct query_canonical){ .dialect = SQL_MYSQL }, arena, analysis);
	query_inner_cuts(root, arena, analysis);
	if (!str_present(analysis->canonical))
		analysis->canonical = token_text(arena, analysis->text, false);
	if (!str_present(analysis->shape))
		analysis->shape = query_shape_name(token_text(arena, analysis->text, true), arena);
}

void sql_analyse_mysql(const struct sql_request *request, struct arena *arena,
		       struct sql_analysis *ret_analysis)
{
	struct query_node *root;
	struct mysql_failure failure;
	str_t sql = str_present(request->sql) ? request->sql : STR("");
	struct code_fence_result part = parse_unwrapped(sql, arena, &root, &failure);
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
