#include "sql/sqlite/required.h"

#include "sql/lex/scan.h"
#include "sql/query/conditions.h"
#include "sql/sqlite/resolve.h"
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
	str_t text = view_query(definition);
	struct sqlite_query query = { 0 };
	if (str_present(text))
		query = sqlite_read(arena_str(arena, text), request->catalog, arena);
	return query.hides_query ? NULL : query.root;
}

static void check_unseen(str_t text, const struct sql_policy *policy, struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &policy->required_columns[i];
		const char *dot = memchr(rule->table.ptr, '.', rule->table.len);
		str_t table = dot ? str_from(dot + 1) : rule->table;
		int64_t offset = sqlite_tokens_find(text, table);
		if (offset >= 0)
			diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, SUB_NONE, table, offset,
					"no condition on the column \"" STR_FMT "\" of \"" STR_FMT
					"\" can be made out",
					STR_ARG(rule->column), STR_ARG(table));
	}
}

void sqlite_required(const struct sqlite_query *query, str_t text, const struct sql_request *request,
		     struct diagnostics *diagnostics)
{
	if (!request->policy)
		return;
	if (query->root)
		query_required(query->root, request, read_view, diagnostics);
	if (!query->root || query->hides_query)
		check_unseen(text, request->policy, diagnostics);
}
