#include "sql/sqlite/required.h"

#include "sql/lex/scan.h"
#include "sql/query/conditions.h"
#include "sql/sqlite/parser.h"
#include "sql/sqlite/tokens.h"

/* The query of CREATE VIEW name (columns) AS query; absent: there is none. */
static str_t view_query(str_t definition)
{
	struct scan_token token = scan_next(definition, 0, SQL_SQLITE);
	while (token.kind != SCAN_END && !scan_is_word(definition, token, "AS"))
		token = scan_next(definition, token.offset + token.len, SQL_SQLITE);
	size_t end = token.offset + token.len;
	return token.kind == SCAN_END ? STR_NONE : (str_t){ definition.ptr + end, definition.len - end };
}

static const struct query_node *read_view(str_t definition, const struct sql_request *request,
					  struct arena *arena)
{
	struct sqlite_names tables;
	str_t query = view_query(definition);
	struct sqlite_select *select =
		str_present(query) ? sqlite_parse(arena_str(arena, query), NULL, arena) : NULL;
	if (!select)
		return NULL;
	sqlite_resolve(select, request->catalog, arena, &tables);
	struct sqlite_graph graph = sqlite_graph(select, arena);
	return graph.hides_query ? NULL : graph.root;
}

static void check_unseen(str_t text, const struct sql_policy *policy, struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &policy->required_columns[i];
		const char *dot = memchr(rule->table.ptr, '.', rule->table.len);
		str_t table = dot ? str_from(dot + 1) : rule->table;
		int64_t offset = sqlite_tokens_find(text, table);
		if (offset >= 0)
			diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, NULL, table, offset,
					"no condition on the column \"" STR_FMT "\" of \"" STR_FMT
					"\" can be made out",
					STR_ARG(rule->column), STR_ARG(table));
	}
}

void sqlite_required(const struct sqlite_graph *graph, str_t text, const struct sql_request *request,
		     struct diagnostics *diagnostics)
{
	if (!request->policy)
		return;
	if (graph)
		query_required(graph->root, request, read_view, diagnostics);
	if (!graph || graph->hides_query)
		check_unseen(text, request->policy, diagnostics);
}
