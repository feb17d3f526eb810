#include "sql/postgresql/resolve/internal.h"

#include "catalog/pg_type_d.h"

/* The target whose outputs were added last. */
static void level_note_target(struct resolver *resolver, struct level *level, struct level_target target)
{
	target.end = level->outputs->count;
	ARENA_PUSH(resolver->arena, level->targets, level->targets_count, level->targets_capacity, target);
}

static void expand_target(struct resolver *resolver, struct level *level, const ColumnRef *star)
{
	(void)resolve_column_ref(resolver, level->scope, star);
	const struct resolved_column *resolved = resolution_column(resolver->resolution, star);
	if (resolved->kind == COLUMN_STAR && resolved->item)
		outputs_expand_item(resolver, resolved->item, level->outputs);
	else if (resolved->kind == COLUMN_STAR)
		outputs_expand_star(resolver, level->scope->names, level->outputs);
	else
		level->outputs->open = true;
	if (resolved->kind == COLUMN_STAR && !resolved->item && level->select->fromClause == NIL)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_STAR, "42601",
				     star->location, "there is no FROM that * could stand for");
	if (level->outputs->count > RESOLVE_MAX_OUTPUTS)
		resolver_give_up(resolver);
	level_note_target(resolver, level, (struct level_target){ .location = star->location });
}

/* Where a column of FROM comes out unchanged. */
static void note_source(const struct resolver *resolver, const Node *value, struct range_column *column)
{
	const struct resolved_column *resolved = resolution_column(resolver->resolution, value);
	if (!resolved || resolved->kind != COLUMN_OF_ITEM)
		return;
	column->source = resolved->item;
	column->source_index = resolved->column;
	column->not_null = resolved->item->columns[resolved->column].not_null && !resolved->item->nullable;
}

static void add_target(struct resolver *resolver, struct level *level, const ResTarget *target)
{
	struct level_target noted = { .target = target, .location = target->location };
	type_id type = resolve_in_place(resolver, level->scope, target->val, PLACE_TARGET, &noted.marks);
	struct range_column column = { .name = target->name
						       ? str_from(target->name)
						       : expression_name(resolver->resolution, target->val),
				       .type = type,
				       .expression = target->val };
	note_source(resolver, target->val, &column);
	outputs_add(resolver, level->outputs, column);
	level_note_target(resolver, level, noted);
}

static void resolve_targets(struct resolver *resolver, struct level *level)
{
	const ListCell *cell;
	foreach(cell, level->select->targetList)
	{
		if (resolver->resolution->too_deep)
			return;
		const ResTarget *target = lfirst_node(ResTarget, cell);
		if (node_is_star(target->val)) {
			expand_target(resolver, level, (const ColumnRef *)target->val);
		} else if (node_is_all_fields(target->val)) {
			(void)resolve_in_place(resolver, level->scope, target->val, PLACE_TARGET, NULL);
			level->outputs->open = true;
		} else {
			add_target(resolver, level, target);
		}
	}
}

static void resolve_limit(struct resolver *resolver, struct scope *scope, const Node *node, enum place place)
{
	struct marks marks;
	if (!node)
		return;
	type_id type = resolve_in_place(resolver, scope, node, place, &marks);
	resolver_coerce_or_report(resolver, node, type, INT8OID, place_name(place));
	if (marks.columns & level_bit(scope->level))
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_LIMIT, "42P10",
				     resolver_node_location(resolver, node), "%s cannot depend on columns",
				     place_name(place));
}

void resolve_limits(struct resolver *resolver, struct scope *scope, const SelectStmt *select)
{
	resolve_limit(resolver, scope, select->limitOffset, PLACE_OFFSET);
	resolve_limit(resolver, scope, select->limitCount, PLACE_LIMIT);
}

static void resolve_plain(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
			  struct outputs *outputs)
{
	struct level level = { .select = select,
			       .scope = level_new(resolver, parent, select),
			       .outputs = outputs };
	resolve_from(resolver, level.scope, select->fromClause);
	resolve_targets(resolver, &level);
	resolve_condition(resolver, level.scope, select->whereClause, PLACE_WHERE, "WHERE");
	resolve_condition(resolver, level.scope, select->havingClause, PLACE_HAVING, "HAVING");
	resolve_order(resolver, &level);
	resolve_groups(resolver, &level);
	resolve_distinct(resolver, &level);
	resolve_limits(resolver, level.scope, select);
	resolve_windows(resolver, &level);
	resolve_check_grouping(resolver, &level);
	outputs->computed = level.scope->has_aggregates ? "aggregates"
			    : level.scope->has_windows	? "window functions"
			    : level.scope->has_sets	? "functions that return sets"
							: NULL;
}

static void resolve_query(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
			  struct outputs *ret_outputs)
{
	struct marks marks = resolver->marks;
	resolver->marks = (struct marks){ 0 };
	if (select->intoClause && parent && parent->level > 0)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_INTO, "42601",
				     select->intoClause->rel->location, "INTO has no meaning in a subquery");
	struct scope *scope = resolve_with(resolver, parent, select->withClause);
	unsigned level = scope ? scope->level : 0;
	if (select->op != SETOP_NONE)
		resolve_set_operation(resolver, scope, select, ret_outputs);
	else if (select->valuesLists)
		resolve_values(resolver, scope, select, ret_outputs);
	else
		resolve_plain(resolver, scope, select, ret_outputs);
	/* What belongs to the query itself does not concern the expression that it is part of. */
	uint64_t outside = level < RESOLVE_MAX_LEVELS ? (UINT64_C(2) << level) - 1 : 0;
	marks.columns |= resolver->marks.columns & outside;
	marks.aggregates |= resolver->marks.aggregates & outside;
	marks.unsure |= resolver->marks.unsure || level >= RESOLVE_MAX_LEVELS;
	resolver->marks = marks;
}

void resolve_part(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		  struct outputs *ret_outputs)
{
	if (!resolver_enter(resolver)) {
		ret_outputs->open = true;
		return;
	}
	resolve_query(resolver, parent, select, ret_outputs);
	struct outputs *copy = ARENA_NEW(resolver->arena, struct outputs);
	*copy = *ret_outputs;
	resolver_record(resolver, select, copy);
	if (select->lockingClause)
		resolve_check_locking(resolver, select);
	resolver_leave(resolver);
}

void resolve_select(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		    struct outputs *ret_outputs)
{
	resolve_part(resolver, parent, select, ret_outputs);
	for (size_t i = 0; i < ret_outputs->count; i++) {
		if (ret_outputs->columns[i].type != UNKNOWNOID)
			continue;
		ret_outputs->columns[i].type = TEXTOID;
	}
}
