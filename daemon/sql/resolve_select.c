#include "sql/resolve_internal.h"

#include "sql/node_children.h"

/* One SELECT level: its outputs and, parallel to them, the targets that they come from (NULL: from `*`). */
struct level {
	struct scope *scope;
	struct outputs *outputs;
	const ResTarget **targets;
	size_t targets_count;
	size_t targets_capacity;
};

void resolve_cte(struct resolver *resolver, struct cte_entry *entry)
{
	const CommonTableExpr *cte = entry->cte;
	struct cte_entry *outer = resolver->recursive;
	struct outputs outputs = { .open = true };
	entry->state = CTE_ACTIVE;
	resolver->recursive = entry;
	if (IsA(cte->ctequery, SelectStmt)) {
		outputs.open = false;
		resolve_select(resolver, entry->scope, (const SelectStmt *)cte->ctequery, &outputs);
	}
	resolver->recursive = outer;
	rename_columns(&outputs, cte->aliascolnames);
	if (cte->search_clause)
		outputs_add(resolver, &outputs,
			    (struct range_column){ .name = str_from(cte->search_clause->search_seq_column) });
	if (cte->cycle_clause) {
		outputs_add(resolver, &outputs,
			    (struct range_column){ .name = str_from(cte->cycle_clause->cycle_mark_column) });
		outputs_add(resolver, &outputs,
			    (struct range_column){ .name = str_from(cte->cycle_clause->cycle_path_column) });
	}
	entry->outputs = outputs;
	entry->has_outputs = true;
	entry->state = CTE_DONE;
}

/* The non-recursive arm gives the recursive one its columns. */
static void publish_arm(struct resolver *resolver, const SelectStmt *select, const struct outputs *outputs)
{
	struct cte_entry *entry = resolver->recursive;
	if (!entry || entry->cte->ctequery != (const Node *)select)
		return;
	entry->outputs = *outputs;
	if (outputs->count > 0) {
		entry->outputs.columns = ARENA_ARRAY(resolver->arena, struct range_column, outputs->count);
		memcpy(entry->outputs.columns, outputs->columns, outputs->count * sizeof *outputs->columns);
	}
	rename_columns(&entry->outputs, entry->cte->aliascolnames);
	/* The columns that SEARCH and CYCLE add are not there yet. */
	entry->outputs.open |= entry->cte->search_clause || entry->cte->cycle_clause;
	entry->has_outputs = true;
}

static void check_cte_names(struct resolver *resolver, const List *ctes)
{
	for (int i = 1; i < list_length(ctes); i++) {
		const CommonTableExpr *cte = list_nth(ctes, i);
		for (int j = 0; j < i; j++) {
			const CommonTableExpr *earlier = list_nth(ctes, j);
			if (strcmp(cte->ctename, earlier->ctename) == 0)
				diagnostics_add(resolver->diagnostics, DIAG_DUPLICATE_ALIAS, NULL,
						str_from(cte->ctename), cte->location,
						"WITH query name \"%s\" is there twice", cte->ctename);
		}
	}
}

static struct scope *scope_new(struct resolver *resolver, struct scope *parent)
{
	struct scope *scope = ARENA_NEW(resolver->arena, struct scope);
	scope->parent = parent;
	return scope;
}

/* WITH RECURSIVE: every query sees every other. Else: each sees those before it. */
static struct scope *resolve_with(struct resolver *resolver, struct scope *parent, const WithClause *with)
{
	if (!with)
		return parent;
	check_cte_names(resolver, with->ctes);
	size_t count = (size_t)list_length(with->ctes);
	struct cte_entry *entries = ARENA_ARRAY(resolver->arena, struct cte_entry, count);
	struct scope *scope = parent;
	if (with->recursive) {
		scope = scope_new(resolver, parent);
		scope->ctes = entries;
		scope->ctes_count = count;
	}
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct cte_entry){ .cte = list_nth(with->ctes, (int)i), .scope = scope };
	for (size_t i = 0; i < count; i++) {
		if (!with->recursive)
			entries[i].scope = scope;
		if (entries[i].state == CTE_PENDING)
			resolve_cte(resolver, &entries[i]);
		if (!with->recursive) {
			scope = scope_new(resolver, scope);
			scope->ctes = &entries[i];
			scope->ctes_count = 1;
		}
	}
	return scope;
}

static void level_note_targets(struct resolver *resolver, struct level *level, const ResTarget *target)
{
	while (level->targets_count < level->outputs->count)
		ARENA_PUSH(resolver->arena, level->targets, level->targets_count, level->targets_capacity,
			   target);
}

static bool is_star(const Node *node)
{
	return IsA(node, ColumnRef) && IsA(llast(((const ColumnRef *)node)->fields), A_Star);
}

static void expand_target(struct resolver *resolver, struct level *level, const ColumnRef *star)
{
	resolve_column_ref(resolver, level->scope, star);
	const struct resolved_column *resolved = resolution_column(resolver->resolution, star);
	if (resolved->kind == COLUMN_STAR && resolved->item)
		expand_item(resolver, resolved->item, level->outputs);
	else if (resolved->kind == COLUMN_STAR)
		expand_star(resolver, level->scope, level->outputs);
	else
		level->outputs->open = true;
	level_note_targets(resolver, level, NULL);
}

static void add_target(struct resolver *resolver, struct level *level, const ResTarget *target)
{
	resolve_expression(resolver, level->scope, target->val);
	struct range_column column = { .name = target->name ? str_from(target->name)
							    : expression_name(target->val),
				       .category = expression_category(resolver->resolution, target->val),
				       .expression = target->val };
	if (IsA(target->val, ColumnRef)) {
		const struct resolved_column *resolved =
			resolution_column(resolver->resolution, (const ColumnRef *)target->val);
		if (resolved && resolved->kind == COLUMN_OF_ITEM) {
			column.source = resolved->item;
			column.source_index = resolved->column;
			column.not_null = resolved->item->columns[resolved->column].not_null &&
					  !resolved->item->nullable;
		}
	}
	outputs_add(resolver, level->outputs, column);
	level_note_targets(resolver, level, target);
}

static bool selects_all_fields(const Node *node)
{
	return IsA(node, A_Indirection) && IsA(llast(((const A_Indirection *)node)->indirection), A_Star);
}

static void resolve_targets(struct resolver *resolver, struct level *level, const List *targets)
{
	const ListCell *cell;
	foreach(cell, targets)
	{
		const ResTarget *target = lfirst_node(ResTarget, cell);
		if (is_star(target->val)) {
			expand_target(resolver, level, (const ColumnRef *)target->val);
		} else if (selects_all_fields(target->val)) {
			resolve_expression(resolver, level->scope, target->val);
			level->outputs->open = true;
		} else {
			add_target(resolver, level, target);
		}
	}
}

static void record_output(struct resolver *resolver, const struct level *level, const ColumnRef *column,
			  size_t index)
{
	struct resolved_column *resolved = ARENA_NEW(resolver->arena, struct resolved_column);
	*resolved = (struct resolved_column){ .kind = COLUMN_OUTPUT,
					      .column = index,
					      .output = index < level->targets_count
								? (const Node *)level->targets[index]
								: NULL };
	resolver_record(resolver, column, resolved);
}

static const FuncCall *known_call(const struct resolver *resolver, const struct range_column *column)
{
	if (!column->expression || !IsA(column->expression, FuncCall))
		return NULL;
	const FuncCall *call = (const FuncCall *)column->expression;
	const struct resolved_function *function = resolution_function(resolver->resolution, call);
	return function && function->kind == FUNCTION_KNOWN ? call : NULL;
}

/* Two outputs of one name are the same to PostgreSQL when they are equal expressions. */
static bool surely_differ(const struct resolver *resolver, const struct range_column *a,
			  const struct range_column *b)
{
	const FuncCall *one = known_call(resolver, a), *other = known_call(resolver, b);
	if (one && other)
		return strcmp(names_last(one->funcname), names_last(other->funcname)) != 0;
	return a->source && b->source && (a->source != b->source || a->source_index != b->source_index);
}

/* Whether the bare name means an output column; that is looked at before (ORDER BY, DISTINCT ON) or after
 * (GROUP BY) the columns of FROM. */
static bool resolve_output_name(struct resolver *resolver, const struct level *level, const ColumnRef *column,
				str_t name)
{
	const struct range_column *first = NULL;
	for (size_t i = 0; i < level->outputs->count; i++) {
		const struct range_column *output = &level->outputs->columns[i];
		if (!str_equal(output->name, name))
			continue;
		if (!first) {
			first = output;
			record_output(resolver, level, column, i);
		} else if (surely_differ(resolver, first, output)) {
			diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, NULL, name,
					column->location,
					"\"" STR_FMT "\" is ambiguous: two output columns have the name",
					STR_ARG(name));
		}
	}
	return first != NULL;
}

static void check_position(struct resolver *resolver, const struct level *level, const A_Const *constant)
{
	if (constant->isnull || !IsA(&constant->val, Integer) || level->outputs->open)
		return;
	int position = constant->val.ival.ival;
	if (position >= 1 && (size_t)position <= level->outputs->count)
		return;
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, NULL,
			arena_printf(resolver->arena, "%d", position), constant->location,
			"position %d is not in the select list", position);
}

enum key_kind { KEY_GROUP, KEY_ORDER };

/* An item of GROUP BY, ORDER BY or DISTINCT ON: an output's name or position, or an expression. */
static void resolve_key(struct resolver *resolver, const struct level *level, const Node *node,
			enum key_kind kind)
{
	if (IsA(node, A_Const)) {
		check_position(resolver, level, (const A_Const *)node);
		return;
	}
	if (IsA(node, ColumnRef) && list_length(((const ColumnRef *)node)->fields) == 1 &&
	    IsA(linitial(((const ColumnRef *)node)->fields), String)) {
		const ColumnRef *column = (const ColumnRef *)node;
		str_t name = str_from(NODE_STRING(linitial(column->fields)));
		struct found_column found;
		bool input = kind == KEY_GROUP &&
			     lookup_column(resolver, level->scope, name, true, &found) != LOOKUP_MISSING;
		if (!input && resolve_output_name(resolver, level, column, name))
			return;
	}
	resolve_expression(resolver, level->scope, node);
}

static void resolve_group(struct resolver *resolver, const struct level *level, const Node *node)
{
	if (!resolver_enter(resolver))
		return;
	const List *parts = NIL;
	if (IsA(node, GroupingSet))
		parts = ((const GroupingSet *)node)->content;
	else if (IsA(node, RowExpr) && ((const RowExpr *)node)->row_format == COERCE_IMPLICIT_CAST)
		parts = ((const RowExpr *)node)->args;
	else
		resolve_key(resolver, level, node, KEY_GROUP);
	const ListCell *cell;
	foreach(cell, parts) resolve_group(resolver, level, lfirst(cell));
	resolver_leave(resolver);
}

static void resolve_sort(struct resolver *resolver, const struct level *level, const List *keys)
{
	const ListCell *cell;
	foreach(cell, keys) resolve_key(resolver, level, lfirst_node(SortBy, cell)->node, KEY_ORDER);
}

static void resolve_plain(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
			  struct outputs *outputs)
{
	struct level level = { .scope = scope_new(resolver, parent), .outputs = outputs };
	const ListCell *cell;
	resolve_from(resolver, level.scope, select->fromClause);
	resolve_targets(resolver, &level, select->targetList);
	resolve_expression(resolver, level.scope, select->whereClause);
	resolve_expression(resolver, level.scope, select->havingClause);
	foreach(cell, select->groupClause) resolve_group(resolver, &level, lfirst(cell));
	foreach(cell, select->distinctClause)
	{
		if (lfirst(cell)) /* plain DISTINCT is a list of one NULL */
			resolve_key(resolver, &level, lfirst(cell), KEY_ORDER);
	}
	resolve_sort(resolver, &level, select->sortClause);
	resolve_list(resolver, level.scope, select->windowClause);
	resolve_expression(resolver, level.scope, select->limitOffset);
	resolve_expression(resolver, level.scope, select->limitCount);
}

static void resolve_values(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
			   struct outputs *outputs)
{
	struct level level = { .scope = scope_new(resolver, parent), .outputs = outputs };
	const ListCell *cell;
	foreach(cell, select->valuesLists) resolve_list(resolver, level.scope, lfirst_node(List, cell));
	const List *first = linitial_node(List, select->valuesLists);
	for (int i = 0; i < list_length(first); i++) {
		const Node *value = list_nth(first, i);
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = arena_printf(resolver->arena, "column%d", i + 1),
						   .expression = value });
	}
	resolve_sort(resolver, &level, select->sortClause);
	resolve_expression(resolver, level.scope, select->limitOffset);
	resolve_expression(resolver, level.scope, select->limitCount);
}

static void resolve_set_operation(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
				  struct outputs *outputs)
{
	struct outputs left = { 0 }, right = { 0 };
	resolve_select(resolver, parent, select->larg, &left);
	publish_arm(resolver, select, &left);
	resolve_select(resolver, parent, select->rarg, &right);
	outputs->open = left.open;
	for (size_t i = 0; i < left.count; i++) {
		struct range_column column = { .name = left.columns[i].name };
		if (i < right.count && !right.open && right.columns[i].category == left.columns[i].category)
			column.category = left.columns[i].category;
		outputs_add(resolver, outputs, column);
	}
	/* ORDER BY sees the output columns only. */
	struct level level = { .scope = scope_new(resolver, parent), .outputs = outputs };
	struct range_item *item = range_item_new(resolver, RANGE_SUBQUERY, (const Node *)select);
	item->columns = outputs->columns;
	item->columns_count = outputs->count;
	item->open = outputs->open;
	struct visible entry = { .item = item, .columns_visible = true, .lateral_ok = true };
	ARENA_PUSH(resolver->arena, level.scope->names.entries, level.scope->names.count,
		   level.scope->names.capacity, entry);
	resolve_sort(resolver, &level, select->sortClause);
	resolve_expression(resolver, level.scope, select->limitOffset);
	resolve_expression(resolver, level.scope, select->limitCount);
}

void resolve_select(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		    struct outputs *ret_outputs)
{
	if (!resolver_enter(resolver)) {
		ret_outputs->open = true;
		return;
	}
	struct scope *scope = resolve_with(resolver, parent, select->withClause);
	if (select->op != SETOP_NONE)
		resolve_set_operation(resolver, scope, select, ret_outputs);
	else if (select->valuesLists)
		resolve_values(resolver, scope, select, ret_outputs);
	else
		resolve_plain(resolver, scope, select, ret_outputs);
	struct outputs *copy = ARENA_NEW(resolver->arena, struct outputs);
	*copy = *ret_outputs;
	resolver_record(resolver, select, copy);
	resolver_leave(resolver);
}
