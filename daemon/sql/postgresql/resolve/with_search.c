#include "sql/postgresql/resolve/internal.h"

#include "catalog/pg_type_d.h"

/* SEARCH and CYCLE of a recursive query, checked in PostgreSQL's order: the first fault is reported. */
struct clauses {
	struct resolver *resolver;
	const CommonTableExpr *cte;
	const struct outputs *outputs; /* without the columns that the clauses add */
	bool failed;
};

static void fail(struct clauses *clauses, const char *sqlstate, int location, const char *what,
		 const char *name)
{
	clauses->failed = true;
	resolver_report_type(clauses->resolver, DIAG_INVALID_RECURSION, SUB_INVALID_RECURSION_SEARCH,
			     sqlstate, location, "recursive query \"%s\": \"%s\" %s", clauses->cte->ctename,
			     name, what);
}

static bool is_column(const struct clauses *clauses, const char *name)
{
	return range_columns_find(clauses->outputs->columns, clauses->outputs->count, str_from(name));
}

static void check_listed(struct clauses *clauses, const List *names, int location)
{
	for (int i = 0; i < list_length(names) && !clauses->failed; i++) {
		const char *name = NODE_STRING(list_nth(names, i));
		if (!is_column(clauses, name))
			fail(clauses, "42601", location, "is none of its columns", name);
		for (int j = 0; j < i && !clauses->failed; j++) {
			if (strcmp(NODE_STRING(list_nth(names, j)), name) == 0)
				fail(clauses, "42701", location, "is there twice", name);
		}
	}
}

static void check_new(struct clauses *clauses, const char *name, int location)
{
	if (!clauses->failed && is_column(clauses, name))
		fail(clauses, "42601", location, "is one of its columns already", name);
}

static void check_differ(struct clauses *clauses, const char *name, const char *other, int location)
{
	if (!clauses->failed && strcmp(name, other) == 0)
		fail(clauses, "42601", location, "is to be two new columns", name);
}

/* A term that is no set operation by itself. */
static bool is_plain(const SelectStmt *term)
{
	return term->op == SETOP_NONE || term->sortClause || term->limitOffset || term->limitCount ||
	       term->lockingClause || term->withClause;
}

static void check_terms(struct clauses *clauses, bool is_recursive)
{
	const CommonTableExpr *cte = clauses->cte;
	const SelectStmt *select = (const SelectStmt *)cte->ctequery;
	if (!is_recursive)
		fail(clauses, "42601", cte->location, "does not speak of itself", cte->ctename);
	else if (select->op != SETOP_UNION)
		clauses->failed = true; /* reported as no recursive query */
	else if (!is_plain(select->larg))
		fail(clauses, "0A000", -1, "needs a plain SELECT as its first term", cte->ctename);
	else if (!is_plain(select->rarg))
		fail(clauses, "42601", -1, "needs a plain SELECT as its second term", cte->ctename);
}

static void check_names(struct clauses *clauses)
{
	const CTESearchClause *search = clauses->cte->search_clause;
	const CTECycleClause *cycle = clauses->cte->cycle_clause;
	if (search) {
		check_listed(clauses, search->search_col_list, search->location);
		check_new(clauses, search->search_seq_column, search->location);
	}
	if (cycle) {
		check_listed(clauses, cycle->cycle_col_list, cycle->location);
		check_new(clauses, cycle->cycle_mark_column, cycle->location);
		check_new(clauses, cycle->cycle_path_column, cycle->location);
		check_differ(clauses, cycle->cycle_mark_column, cycle->cycle_path_column, cycle->location);
	}
	if (search && cycle) {
		check_differ(clauses, search->search_seq_column, cycle->cycle_mark_column, search->location);
		check_differ(clauses, search->search_seq_column, cycle->cycle_path_column, search->location);
	}
}

type_id resolve_cycle_mark(struct resolver *resolver, struct scope *scope, const CommonTableExpr *cte)
{
	const CTECycleClause *cycle = cte->cycle_clause;
	if (!cycle)
		return TYPE_UNSURE;
	const Node *const values[] = { cycle->cycle_mark_value, cycle->cycle_mark_default };
	const type_id types[] = { resolve_expression(resolver, scope, values[0]),
				  resolve_expression(resolver, scope, values[1]) };
	type_id type = resolver_common_type(resolver, values, types, 2, "CYCLE", cycle->location);
	if (type != TYPE_UNSURE && type_has_equality(resolver->catalog, type) == SURELY_NOT) {
		str_t text = type_text(resolver->catalog, type);
		resolver_report_type(resolver, DIAG_UNKNOWN_FUNCTION, SUB_UNKNOWN_FUNCTION_EQUALITY, "42883",
				     cycle->location, "CYCLE: values of type " STR_FMT " cannot be compared",
				     STR_ARG(text));
	}
	return type;
}

void cte_add_search_columns(struct resolver *resolver, const CommonTableExpr *cte, bool is_recursive,
			    type_id mark, struct outputs *outputs)
{
	struct clauses clauses = { resolver, cte, outputs, false };
	const CTESearchClause *search = cte->search_clause;
	const CTECycleClause *cycle = cte->cycle_clause;
	if ((!search && !cycle) || !IsA(cte->ctequery, SelectStmt))
		return;
	check_terms(&clauses, is_recursive);
	if (!clauses.failed && !outputs->open)
		check_names(&clauses);
	if (search)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = str_from(search->search_seq_column),
						   .type = search->search_breadth_first ? RECORDOID
											: RECORDARRAYOID });
	if (cycle) {
		outputs_add(
			resolver, outputs,
			(struct range_column){ .name = str_from(cycle->cycle_mark_column), .type = mark });
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = str_from(cycle->cycle_path_column),
						   .type = RECORDARRAYOID });
	}
}
