#include "sql/sqlite/front_end.h"

#include "common/hash.h"
#include "common/nearest.h"
#include "sql/catalog/content.h"
#include "sql/findings/instead.h"
#include "sql/findings/unparsed.h"
#include "sql/lex/scan_text.h"
#include "sql/query/bombs.h"
#include "sql/query/canonical.h"
#include "sql/query/inner_cuts.h"
#include "sql/query/lint.h"
#include "sql/sqlite/database.h"
#include "sql/sqlite/excess.h"
#include "sql/sqlite/required.h"
#include "sql/sqlite/resolve.h"
#include "sql/sqlite/tokens.h"

#define REPAIRS_MAX    64	  /* problems that are worked around to find the next one */
#define REPAIRED_BYTES (64 << 10) /* of text that is prepared again for it */
#define HINTS_MAX      8

struct sqlite_analysis {
	const struct sql_request *request;
	front_end_recursion_fn read_recursion;
	struct arena *arena;
	struct diagnostics diagnostics;
	struct violations violations;
	struct sqlite_trace trace;
	struct sqlite_database *database;
	str_t text;   /* the statement */
	char *masked; /* the same with what cannot be resolved masked */
	bool proven;  /* the library has prepared all of it as a read */
	bool broken;  /* it does not parse */
	bool stubbed; /* tables that there are not have been made up */
	struct sqlite_strings strings;
	unsigned hints;
	struct hash_map names; /* in the text, in lower case; built when they are wanted */
};

static bool is_named(struct sqlite_analysis *state, str_t name)
{
	if (!state->names.arena) {
		struct sqlite_name found = { 0 };
		hash_map_init(&state->names, state->arena, 64);
		while (sqlite_tokens_next_name(state->text, &found))
			hash_map_set(&state->names, identifier_lower(found.name, state->arena), state);
	}
	return hash_map_get(&state->names, name) != NULL;
}

/* The catalog's columns that the statement could mean: of every relation that it names. */
static void offer_columns(struct sqlite_analysis *state, struct nearest *nearest)
{
	size_t count;
	const struct catalog_relation *relations = catalog_relations(state->request->catalog, &count);
	for (size_t i = 0; i < count; i++) {
		if (!is_named(state, relations[i].name))
			continue;
		for (size_t j = 0; j < relations[i].columns_count; j++)
			nearest_offer(nearest, relations[i].columns[j].name);
	}
}

static void offer_relations(const struct sqlite_analysis *state, struct nearest *nearest)
{
	size_t count;
	const struct catalog_relation *relations = catalog_relations(state->request->catalog, &count);
	for (size_t i = 0; i < count; i++)
		nearest_offer(nearest, relations[i].name);
}

/* "; did you mean …?", or what else helps, or "". */
static str_t hint(struct sqlite_analysis *state, const struct sqlite_result *result, int64_t offset)
{
	const char *dot = result->name.ptr ? memrchr(result->name.ptr, '.', result->name.len) : NULL;
	str_t last = str_from(dot ? dot + 1 : result->name.ptr ? result->name.ptr : "");
	struct nearest nearest;
	if (result->code == DIAG_UNKNOWN_COLUMN && offset >= 0 && state->text.ptr[offset] == '"')
		return STR("; a text is written in single quotes");
	if (++state->hints > HINTS_MAX)
		return STR("");
	last = identifier_lower(last, state->arena);
	nearest_init(&nearest, last);
	if (result->problem == SQLITE_PROBLEM_FUNCTION) {
		str_t instead = instead_of_function(last, SQL_SQLITE, state->arena);
		if (instead.len > 0)
			return instead;
		sqlite_functions_offer(&nearest);
	}
	if (result->code == DIAG_UNKNOWN_TABLE)
		offer_relations(state, &nearest);
	if (result->code == DIAG_UNKNOWN_COLUMN) {
		const struct query_range *range =
			offset < 0 ? NULL
				   : sqlite_range_having(state->text, (size_t)offset, last,
							 state->request->catalog, state->arena);
		if (range)
			return arena_printf(state->arena, "; did you mean \"" STR_FMT "\".\"" STR_FMT "\"?",
					    STR_ARG(range->alias), STR_ARG(last));
		offer_columns(state, &nearest);
	}
	return nearest_hint(&nearest, '"', state->arena);
}

/* Without a catalog no names can be unknown. */
static void report(struct sqlite_analysis *state, const struct sqlite_result *result)
{
	bool named = str_present(result->name);
	bool about_names = result->problem == SQLITE_PROBLEM_TABLE ||
			   result->problem == SQLITE_PROBLEM_COLUMN ||
			   result->problem == SQLITE_PROBLEM_FUNCTION;
	if (about_names && !state->request->catalog)
		return;
	int64_t offset = result->offset;
	if (named && offset < 0)
		offset = sqlite_tokens_find(state->text, result->name);
	str_t help = STR("");
	if (result->code == DIAG_SYNTAX_ERROR && offset >= 0)
		help = instead_near(state->text, (size_t)offset, SQL_SQLITE, state->arena);
	else if (state->request->catalog && named)
		help = hint(state, result, offset);
	if (offset < 0 && str_is(result->message, "incomplete input"))
		offset = (int64_t)state->text.len;
	diagnostics_add(&state->diagnostics, result->code, SUB_NONE, named ? result->name : result->message,
			offset, STR_FMT STR_FMT, STR_ARG(result->message), STR_ARG(help));
}

static bool stub_table(struct sqlite_analysis *state, str_t name)
{
	struct buf names = BUF_INIT;
	sqlite_tokens_names(state->text, &names);
	bool done = names.len > 0 && sqlite_database_stub_table(state->database, name, buf_str(&names));
	buf_free(&names);
	state->stubbed = true;
	return done;
}

static void refuse_parse(struct sqlite_analysis *state, const struct sqlite_result *result,
			 enum sql_violation_code code)
{
	struct sqlite_result syntax = *result;
	syntax.code = DIAG_SYNTAX_ERROR;
	state->broken = true;
	report(state, &syntax);
	if (code == VIOLATION_UNANALYSABLE)
		unparsed_check(state->text, SQL_SQLITE, NULL, result->message, &state->violations);
	else
		violations_add(&state->violations, code, result->offset, STR_FMT, STR_ARG(result->message));
}

/* Reports a problem and works around it, with nothing but names changed; false: there is no way on. A stub
 * has every column that is spoken of: with one, what is called ambiguous may not be. */
static bool repair(struct sqlite_analysis *state, const struct sqlite_result *result)
{
	switch (result->problem) {
	case SQLITE_PROBLEM_TABLE:
		report(state, result);
		return stub_table(state, result->name);
	case SQLITE_PROBLEM_COLUMN:
		if (result->code != DIAG_AMBIGUOUS_COLUMN || !state->stubbed)
			report(state, result);
		return sqlite_tokens_mask_column(state->masked, state->text.len, result->name);
	case SQLITE_PROBLEM_FUNCTION:
		/* a program can bring functions of its own along, which only a target's catalog can rule out
		 */
		if (!state->request->catalog)
			violations_doubt(&state->violations, "function " STR_FMT " is none of the library's",
					 STR_ARG(result->name));
		__attribute__((fallthrough));
	case SQLITE_PROBLEM_CALL:
		report(state, result);
		/* The library's functions are all there are: what it does not have does nothing. */
		return sqlite_database_stub_function(state->database, result->name);
	case SQLITE_PROBLEM_TOO_DEEP:
		refuse_parse(state, result, VIOLATION_TOO_DEEP);
		return false;
	case SQLITE_PROBLEM_SYNTAX:
		refuse_parse(state, result, VIOLATION_UNANALYSABLE);
		return false;
	case SQLITE_PROBLEM_OTHER:
		report(state, result);
		if (strncmp(result->message.ptr, "unsafe use of ", strlen("unsafe use of ")) == 0)
			violations_add(&state->violations, VIOLATION_DANGEROUS_FUNCTION, result->offset,
				       STR_FMT, STR_ARG(result->message)); /* in a view */
		return false;
	case SQLITE_PROBLEM_DENIED:
	case SQLITE_PROBLEM_NONE:
	default:
		return false;
	}
}

/* The library resolves names once it has parsed the whole statement: what it says of the rest behind a
 * repair may be about the repair. */
static bool is_artefact(const struct sqlite_result *result)
{
	return result->problem == SQLITE_PROBLEM_SYNTAX || result->problem == SQLITE_PROBLEM_TOO_DEEP ||
	       result->problem == SQLITE_PROBLEM_OTHER;
}

static bool takes_strings(const struct sqlite_analysis *state)
{
	const struct sql_policy *policy = state->request->policy;
	return !(policy && policy->double_quotes_are_names);
}

/* The column that may have been meant instead of a string, or absent. */
static str_t column_meant(struct sqlite_analysis *state, str_t name)
{
	struct nearest nearest;
	if (!state->request->catalog || ++state->hints > HINTS_MAX)
		return STR_NONE;
	nearest_init(&nearest, identifier_lower(name, state->arena));
	offer_columns(state, &nearest);
	return nearest.shared == 0 && !str_equal(nearest.best, nearest.name) ? nearest.best : STR_NONE;
}

static void note_string(struct sqlite_analysis *state, str_t name, size_t offset)
{
	str_t meant = column_meant(state, name);
	str_t help = str_present(meant)
			     ? arena_printf(state->arena, ", or \"" STR_FMT "\" if that column is meant",
					    STR_ARG(meant))
			     : STR("");
	diagnostics_add(&state->diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_DOUBLE_QUOTED_TEXT, name,
			(int64_t)offset,
			"\"" STR_FMT "\" names no column and is read as a text; write it in single "
			"quotes" STR_FMT,
			STR_ARG(name), STR_ARG(help));
	ARENA_PUSH(state->arena, state->strings.items, state->strings.count, state->strings.capacity, offset);
}

/* Whether the name stands at the offset in double quotes. */
static bool stands_quoted(str_t text, int64_t offset, str_t name)
{
	size_t at = offset < 0 || (size_t)offset >= text.len ? text.len : (size_t)offset;
	if (at == text.len || text.ptr[at++] != '"')
		return false;
	for (size_t i = 0; i < name.len; i++, at++) {
		if (at >= text.len || text.ptr[at] != name.ptr[i])
			return false;
		at += name.ptr[i] == '"'; /* it is doubled */
	}
	return at < text.len && text.ptr[at] == '"';
}

/* What the library has accepted, but only since it takes texts in double quotes for strings: without that
 * they are unknown columns. */
static void note_strings(struct sqlite_analysis *state)
{
	struct violations unused = { .arena = state->arena };
	struct sqlite_trace trace = { .arena = state->arena, .text = state->text, .violations = &unused };
	char *text = arena_strdup(state->arena, state->masked);
	str_t masked = { text, state->text.len };
	unsigned repairs = (unsigned)(1 + REPAIRED_BYTES / (state->text.len + 1));
	if (!takes_strings(state) || !memchr(masked.ptr, '"', masked.len))
		return;
	sqlite_database_take_strings(state->database, false);
	for (unsigned i = 0; i < repairs && i < REPAIRS_MAX; i++) {
		struct sqlite_result result = sqlite_database_prepare(state->database, masked, &trace);
		if (result.problem != SQLITE_PROBLEM_COLUMN || result.code != DIAG_UNKNOWN_COLUMN ||
		    !stands_quoted(masked, result.offset, result.name))
			break;
		note_string(state, result.name, (size_t)result.offset);
		sqlite_tokens_mask_at(text, masked.len, (size_t)result.offset);
	}
}

/* Prepares until nothing is left to report. */
static void prepare(struct sqlite_analysis *state)
{
	str_t masked = { state->masked, state->text.len };
	unsigned repairs = (unsigned)(1 + REPAIRED_BYTES / (state->text.len + 1));
	for (unsigned i = 0; i < repairs && i < REPAIRS_MAX; i++) {
		struct sqlite_result result = sqlite_database_prepare(state->database, masked, &state->trace);
		if (result.problem == SQLITE_PROBLEM_NONE) {
			state->proven = result.read_only;
			note_strings(state);
			if (!result.read_only)
				violations_add(&state->violations, VIOLATION_NOT_A_READ, 0,
					       "the statement writes");
			return;
		}
		if ((i > 0 && is_artefact(&result)) || !repair(state, &result))
			return;
	}
}

static bool has_excess(struct sqlite_analysis *state)
{
	size_t offset;
	const char *reason = sqlite_excess(state->text, &offset);
	if (reason)
		refuse_parse(
			state,
			&(struct sqlite_result){ .message = str_from(reason), .offset = (int64_t)offset },
			VIOLATION_TOO_LONG);
	return reason != NULL;
}

/* What another grammar tells of recursions is finer; where it reads nothing, the tree has to do, and without
 * one the words that could end them. */
static void check_bombs(struct sqlite_analysis *state, const struct query_node *query)
{
	enum front_end_recursion recursion = FRONT_END_RECURSION_BOUNDED;
	if (sqlite_tokens_have(state->text, "WITH") && sqlite_tokens_have(state->text, "UNION"))
		recursion = state->read_recursion(state->text, state->arena);
	bool unread = recursion == FRONT_END_RECURSION_UNREAD;
	bool unbounded = unread ? !query && !sqlite_tokens_have(state->text, "WHERE") &&
					  !sqlite_tokens_have(state->text, "JOIN") &&
					  !sqlite_tokens_have(state->text, "LIMIT")
				: recursion == FRONT_END_RECURSION_UNBOUNDED;
	if (query)
		query_bombs(query, SQL_SQLITE, !unread, &state->violations);
	if (unbounded)
		violations_add(&state->violations, VIOLATION_RESOURCE_BOMB, 0, "recursion without a bound");
}

/* A name in FROM may be a WITH query's too. */
static void set_tables(const struct sqlite_database *database, struct sqlite_trace *trace,
		       struct sql_analysis *analysis)
{
	size_t kept = 0;
	texts_unique(&trace->tables);
	for (size_t i = 0; i < trace->tables.count; i++)
		if (sqlite_database_has_relation(database, trace->tables.items[i]))
			trace->tables.items[kept++] = trace->tables.items[i];
	analysis->tables = trace->tables.items;
	analysis->tables_count = kept;
	analysis->tables_known = true;
}

/* Without a tree, the tokens have to do. */
static void describe_tokens(struct sqlite_analysis *state, struct sql_analysis *analysis)
{
	analysis->ordered = sqlite_tokens_have(state->text, "ORDER");
	analysis->limited = sqlite_tokens_have(state->text, "LIMIT");
	if (sqlite_tokens_have_in_brackets(state->text, "LIMIT") &&
	    !sqlite_tokens_have_in_brackets(state->text, "ORDER")) {
		analysis->inner_cuts = ARENA_NEW(state->arena, struct sql_inner_cut);
		analysis->inner_cuts[0] = (struct sql_inner_cut){ .offset = -1 };
		analysis->inner_cuts_count = 1;
	}
	set_tables(state->database, &state->trace, analysis);
	sqlite_tokens_warn(state->text, &state->diagnostics);
	sqlite_required(&(struct sqlite_query){ 0 }, state->text, state->request, &state->diagnostics);
}

static bool has_plain_collations(const struct catalog *catalog)
{
	return catalog && catalog_dialect(catalog) == SQL_SQLITE &&
	       !strcasestr(catalog_source(catalog).ptr, "collate");
}

static void describe(struct sqlite_analysis *state, struct sql_analysis *analysis)
{
	struct sqlite_query query = sqlite_parse(state->text, &state->strings, state->arena);
	const struct catalog *catalog = state->request->catalog;
	if (query.root) {
		struct texts tables;
		sqlite_resolve(&query, catalog, state->arena, &tables);
		check_bombs(state, query.root);
		query_lint(query.root, state->text, SQL_SQLITE, &state->diagnostics);
		sqlite_required(&query, state->text, state->request, &state->diagnostics);
		analysis->tables = tables.items;
		analysis->tables_count = tables.count;
		analysis->tables_known = true;
		query_canonical(
			query.root,
			&(struct query_canonical){ SQL_SQLITE, !has_plain_collations(catalog), query.hides },
			state->arena, analysis);
		query_inner_cuts(query.root, state->arena, analysis);
	} else {
		check_bombs(state, NULL);
		describe_tokens(state, analysis);
	}
	if (!str_present(analysis->canonical))
		analysis->canonical = arena_printf(state->arena, "text: %s",
						   scan_text(state->text, SQL_SQLITE, state->arena).ptr);
}

/* The library stopped at an error and has not asked for all that the statement wants: its tokens tell. */
static void check_unproven(struct sqlite_analysis *state)
{
	struct sqlite_name found = { 0 };
	while (sqlite_tokens_next_name(state->text, &found)) {
		str_t name = found.is_call ? arena_str(state->arena, found.name) : STR_NONE;
		if (found.is_call && !sqlite_function_is_allowed(name.ptr) &&
		    sqlite_database_has_function(state->database, name))
			violations_add(&state->violations, VIOLATION_DANGEROUS_FUNCTION,
				       (int64_t)found.offset, "function " STR_FMT, STR_ARG(name));
	}
	sqlite_tokens_check_modules(state->text, &state->violations);
}

static void judge(struct sqlite_analysis *state)
{
	bool whole = sqlite_tokens_check(state->text, !state->broken, &state->violations);
	if (!whole && !state->broken) {
		diagnostics_add(&state->diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"),
				(int64_t)sqlite_tokens_excess_offset(state->text),
				"something follows the statement; return one statement alone");
		state->broken = true;
	}
	if (state->trace.reads_schema && state->trace.tables.count > 0 &&
	    sqlite_tokens_have(state->text, "UNION"))
		violations_add(&state->violations, VIOLATION_INJECTION_PATTERN, 0,
			       "a set operation joins the schema to tables");
	if (!state->proven)
		check_unproven(state);
	if (state->violations.count > 1)
		sqlite_tokens_tell_once(state->text, &state->violations);
}

static void begin(const struct sql_request *request, front_end_recursion_fn read_recursion,
		  const struct code_fence_result *part, struct arena *arena, struct sqlite_analysis *state)
{
	*state = (struct sqlite_analysis){ .request = request,
					   .read_recursion = read_recursion,
					   .arena = arena };
	state->text = arena_text(arena, part->text.ptr, part->text.len);
	state->masked = arena_strdup(arena, state->text.ptr);
	state->diagnostics = (struct diagnostics){ .arena = arena, .text_offset = part->offset };
	state->violations = (struct violations){ .arena = arena, .text_offset = part->offset };
	state->trace = (struct sqlite_trace){ .arena = arena, .text = state->text };
}

static void analyse_part(struct sqlite_analysis *state, struct sql_analysis *ret_analysis)
{
	_cleanup_(sqlite_database_cleanup) struct sqlite_database *database =
		sqlite_database_borrow(state->request->catalog);
	state->database = database;
	state->trace.violations = &state->violations;
	sqlite_database_take_strings(database, takes_strings(state));
	if (!has_excess(state))
		prepare(state);
	judge(state);
	*ret_analysis = (struct sql_analysis){ .text = state->text,
					       .text_offset = state->diagnostics.text_offset,
					       .valid = !state->broken,
					       .names_resolved = state->request->catalog != NULL };
	if (ret_analysis->valid)
		describe(state, ret_analysis);
}

void sql_analyse_sqlite(const struct sql_request *request, front_end_recursion_fn read_recursion,
			struct arena *arena, struct sql_analysis *ret_analysis)
{
	struct sqlite_analysis state;
	struct code_fence_result part = { request->sql, 0, false };
	struct sql_request own = *request;
	if (own.catalog && catalog_dialect(own.catalog) != SQL_SQLITE)
		own.catalog = NULL; /* another dialect's says nothing that the library could read */
	request = &own;
	begin(request, read_recursion, &part, arena, &state);
	analyse_part(&state, ret_analysis);
	struct code_fence_result unwrapped = { 0 };
	if (state.broken)
		unwrapped = code_fence_unwrap(request->sql, SQL_SQLITE);
	if (unwrapped.wrapped) {
		begin(request, read_recursion, &unwrapped, arena, &state);
		front_end_note_fence(&unwrapped, &state.diagnostics);
		analyse_part(&state, ret_analysis);
	}
	front_end_note_catalog(request, &state.diagnostics);
	ret_analysis->diagnostics = state.diagnostics.items;
	ret_analysis->diagnostics_count = state.diagnostics.count;
	violations_end(&state.violations, request, ret_analysis);
}
