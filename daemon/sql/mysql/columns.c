#include "sql/mysql/scope.h"

#include "common/nearest.h"
enum lookup { LOOKUP_MISSING, LOOKUP_FOUND, LOOKUP_UNSURE, LOOKUP_AMBIGUOUS };

const str_t *mysql_columns_find(struct mysql_resolver *resolver, const struct query_columns *columns,
				str_t name)
{
	resolver->lookups++;
	return hash_map_get(&columns->map, name);
}

static bool plain_name(str_t name)
{
	for (size_t i = 0; i < name.len; i++)
		if (strchr(" ()+-*/%<>=!&|^~,.'\"", name.ptr[i]))
			return false;
	return true;
}

static bool in_view(const struct mysql_scope *scope, size_t index)
{
	return index >= scope->from && index < scope->to;
}

/* Aliases are exact on some servers and in any case of letters on others: exact ones go first. */
struct query_range *mysql_scope_range(struct mysql_resolver *resolver, struct mysql_scope *scope,
				      str_t schema, str_t qualifier)
{
	struct query_range *found = NULL;
	if (scope->count == 0)
		return NULL;
	struct query_range *range =
		hash_map_get(&scope->aliases, identifier_lower(qualifier, resolver->arena));
	for (; range; range = range->same) {
		resolver->lookups++;
		if (str_present(schema) && str_present(range->schema) &&
		    !identifier_same(range->schema, schema))
			continue;
		if (!found || (str_equal(range->alias, qualifier) && !str_equal(found->alias, qualifier)))
			found = range;
	}
	return found;
}

/* A table that keeps its past has two columns that no catalog shows. */
static bool tells_versions(const struct query_range *range, str_t lower)
{
	return range->kind == QUERY_RANGE_RELATION &&
	       (str_is(lower, "row_start") || str_is(lower, "row_end"));
}

static enum lookup qualified(struct mysql_resolver *resolver, struct mysql_scope *scope,
			     struct query_node *column, str_t lower)
{
	struct query_range *range = mysql_scope_range(resolver, scope, column->schema, column->qualifier);
	if (!range)
		return LOOKUP_MISSING;
	if (!in_view(scope, range->position))
		return LOOKUP_MISSING; /* not on this side of the join */
	column->range = range;
	if (mysql_columns_find(resolver, range->columns, lower))
		return LOOKUP_FOUND;
	bool unsure = range->columns->open || (range->columns->loose && !plain_name(lower)) ||
		      tells_versions(range, lower);
	return unsure ? LOOKUP_UNSURE : LOOKUP_MISSING;
}

static bool has_outer(const struct mysql_scope *scope)
{
	while ((scope = scope->outer))
		if (scope->count > 0)
			return true;
	return false;
}

/* The range of the column that an output of that name is, too; NULL: it is something else, or there are
 * several.
 */
static const struct query_range *range_of_output(const struct query_node *output,
						 const struct query_node *column)
{
	bool same = output->kind == QUERY_ITEM && output->first->kind == QUERY_COLUMN &&
		    identifier_same(output->first->name, column->name);
	return same ? output->first->range : NULL;
}

static enum lookup unqualified(struct mysql_resolver *resolver, struct mysql_scope *scope,
			       struct query_node *column, str_t lower, bool inner)
{
	struct query_range *found = NULL;
	size_t matches = 0;
	bool open = false;
	const struct query_node *output =
		scope->outputs && (scope->past_items || inner) ? hash_map_get(scope->outputs, lower) : NULL;
	if (output) {
		column->flag = true;
		column->range = range_of_output(output, column);
		return LOOKUP_UNSURE; /* an output's name, and perhaps a column's, too */
	}
	if (scope->count > QUERY_MAX_TABLES) /* reported for that */
		return LOOKUP_UNSURE;
	for (size_t i = scope->from; i < scope->count && i < scope->to; i++) {
		const struct query_columns *columns = scope->ranges[i]->columns;
		bool match = mysql_columns_find(resolver, columns, lower) != NULL;
		open = open || columns->open || (columns->loose && !plain_name(lower)) ||
		       (!match && tells_versions(scope->ranges[i], lower));
		matches += match;
		found = match ? scope->ranges[i] : found;
	}
	bool merged = scope->natural || (scope->merged && hash_map_get(scope->merged, lower));
	if (matches > 1)
		return merged ? LOOKUP_UNSURE : LOOKUP_AMBIGUOUS;
	if (open && scope->count == 1 && !has_outer(scope))
		column->range = scope->ranges[0]; /* there is nothing else that it could be of */
	if (open || (scope->past_items && scope->outputs_open))
		return LOOKUP_UNSURE;
	if (matches == 0)
		return LOOKUP_MISSING;
	column->range = merged ? NULL : found;
	return LOOKUP_FOUND;
}

static void offer_columns(struct mysql_resolver *resolver, struct nearest *nearest,
			  const struct query_columns *columns)
{
	for (size_t c = 0; c < columns->count && resolver->offers < MYSQL_MAX_OFFERS; c++, resolver->offers++)
		nearest_offer(nearest, columns->names[c]);
}

static void offer(struct mysql_resolver *resolver, struct nearest *nearest, const struct mysql_scope *scope)
{
	for (size_t i = 0; scope && i < scope->count && i < QUERY_MAX_TABLES; i++)
		offer_columns(resolver, nearest, scope->ranges[i]->columns);
}

/* The same column of another table that can be seen here, or absent. */
static str_t elsewhere(struct mysql_resolver *resolver, const struct mysql_scope *scope,
		       const struct query_node *column)
{
	str_t lower = identifier_lower(column->name, resolver->arena);
	for (; scope && resolver->diagnostics->count < DIAGNOSTICS_MAX; scope = scope->outer)
		for (size_t i = 0; i < scope->count && i < QUERY_MAX_TABLES; i++)
			if (scope->ranges[i] != column->range && str_present(scope->ranges[i]->alias) &&
			    mysql_columns_find(resolver, scope->ranges[i]->columns, lower))
				return arena_printf(resolver->arena,
						    "; did you mean `" STR_FMT "`.`" STR_FMT "`?",
						    STR_ARG(scope->ranges[i]->alias), STR_ARG(column->name));
	return STR_NONE;
}

static void report_unknown(struct mysql_resolver *resolver, const struct mysql_scope *scope,
			   const struct query_node *column)
{
	struct nearest nearest;
	if (resolver->diagnostics->count >= DIAGNOSTICS_MAX)
		return;
	nearest_init(&nearest, column->name);
	if (column->range)
		offer_columns(resolver, &nearest, column->range->columns);
	else
		offer(resolver, &nearest, scope);
	str_t hint = elsewhere(resolver, scope, column);
	if (!str_present(hint))
		hint = nearest_hint(&nearest, '`', resolver->arena);
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, column->name,
			(int64_t)column->offset, "column `" STR_FMT "` does not exist" STR_FMT,
			STR_ARG(column->name), STR_ARG(hint));
}

void mysql_report_qualifier(struct mysql_resolver *resolver, const struct query_node *node, str_t hint)
{
	diagnostics_add(resolver->diagnostics, DIAG_INVALID_JOIN, SUB_NONE, node->qualifier,
			(int64_t)node->offset,
			"`" STR_FMT "` is not a table that can be referred to here" STR_FMT,
			STR_ARG(node->qualifier), STR_ARG(str_present(hint) ? hint : STR("")));
}

static void report(struct mysql_resolver *resolver, const struct mysql_scope *scope,
		   const struct query_node *column, enum lookup lookup)
{
	bool known = resolver->request->catalog != NULL;
	if (lookup == LOOKUP_AMBIGUOUS)
		diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, SUB_NONE, column->name,
				(int64_t)column->offset,
				"column `" STR_FMT "` is of several tables; name one", STR_ARG(column->name));
	else if (known && str_present(column->qualifier) && !column->range)
		mysql_report_qualifier(resolver, column, elsewhere(resolver, scope, column));
	else if (known)
		report_unknown(resolver, scope, column);
}

/* Walks outward; a column that the nearest scope lacks may be one of an outer query. */
void mysql_column_resolve(struct mysql_resolver *resolver, struct mysql_scope *scope,
			  struct query_node *column)
{
	if (resolver->lookups > MYSQL_MAX_LOOKUPS)
		return;
	str_t lower = identifier_lower(column->name, resolver->arena);
	const struct query_range *lacking = NULL;
	bool beside = false; /* some servers see what is outside of here, others do not */
	for (struct mysql_scope *at = scope; at; at = at->outer) {
		column->range = NULL;
		enum lookup lookup = str_present(column->qualifier)
					     ? qualified(resolver, at, column, lower)
					     : unqualified(resolver, at, column, lower, at != scope);
		if (beside && lookup != LOOKUP_MISSING) {
			column->range = NULL;
			return;
		}
		if (lookup == LOOKUP_FOUND || lookup == LOOKUP_UNSURE)
			return;
		if (lookup == LOOKUP_AMBIGUOUS) {
			report(resolver, scope, column, lookup);
			return;
		}
		lacking = lacking ? lacking : column->range;
		beside = beside || at->beside;
	}
	column->range = lacking;
	report(resolver, scope, column, LOOKUP_MISSING);
	column->range = NULL;
}
