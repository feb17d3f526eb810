#include "sql/postgresql/resolve/internal.h"

static struct resolution resolution_new(const struct catalog *catalog, struct arena *arena)
{
	return (struct resolution){ .names_known = catalog != NULL,
				    .catalog = catalog,
				    .nodes = node_map_new(arena),
				    .operators = node_map_new(arena),
				    .types = node_map_new(arena) };
}

static int by_offset(const void *left, const void *right)
{
	const struct sql_diagnostic *a = left, *b = right;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

void resolve_statement(const struct parsed_statement *parsed, const struct catalog *catalog,
		       struct arena *arena, struct diagnostics *diagnostics,
		       struct resolution *ret_resolution)
{
	*ret_resolution = resolution_new(catalog, arena);
	const Node *statement = parsed->statement;
	if (statement && IsA(statement, ExplainStmt))
		statement = ((const ExplainStmt *)statement)->query;
	if (!statement || !IsA(statement, SelectStmt))
		return;
	struct resolver resolver = {
		.arena = arena, .catalog = catalog, .diagnostics = diagnostics, .resolution = ret_resolution
	};
	struct outputs outputs = { 0 };
	resolve_select(&resolver, NULL, (const SelectStmt *)statement, &outputs);
	ret_resolution->suspected_calls = resolver.suspected;
	ret_resolution->suspected_calls_count = resolver.suspected_count;
	ret_resolution->casts = resolver.casts;
	ret_resolution->casts_count = resolver.casts_count;
	if (diagnostics->count > 1)
		qsort(diagnostics->items, diagnostics->count, sizeof *diagnostics->items, by_offset);
}

void resolve_query_outputs(const SelectStmt *select, const struct catalog *catalog, struct arena *arena,
			   struct outputs *ret_outputs, str_t *ret_missing)
{
	struct resolution resolution = resolution_new(catalog, arena);
	struct diagnostics ignored = { .arena = arena };
	struct resolver resolver = { .arena = arena,
				     .catalog = catalog,
				     .diagnostics = &ignored,
				     .resolution = &resolution,
				     .seeks_missing = true };
	*ret_outputs = (struct outputs){ 0 };
	resolve_select(&resolver, NULL, select, ret_outputs);
	ret_outputs->open |= resolution.too_deep;
	*ret_missing = resolution.missing;
}
