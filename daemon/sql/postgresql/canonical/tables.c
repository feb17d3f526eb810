#include "sql/postgresql/canonical/tables.h"

#include "sql/catalog/content.h"
#include "sql/lex/identifier.h"
#include "sql/lex/texts.h"
#include "sql/postgresql/parse/node_children.h"

/* Far more than the gate lets through, and little of the stack. */
#define MAX_DEPTH 4000

struct visible_cte {
	const char *name;
	struct visible_cte *outer;
};

struct collector {
	struct arena *arena;
	const struct catalog *catalog; /* or NULL */
	struct visible_cte *ctes;
	unsigned depth;
	bool too_deep;
	struct texts names;
};

static bool collect(const Node *node, void *context);

static void collect_list(struct collector *collector, const List *list)
{
	const ListCell *cell;
	foreach(cell, list) if (lfirst(cell)) collect(lfirst(cell), collector);
}

static void collect_node(struct collector *collector, const void *node)
{
	if (node)
		collect(node, collector);
}

static bool needs_schema(const struct collector *collector, str_t schema, str_t name)
{
	if (!str_present(schema))
		return false;
	if (!collector->catalog)
		return !str_is(schema, "public") && !str_is(schema, "pg_catalog");
	if (catalog_on_path(collector->catalog, schema))
		return false;
	const struct catalog_relation *relation = catalog_relation(collector->catalog, schema, name);
	return !relation || relation != catalog_relation_on_path(collector->catalog, name);
}

static void add_relation(struct collector *collector, const RangeVar *range)
{
	for (const struct visible_cte *cte = range->schemaname ? NULL : collector->ctes; cte;
	     cte = cte->outer)
		if (strcmp(cte->name, range->relname) == 0)
			return;
	str_t schema = str_from(range->schemaname);
	str_t name = str_from(range->relname);
	str_t table = needs_schema(collector, schema, name)
			      ? arena_printf(collector->arena, "%s.%s", schema.ptr, name.ptr)
			      : name;
	texts_add(collector->arena, &collector->names, identifier_lower(table, collector->arena));
}

static void show_cte(struct collector *collector, const char *name)
{
	struct visible_cte *cte = ARENA_NEW(collector->arena, struct visible_cte);
	*cte = (struct visible_cte){ name, collector->ctes };
	collector->ctes = cte;
}

static void collect_with(struct collector *collector, const WithClause *with)
{
	const ListCell *cell;
	foreach(cell, with->ctes)
	{
		const CommonTableExpr *cte = lfirst(cell);
		if (with->recursive)
			show_cte(collector, cte->ctename);
		collect_node(collector, cte->ctequery);
		if (!with->recursive)
			show_cte(collector, cte->ctename);
	}
}

static bool collect_writing(struct collector *collector, const Node *node)
{
	switch ((int)nodeTag(node)) {
	case T_InsertStmt: {
		const InsertStmt *insert = (const InsertStmt *)node;
		collect_node(collector, insert->withClause);
		collect_node(collector, insert->relation);
		collect_node(collector, insert->selectStmt);
		collect_list(collector, insert->returningList);
		return true;
	}
	case T_UpdateStmt: {
		const UpdateStmt *update = (const UpdateStmt *)node;
		collect_node(collector, update->withClause);
		collect_node(collector, update->relation);
		collect_list(collector, update->fromClause);
		collect_list(collector, update->targetList);
		collect_node(collector, update->whereClause);
		return true;
	}
	case T_DeleteStmt: {
		const DeleteStmt *delete = (const DeleteStmt *)node;
		collect_node(collector, delete->withClause);
		collect_node(collector, delete->relation);
		collect_list(collector, delete->usingClause);
		collect_node(collector, delete->whereClause);
		return true;
	}
	case T_ExplainStmt:
		collect_node(collector, ((const ExplainStmt *)node)->query);
		return true;
	case T_CreateTableAsStmt:
		collect_node(collector, ((const CreateTableAsStmt *)node)->query);
		return true;
	case T_TruncateStmt:
		collect_list(collector, ((const TruncateStmt *)node)->relations);
		return true;
	case T_CopyStmt:
		collect_node(collector, ((const CopyStmt *)node)->relation);
		collect_node(collector, ((const CopyStmt *)node)->query);
		return true;
	default:
		return false;
	}
}

static bool collect(const Node *node, void *context)
{
	struct collector *collector = context;
	if (collector->depth >= MAX_DEPTH)
		collector->too_deep = true;
	if (collector->too_deep)
		return false;
	collector->depth++;
	struct visible_cte *outer = collector->ctes;
	bool scope = true;
	if (IsA(node, RangeVar)) {
		add_relation(collector, (const RangeVar *)node);
	} else if (IsA(node, WithClause)) {
		collect_with(collector, (const WithClause *)node);
		scope = false; /* its names are for the statement that it belongs to */
	} else if (!collect_writing(collector, node)) {
		node_children(node, collect, collector);
	}
	if (scope)
		collector->ctes = outer;
	collector->depth--;
	return !collector->too_deep;
}

bool canonical_tables(const Node *statement, const struct sql_request *request, struct arena *arena,
		      const str_t **ret_tables, size_t *ret_count)
{
	struct collector collector = { .arena = arena, .catalog = request->catalog };
	collect_node(&collector, statement);
	if (collector.too_deep)
		return false;
	texts_unique(&collector.names);
	*ret_tables = collector.names.items;
	*ret_count = collector.names.count;
	return true;
}
