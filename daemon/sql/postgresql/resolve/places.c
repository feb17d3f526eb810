#include "sql/postgresql/resolve/internal.h"

/* What may stand where, by query level: PostgreSQL asks the place of the level that an aggregate belongs to.
 */
static const struct {
	const char *name;
	bool aggregates;
	bool windows;
	bool sets;
} places[PLACE_COUNT_] = {
	[PLACE_OTHER] = { "this place", true, true, true },
	[PLACE_TARGET] = { "the select list", true, true, true },
	[PLACE_FROM_SUBSELECT] = { "FROM of their own query level", false, false, true },
	[PLACE_FROM_FUNCTION] = { "functions in FROM", false, false, true },
	[PLACE_JOIN_ON] = { "JOIN conditions", false, false, false },
	[PLACE_WHERE] = { "WHERE", false, false, false },
	[PLACE_HAVING] = { "HAVING", true, false, false },
	[PLACE_FILTER] = { "FILTER", false, false, false },
	[PLACE_WINDOW_PARTITION] = { "window definitions", true, false, true },
	[PLACE_WINDOW_ORDER] = { "window definitions", true, false, true },
	[PLACE_WINDOW_FRAME] = { "window frames", false, false, false },
	[PLACE_GROUP_BY] = { "GROUP BY", false, false, true },
	[PLACE_ORDER_BY] = { "ORDER BY", true, true, true },
	[PLACE_DISTINCT_ON] = { "DISTINCT ON", true, true, true },
	[PLACE_LIMIT] = { "LIMIT", false, false, false },
	[PLACE_OFFSET] = { "OFFSET", false, false, false },
	[PLACE_VALUES] = { "VALUES", false, false, false },
};

const char *place_name(enum place place)
{
	return places[place].name;
}

static unsigned highest(uint64_t bits)
{
	return bits ? 63 - (unsigned)__builtin_clzll(bits) : 0;
}

static struct scope *scope_of_level(struct scope *scope, unsigned level)
{
	while (scope && (!scope->is_level || scope->level > level))
		scope = scope->parent;
	return scope;
}

/* Whether the arguments hold what no aggregate of that level may. */
static bool arguments_fit(struct resolver *resolver, const struct marks *arguments, unsigned level,
			  const char *name, int location)
{
	uint64_t bit = level_bit(level);
	const char *what = arguments->aggregates & bit ? "other aggregates"
			   : arguments->windows & bit  ? "window functions"
						       : NULL;
	if (what)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_AGGREGATE, SUB_INVALID_AGGREGATE_NESTED,
				str_from(name), location, "the arguments of the aggregate \"%s\" hold %s",
				name, what);
	else if (arguments->sets & bit)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_SET_FUNCTION, SUB_NONE, str_from(name),
				location, "the arguments of the aggregate \"%s\" return sets", name);
	return !what;
}

void place_check_aggregate(struct resolver *resolver, struct scope *scope, const struct marks *arguments,
			   const char *name, int location, unsigned *ret_level)
{
	uint64_t within = (level_bit(scope->level) << 1) - 1;
	unsigned level = highest((arguments->columns | arguments->aggregates) & within);
	*ret_level = 0;
	resolver->marks.unsure |= arguments->unsure;
	scope = scope_of_level(scope, scope->level);
	if (!scope || level == 0 || arguments->unsure)
		level = scope ? scope->level : 0;
	resolver->marks.aggregates |= level_bit(level);
	if (scope && arguments->unsure)
		scope->grouping_unsure = true;
	if (!scope || arguments->unsure)
		return;
	if (!arguments_fit(resolver, arguments, level, name, location))
		return;
	struct scope *owner = scope_of_level(scope, level);
	if (!owner)
		return;
	owner->has_aggregates = true;
	*ret_level = level;
	if (!places[owner->place].aggregates)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_AGGREGATE, SUB_NONE, str_from(name),
				location, "the aggregate \"%s\" cannot stand in %s", name,
				places[owner->place].name);
	else if (owner->reads_recursion)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_RECURSION,
				SUB_INVALID_RECURSION_AGGREGATE, str_from(name), location,
				"the recursive term calls the aggregate \"%s\"", name);
}

void place_check_window(struct resolver *resolver, struct scope *scope, const char *name, int location)
{
	struct scope *owner = scope_of_level(scope, scope->level);
	resolver->marks.windows |= level_bit(scope->level);
	if (owner)
		owner->has_windows = true;
	if (owner && !places[owner->place].windows)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_WINDOW, SUB_NONE, str_from(name),
				location, "the window function \"%s\" cannot stand in %s", name,
				places[owner->place].name);
}

void place_check_set(struct resolver *resolver, struct scope *scope, const char *name, int location,
		     bool nested)
{
	struct scope *owner = scope_of_level(scope, scope->level);
	resolver->marks.sets |= level_bit(scope->level);
	if (owner && owner->place != PLACE_FROM_FUNCTION)
		owner->has_sets = true;
	if (!owner || (places[owner->place].sets && !nested))
		return;
	diagnostics_add(resolver->diagnostics, DIAG_INVALID_SET_FUNCTION, SUB_NONE, str_from(name), location,
			"\"%s\" returns a set, which cannot stand in %s", name,
			nested ? "an argument of a function in FROM" : places[owner->place].name);
}
