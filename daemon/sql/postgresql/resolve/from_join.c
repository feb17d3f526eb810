#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

#include "common/hash.h"
#include "sql/postgresql/resolve/type_overload.h"

static void report_using(struct resolver *resolver, str_t name, enum lookup result, const char *side)
{
	enum sql_diagnostic_code code =
		result == LOOKUP_AMBIGUOUS ? DIAG_AMBIGUOUS_COLUMN : DIAG_UNKNOWN_COLUMN;
	diagnostics_add(resolver->diagnostics, code, SUB_NONE, name, -1,
			"column \"" STR_FMT "\" of USING %s the %s side of the join", STR_ARG(name),
			result == LOOKUP_AMBIGUOUS ? "is more than once on" : "does not exist on", side);
}

static void report_incomparable(struct resolver *resolver, str_t name, const char *sqlstate)
{
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_JOIN, SUB_NONE, sqlstate, name, -1,
			      "the two columns \"" STR_FMT "\" have types that cannot be compared",
			      STR_ARG(name));
}

/* The columns are compared with `=`, and take the type that both have in common. */
static type_id merge_types(struct resolver *resolver, const JoinExpr *join, str_t name, type_id left,
			   type_id right)
{
	struct resolved_operator applied = {
		.node = (const Node *)join, .schema = STR_NONE, .name = STR("="), .location = -1
	};
	struct overload_choice choice;
	const type_id types[2] = { left, right };
	type_id type = TYPE_UNSURE;
	if (!resolver_knows_types(resolver))
		return TYPE_UNSURE;
	applied.overloads =
		catalog_operators(resolver->catalog, STR_NONE, applied.name, &applied.overloads_count);
	overload_choose_operator(resolver->catalog, &resolver->coercions, applied.overloads,
				 applied.overloads_count, false, left, right, &choice);
	applied.chosen = choice.oper;
	resolver_record_operator(resolver, applied);
	if (type_common(resolver->catalog, types, 2, &type) == SURELY_NOT)
		report_incomparable(resolver, name, "42804");
	else if (choice.result == OVERLOAD_NONE || choice.result == OVERLOAD_AMBIGUOUS)
		report_incomparable(resolver, name, "42883");
	resolver_note_cast(resolver, left, type, -1);
	resolver_note_cast(resolver, right, type, -1);
	return type;
}

/* The column that USING (name) makes of both sides. */
static void merge_column(struct resolver *resolver, const JoinExpr *join, struct namespace *left,
			 struct namespace *right, str_t name, struct outputs *merged)
{
	struct found_column in_left = { 0 }, in_right = { 0 };
	struct range_column column = { .name = name };
	enum lookup left_result = namespace_lookup(resolver, left, name, &in_left);
	enum lookup right_result = namespace_lookup(resolver, right, name, &in_right);
	if (left_result == LOOKUP_MISSING || left_result == LOOKUP_AMBIGUOUS)
		report_using(resolver, name, left_result, "left");
	if (right_result == LOOKUP_MISSING || right_result == LOOKUP_AMBIGUOUS)
		report_using(resolver, name, right_result, "right");
	bool both = left_result == LOOKUP_FOUND && right_result == LOOKUP_FOUND && !in_left.is_system &&
		    !in_right.is_system;
	if (both) {
		const struct range_column *a = &in_left.item->columns[in_left.column];
		const struct range_column *b = &in_right.item->columns[in_right.column];
		const struct found_column *kept = join->jointype == JOIN_RIGHT ? &in_right : &in_left;
		column = *(join->jointype == JOIN_RIGHT ? b : a);
		column.not_null = join->jointype == JOIN_FULL ? a->not_null && b->not_null : column.not_null;
		column.source = kept->item;
		column.source_index = kept->column;
		column.type = merge_types(resolver, join, name, a->type, b->type);
	}
	outputs_add(resolver, merged, column);
}

static struct name_filter filter_of(struct resolver *resolver, struct namespace *side)
{
	struct name_filter filter = { 0 };
	for (size_t i = 0; i < side->count; i++) {
		const struct visible *entry = side->entries[i];
		const uint32_t *hashes =
			entry->columns_visible ? item_name_hashes(resolver, entry->item) : NULL;
		for (size_t j = 0; hashes && j < entry->item->columns_count; j++)
			name_filter_add(&filter, hashes[j]);
	}
	return filter;
}

/* The column of the left side, if the right one has its name. */
static void merge_if_common(struct resolver *resolver, const JoinExpr *join, struct namespace *left,
			    struct namespace *right, str_t name, struct outputs *merged)
{
	struct found_column found;
	enum lookup result = namespace_lookup(resolver, right, name, &found);
	if (((result == LOOKUP_FOUND && !found.is_system) || result == LOOKUP_AMBIGUOUS) &&
	    !range_columns_find(merged->columns, merged->count, name))
		merge_column(resolver, join, left, right, name, merged);
}

/* Merged columns of a NATURAL join: those that both sides have. Unknown when a side is. */
static void merge_natural(struct resolver *resolver, const JoinExpr *join, struct namespace *left,
			  struct namespace *right, struct outputs *merged)
{
	const struct name_filter filter = filter_of(resolver, right);
	for (size_t i = 0; i < left->count; i++) {
		const struct visible *entry = left->entries[i];
		const struct range_item *item = entry->item;
		if (!entry->columns_visible)
			continue;
		const uint32_t *hashes = item_name_hashes(resolver, item);
		for (size_t j = 0; j < item->columns_count; j++)
			if (name_filter_has(&filter, hashes[j]) && namespace_shows(entry, j))
				merge_if_common(resolver, join, left, right, item->columns[j].name, merged);
	}
}

static void merge_using(struct resolver *resolver, const JoinExpr *join, struct namespace *left,
			struct namespace *right, struct outputs *merged)
{
	struct hash_map names = { .arena = resolver->arena };
	const ListCell *cell;
	foreach(cell, join->usingClause)
	{
		str_t name = str_from(NODE_STRING(lfirst(cell)));
		if (resolver->resolution->too_deep)
			return;
		if (hash_map_set(&names, name, lfirst(cell)))
			diagnostics_add_state(resolver->diagnostics, DIAG_DUPLICATE_ALIAS,
					      SUB_DUPLICATE_ALIAS_USING, "42701", name, -1,
					      "column \"" STR_FMT "\" is in USING twice", STR_ARG(name));
		else
			merge_column(resolver, join, left, right, name, merged);
	}
}

static void set_nullable(struct namespace *names)
{
	for (size_t i = 0; i < names->count; i++)
		names->entries[i]->item->nullable = true;
}

/* Both sides plus, in front (as `*` expands), the merged columns of the join. */
static void show_merged(struct resolver *resolver, const JoinExpr *join, struct range_item *item,
			struct namespace *sides, struct outputs *merged, bool doubtful)
{
	item_adopt_columns(resolver, item, merged, NULL);
	if (merged->count == 0 && !doubtful)
		return;
	if (doubtful)
		namespace_doubt(sides);
	namespace_hide(resolver, sides, merged);
	if (join->join_using_alias) {
		struct namespace alone = { 0 };
		item->alias = str_from(join->join_using_alias->aliasname);
		namespace_append_item(resolver, &alone, item);
		namespace_check_conflicts(resolver, sides, &alone);
	}
	namespace_prepend_item(resolver, sides, item);
}

/* An alias on a join hides both sides and shows all of their columns as its own. */
static void alias_join(struct resolver *resolver, const JoinExpr *join, struct range_item *item,
		       struct namespace *names)
{
	item_expand_join(resolver, names, item, join->alias);
	*names = (struct namespace){ 0 };
	namespace_append_item(resolver, names, item);
}

/* A condition sees the join alone. */
static void join_condition(struct resolver *resolver, struct scope *scope, struct namespace *names,
			   const Node *condition)
{
	struct namespace *outside = scope->names;
	const struct left_side *sides = scope->sides;
	scope->names = names;
	scope->sides = NULL;
	scope->in_from = false;
	resolve_condition(resolver, scope, condition, PLACE_JOIN_ON, "JOIN/ON");
	scope->names = outside;
	scope->sides = sides;
	scope->in_from = true;
}

/* A side of a join; where it may be missing, a recursive query cannot speak of itself. */
static void from_side(struct resolver *resolver, struct scope *scope, const Node *side, bool may_miss,
		      struct namespace *names)
{
	enum recursion recursion = resolver->recursion;
	if (may_miss && recursion == RECURSION_ALLOWED)
		resolver->recursion = RECURSION_OUTER_JOIN;
	resolve_from_item(resolver, scope, side, names);
	resolver->recursion = recursion;
}

/* What LATERAL in it may refer to is on the left. */
static void from_right(struct resolver *resolver, struct scope *scope, const JoinExpr *join,
		       struct namespace *left, struct namespace *right)
{
	const struct left_side side = {
		.names = left,
		.allowed = join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT,
		.outer = scope->sides,
	};
	bool may_miss = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;
	scope->sides = &side;
	from_side(resolver, scope, join->rarg, may_miss, right);
	scope->sides = side.outer;
	namespace_check_conflicts(resolver, left, right);
	if (may_miss)
		set_nullable(right);
}

void resolve_from_join(struct resolver *resolver, struct scope *scope, const JoinExpr *join,
		       struct namespace *names)
{
	bool left_may_miss = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL;
	struct namespace right = { 0 };
	struct outputs merged = { 0 };
	from_side(resolver, scope, join->larg, left_may_miss, names);
	if (names->count + scope->names->count > RESOLVE_MAX_RELATIONS)
		resolver_give_up(resolver);
	if (resolver->resolution->too_deep)
		return;
	from_right(resolver, scope, join, names, &right);
	bool doubtful = join->isNatural && (namespace_is_unsure(names) || namespace_is_unsure(&right));
	if (join->isNatural)
		merge_natural(resolver, join, names, &right, &merged);
	merge_using(resolver, join, names, &right, &merged);
	if (left_may_miss)
		set_nullable(names);
	namespace_join(resolver, names, &right);
	struct range_item *item = range_item_new(resolver, RANGE_JOIN, (const Node *)join);
	show_merged(resolver, join, item, names, &merged, doubtful);
	if (join->quals)
		join_condition(resolver, scope, names, join->quals);
	for (size_t i = 0; i < names->count; i++)
		names->entries[i]->joined = true;
	if (join->alias)
		alias_join(resolver, join, item, names);
}
