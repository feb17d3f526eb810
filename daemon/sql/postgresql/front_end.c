#include "sql/postgresql/resolve/resolve.h" // first: see pg_nodes.h

#include "sql/postgresql/front_end.h"

#include "sql/postgresql/canonical/canonical.h"
#include "sql/postgresql/diagnose/diagnose.h"
#include "sql/postgresql/diagnose/inner_cuts.h"
#include "sql/postgresql/parse/node_children.h"
#include "sql/postgresql/safety/bombs.h"
#include "sql/postgresql/safety/safety.h"

static void parse_part(const struct code_fence_result *part, struct arena *arena,
		       struct parsed_statement *parsed)
{
	parse_begin(arena_text(arena, part->text.ptr, part->text.len), arena, parsed);
}

/* The text as given is tried first: a code fence inside a literal is no fence. Leaves `parsed` begun. */
static struct code_fence_result parse_unwrapped(str_t sql, struct arena *arena,
						struct parsed_statement *parsed)
{
	struct code_fence_result part = code_fence_trim(sql);
	parse_part(&part, arena, parsed);
	if (!str_present(parsed->error))
		return part;
	struct code_fence_result unwrapped = code_fence_unwrap(sql, SQL_POSTGRESQL);
	if (!unwrapped.wrapped)
		return part;
	parse_end(parsed);
	parse_part(&unwrapped, arena, parsed);
	return unwrapped;
}

/* The only statement, without what the grammar left outside of it (a closing semicolon and what follows). */
static str_t statement_text(const struct parsed_statement *parsed, struct arena *arena)
{
	size_t length = parsed->text.len;
	if (parsed->count == 1) {
		const RawStmt *raw = linitial_node(RawStmt, parsed->statements);
		if (raw->stmt_len > 0)
			length = (size_t)raw->stmt_location + (size_t)raw->stmt_len;
	}
	while (length > 0 && strchr(" \t\r\n\f\v;", parsed->text.ptr[length - 1]))
		length--;
	return arena_text(arena, parsed->text.ptr, length);
}

static void report_parse(const struct parsed_statement *parsed, struct diagnostics *diagnostics)
{
	str_t hint = parse_hint(parsed, diagnostics->arena);
	if (str_present(parsed->error))
		diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"),
				(int64_t)parsed->error_offset, STR_FMT STR_FMT, STR_ARG(parsed->error),
				STR_ARG(hint));
	else if (parsed->count == 0)
		diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"), 0,
				"there is no statement");
	else if (parsed->count > 1)
		diagnostics_add(diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"),
				((const RawStmt *)lsecond(parsed->statements))->stmt_location,
				"there are %zu statements instead of one", parsed->count);
}

/* What PostgreSQL would refuse. */
static bool has_errors(const struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct sql_diagnostic *diagnostic = &diagnostics->items[i];
		if (diagnostic->severity == SQL_ERROR &&
		    strcmp(diagnostic->code, diagnostic_name(DIAG_MARKDOWN_FENCE)) != 0 &&
		    strcmp(diagnostic->code, diagnostic_name(DIAG_MISSING_REQUIRED)) != 0)
			return true;
	}
	return false;
}

static void analyse_parsed(const struct parsed_statement *parsed, const struct sql_request *request,
			   struct diagnostics *diagnostics, struct arena *arena,
			   struct sql_analysis *analysis)
{
	struct resolution resolution = { 0 };
	if (analysis->valid) {
		resolve_statement(parsed, request->catalog, arena, diagnostics, &resolution);
		diagnose_statement(parsed, &resolution, request, diagnostics);
	}
	analysis->names_resolved = request->catalog != NULL && analysis->valid && !resolution.too_deep;
	safety_check(parsed, &resolution, request, arena, analysis);
	/* What the resolver gave up on is refused: comparing it would only cost time. */
	if (!resolution.too_deep)
		canonical_build(parsed, &resolution, request, arena, analysis);
	diagnose_inner_cuts(parsed, &resolution, arena, analysis);
	if (has_errors(diagnostics))
		canonical_distrust(arena, request->dialect, analysis);
}

static const str_t *kept_texts(const str_t *texts, size_t count, struct arena *arena)
{
	str_t *kept = ARENA_ARRAY(arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		kept[i] = arena_str(arena, texts[i]);
	return kept;
}

/* Names and literals may be texts of the parse tree itself, which is about to go. */
static void keep_texts(struct sql_analysis *analysis, struct arena *arena)
{
	analysis->tables = kept_texts(analysis->tables, analysis->tables_count, arena);
	for (size_t i = 0; i < SQL_CLAUSE_COUNT_; i++)
		analysis->clauses[i].items =
			kept_texts(analysis->clauses[i].items, analysis->clauses[i].count, arena);
}

void sql_analyse_postgresql(const struct sql_request *request, struct arena *arena,
			    struct sql_analysis *ret_analysis)
{
	struct parsed_statement parsed;
	struct code_fence_result part = parse_unwrapped(request->sql, arena, &parsed);
	struct diagnostics diagnostics = { .arena = arena };
	front_end_note_fence(&part, &diagnostics);
	*ret_analysis = (struct sql_analysis){ .text = statement_text(&parsed, arena),
					       .text_offset = part.offset,
					       .valid = parsed.count == 1 && !str_present(parsed.error) };
	report_parse(&parsed, &diagnostics);
	front_end_note_catalog(request, &diagnostics);
	analyse_parsed(&parsed, request, &diagnostics, arena, ret_analysis);
	keep_texts(ret_analysis, arena);
	parse_end(&parsed);
	ret_analysis->diagnostics = diagnostics.items;
	ret_analysis->diagnostics_count = diagnostics.count;
}

/* Looks at every WITH query, wherever it stands; false at one without an end. */
static bool recursion_ends(const Node *node, void *context)
{
	if (IsA(node, CommonTableExpr) && bomb_recursion((const CommonTableExpr *)node))
		return false;
	return node_children(node, recursion_ends, context);
}

enum front_end_recursion sql_recursion_postgresql(str_t text, struct arena *arena)
{
	struct parsed_statement parsed;
	enum front_end_recursion found = FRONT_END_RECURSION_UNREAD;
	parse_begin(text, arena, &parsed);
	if (parsed.statement)
		found = recursion_ends(parsed.statement, NULL) ? FRONT_END_RECURSION_BOUNDED
							       : FRONT_END_RECURSION_UNBOUNDED;
	parse_end(&parsed);
	return found;
}
