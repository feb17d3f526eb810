#include "sql/postgresql/resolve/internal.h"

#include "common/hash.h"
#include "sql/postgresql/node_children.h"
#include "sql/postgresql/resolve/type_overload.h"

#include "catalog/pg_type_d.h"

static void from_item(struct resolver *resolver, struct scope *scope, const Node *node,
		      struct namespace *ret_names);

static void namespace_add(struct resolver *resolver, struct namespace *names, struct visible entry)
{
	ARENA_PUSH(resolver->arena, names->entries, names->count, names->capacity, entry);
}

static void namespace_append(struct resolver *resolver, struct namespace *names, const struct namespace *more)
{
	if (more->count == 0)
		return;
	if (names->count + more->count > names->capacity) {
		struct visible *before = names->entries;
		names->capacity = 2 * names->count + more->count;
		names->entries = ARENA_ARRAY(resolver->arena, struct visible, names->capacity);
		if (names->count > 0)
			memcpy(names->entries, before, names->count * sizeof *before);
	}
	memcpy(names->entries + names->count, more->entries, more->count * sizeof *more->entries);
	names->count += more->count;
}

static void namespace_set_lateral(struct namespace *names, bool only, bool ok)
{
	for (size_t i = 0; i < names->count; i++) {
		names->entries[i].lateral_only = only;
		names->entries[i].lateral_ok = ok;
	}
}

/* Two relations of different schemas may share their name as long as neither has an alias. */
static bool may_share_name(const struct range_item *a, const struct range_item *b)
{
	if (a->kind != RANGE_RELATION || b->kind != RANGE_RELATION || ((const RangeVar *)a->node)->alias ||
	    ((const RangeVar *)b->node)->alias)
		return false;
	return a->relation && b->relation ? a->relation != b->relation : !str_equal(a->schema, b->schema);
}

static int item_location(const struct range_item *item)
{
	return IsA(item->node, RangeVar) ? ((const RangeVar *)item->node)->location : -1;
}

static bool conflicts(const struct visible *a, const struct visible *b)
{
	return a->relation_visible && str_equal(a->item->alias, b->item->alias) &&
	       !may_share_name(a->item, b->item);
}

static void check_conflicts(struct resolver *resolver, const struct namespace *left,
			    const struct namespace *right)
{
	for (size_t i = 0; i < right->count; i++) {
		const struct visible *entry = &right->entries[i];
		size_t at = 0;
		if (!entry->relation_visible || !str_present(entry->item->alias))
			continue;
		while (at < left->count && !conflicts(&left->entries[at], entry))
			at++;
		if (at < left->count)
			diagnostics_add(resolver->diagnostics, DIAG_DUPLICATE_ALIAS, NULL, entry->item->alias,
					item_location(entry->item),
					"table name \"" STR_FMT
					"\" stands for two relations; give one an alias",
					STR_ARG(entry->item->alias));
	}
}

/* Aliases may also name columns of an item that are not known: those are known by that. */
static void add_named_columns(struct resolver *resolver, struct outputs *outputs, const List *names)
{
	for (int i = (int)outputs->count; i < list_length(names); i++)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = str_from(NODE_STRING(list_nth(names, i))) });
}

/* Gives the item its columns under its aliases. The columns belong to the item then. */
static void adopt_columns(struct resolver *resolver, struct range_item *item, struct outputs *outputs,
			  const Alias *alias)
{
	if (alias) {
		if (outputs->open)
			add_named_columns(resolver, outputs, alias->colnames);
		name_columns(resolver, outputs, alias->colnames, str_from(alias->aliasname),
			     node_location(resolver, item->node));
		item->alias = str_from(alias->aliasname);
	}
	for (size_t i = 0; i < outputs->count; i++) {
		if (outputs->columns[i].source)
			continue;
		outputs->columns[i].source = item;
		outputs->columns[i].source_index = i;
	}
	item->columns = outputs->columns;
	item->columns_count = outputs->count;
	item->open = outputs->open;
}

/* A copy whose columns come from nowhere yet; at most the budget. */
static struct outputs copy_outputs(struct resolver *resolver, const struct outputs *from)
{
	struct outputs copy = { .open = from->open };
	for (size_t i = 0; i < from->count; i++) {
		struct range_column column = from->columns[i];
		column.source = NULL;
		outputs_add(resolver, &copy, column);
	}
	return copy;
}

static void add_item(struct resolver *resolver, struct namespace *names, struct range_item *item)
{
	namespace_add(resolver, names,
		      (struct visible){ .item = item,
					.relation_visible = str_present(item->alias),
					.columns_visible = true,
					.lateral_ok = true });
}

static void report_unknown_table(struct resolver *resolver, const RangeVar *var)
{
	struct nearest nearest;
	size_t count = 0;
	str_t name = str_from(var->relname);
	const struct catalog_relation *relations = catalog_relations(resolver->catalog, &count);
	nearest_init(&nearest, name);
	bool wants_hint = resolver_wants_hint(resolver);
	for (size_t i = 0; i < count && wants_hint; i++) {
		if (!relations[i].is_system)
			nearest_offer(&nearest, relations[i].name);
	}
	str_t object = var->schemaname ? arena_printf(resolver->arena, "%s.%s", var->schemaname, var->relname)
				       : name;
	str_t hint = nearest.best.ptr ? arena_printf(resolver->arena, "; did you mean \"" STR_FMT "\"?",
						     STR_ARG(nearest.best))
				      : STR("");
	diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_TABLE, NULL, object, var->location,
			"relation \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(object), STR_ARG(hint));
}

static const struct catalog_relation *find_relation(struct resolver *resolver, const RangeVar *var)
{
	str_t name = str_from(var->relname);
	return var->schemaname ? catalog_relation(resolver->catalog, str_from(var->schemaname), name)
			       : catalog_relation_on_path(resolver->catalog, name);
}

static void relation_columns(struct resolver *resolver, const struct catalog_relation *relation,
			     struct outputs *outputs)
{
	outputs->open = relation->is_open;
	for (size_t i = 0; i < relation->columns_count; i++)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = relation->columns[i].name,
						   .type = relation->columns[i].value_type,
						   .not_null = relation->columns[i].not_null });
}

static bool is_temporary_schema(const char *schema)
{
	return schema && strncmp(schema, "pg_temp", strlen("pg_temp")) == 0;
}

/* a.b.c names the database first, which only can be the one at hand; these are names of schemas. */
static bool is_other_database(const RangeVar *var)
{
	static const char *const schemas[] = { "pg_catalog", "information_schema", "public" };
	for (size_t i = 0; var->catalogname && i < sizeof schemas / sizeof *schemas; i++) {
		if (strcmp(var->catalogname, schemas[i]) == 0)
			return true;
	}
	return false;
}

static struct range_item *base_relation(struct resolver *resolver, const RangeVar *var)
{
	struct range_item *item = range_item_new(resolver, RANGE_RELATION, (const Node *)var);
	struct outputs outputs = { 0 };
	item->schema = str_from(var->schemaname);
	item->name = str_from(var->relname);
	item->alias = item->name;
	item->relation = resolver->catalog ? find_relation(resolver, var) : NULL;
	if (is_other_database(var)) {
		outputs.open = true;
		diagnostics_add_state(resolver->diagnostics, DIAG_UNKNOWN_TABLE, "database", "0A000",
				      item->name, var->location, "\"%s\" stands where the database is named",
				      var->catalogname);
	} else if (item->relation) {
		item->schema = item->relation->schema;
		relation_columns(resolver, item->relation, &outputs);
	} else {
		outputs.open = true;
		if (resolver->catalog && !is_temporary_schema(var->schemaname))
			report_unknown_table(resolver, var);
	}
	adopt_columns(resolver, item, &outputs, var->alias);
	return item;
}

static struct range_item *cte_reference(struct resolver *resolver, struct scope *scope, const RangeVar *var,
					struct cte_entry *entry)
{
	struct range_item *item = range_item_new(resolver, RANGE_CTE, (const Node *)var);
	if (entry->state == CTE_PENDING)
		resolve_cte(resolver, entry);
	if (entry->state == CTE_ACTIVE) {
		check_self_reference(resolver, entry, var);
		scope->reads_recursion = true;
	}
	struct outputs outputs = copy_outputs(resolver, &entry->outputs);
	outputs.open |= !entry->has_outputs;
	item->cte = entry->cte;
	item->name = item->alias = str_from(var->relname);
	adopt_columns(resolver, item, &outputs, var->alias);
	return item;
}

static void from_relation(struct resolver *resolver, struct scope *scope, const RangeVar *var,
			  struct namespace *ret_names)
{
	struct cte_entry *entry = var->schemaname ? NULL : lookup_cte(scope, str_from(var->relname));
	add_item(resolver, ret_names,
		 entry ? cte_reference(resolver, scope, var, entry) : base_relation(resolver, var));
}

static void from_subselect(struct resolver *resolver, struct scope *scope, const RangeSubselect *sub,
			   struct namespace *ret_names)
{
	struct outputs outputs = { 0 };
	bool lateral = scope->lateral_active;
	scope->lateral_active = sub->lateral;
	scope->place = PLACE_FROM_SUBSELECT;
	if (IsA(sub->subquery, SelectStmt))
		resolve_select(resolver, scope, (const SelectStmt *)sub->subquery, &outputs);
	else
		outputs.open = true;
	scope->lateral_active = lateral;
	scope->place = PLACE_OTHER;
	struct range_item *item = range_item_new(resolver, RANGE_SUBQUERY, (const Node *)sub);
	outputs = copy_outputs(resolver, &outputs);
	adopt_columns(resolver, item, &outputs, sub->alias);
	add_item(resolver, ret_names, item);
}

/* Functions of FROM without a catalog that surely give one column. */
static bool gives_one_column(const char *name)
{
	static const char *const names[] = { "generate_series", "generate_subscripts", "string_to_table",
					     "regexp_split_to_table" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (name && strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static void add_plain_column(struct resolver *resolver, struct outputs *outputs, str_t name, type_id type)
{
	outputs_add(resolver, outputs, (struct range_column){ .name = name, .type = type });
}

/* Columns that AS (name type, …) defines; only for functions that return record. */
static void defined_columns(struct resolver *resolver, const List *definitions, const Node *expression,
			    type_id type, struct outputs *outputs)
{
	const ListCell *cell;
	foreach(cell, definitions)
	{
		const ColumnDef *definition = lfirst_node(ColumnDef, cell);
		add_plain_column(resolver, outputs, str_from(definition->colname),
				 resolve_type_name(resolver, definition->typeName));
	}
	if (type != TYPE_UNSURE && type != RECORDOID)
		report_type(resolver, DIAG_INVALID_ALIAS_LIST, NULL, "42601",
			    node_location(resolver, expression),
			    "only a function that returns record takes column definitions");
}

/* OUT parameters as columns. */
static void output_columns(struct resolver *resolver, const struct catalog_function *function,
			   struct outputs *outputs)
{
	for (size_t i = 0; i < function->outputs_count; i++) {
		type_id type = function->output_types ? function->output_types[i] : TYPE_UNSURE;
		str_t name = function->outputs[i];
		if (name.len == 0)
			name = arena_printf(resolver->arena, "column%zu", i + 1);
		add_plain_column(resolver, outputs, name, type_is_polymorphic(type) ? TYPE_UNSURE : type);
	}
}

static bool composite_columns(struct resolver *resolver, type_id type, struct outputs *outputs)
{
	const struct catalog_type *row =
		resolver->catalog
			? catalog_type(resolver->catalog, catalog_type_base(resolver->catalog, type))
			: NULL;
	if (!row || row->kind != 'c')
		return false;
	for (size_t i = 0; i < row->columns_count; i++)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = row->columns[i].name,
						   .type = row->columns[i].value_type });
	outputs->open |= row->relation && row->relation->is_open;
	return true;
}

/* Columns of one function of FROM, as far as they are sure. A plain value is named after its only OUT
 * parameter, the alias, or the function. */
static void function_columns(struct resolver *resolver, const Node *expression, const List *definitions,
			     const Alias *alias, struct outputs *outputs)
{
	const FuncCall *call = IsA(expression, FuncCall) ? (const FuncCall *)expression : NULL;
	const char *name = call ? names_last(call->funcname) : NULL;
	const struct resolved_function *function =
		call ? resolution_function(resolver->resolution, call) : NULL;
	const struct catalog_function *chosen = function ? function->chosen : NULL;
	type_id type = resolution_type(resolver->resolution, expression);
	if (definitions) {
		defined_columns(resolver, definitions, expression, type, outputs);
		return;
	}
	if (!chosen && function && function->overloads_count == 1)
		chosen = function->overloads[0];
	if (chosen && chosen->outputs_count > 0 &&
	    (chosen->outputs_count > 1 || chosen->outputs[0].len > 0)) {
		output_columns(resolver, chosen, outputs);
		return;
	}
	if (composite_columns(resolver, type, outputs))
		return;
	if (chosen && type == RECORDOID)
		report_type(resolver, DIAG_INVALID_ALIAS_LIST, NULL, "42601",
			    node_location(resolver, expression),
			    "the columns of a function that returns record have to be defined");
	bool plain = type != TYPE_UNSURE && type != RECORDOID;
	outputs->open |= !plain && !gives_one_column(name);
	str_t column = alias  ? str_from(alias->aliasname)
		       : name ? str_from(name)
			      : expression_name(expression);
	if (alias || name || plain)
		add_plain_column(resolver, outputs, column, plain ? type : TYPE_UNSURE);
}

static void resolve_function_of_from(struct resolver *resolver, struct scope *scope, const Node *expression)
{
	const Node *outer = resolver->top_function;
	resolver->top_function = expression;
	(void)resolve_in_place(resolver, scope, expression, PLACE_FROM_FUNCTION, NULL);
	resolver->top_function = outer;
}

/* unnest(a, b, …) in FROM stands for unnest(a), unnest(b), … side by side. */
static bool unnests_several(const RangeFunction *range, const List *pair)
{
	const Node *expression = linitial(pair);
	if (!IsA(expression, FuncCall) || lsecond(pair) || range->coldeflist)
		return false;
	const FuncCall *call = (const FuncCall *)expression;
	return list_length(call->funcname) == 1 && list_length(call->args) > 1 && !call->agg_order &&
	       !call->agg_filter && !call->over && !call->agg_star && !call->agg_distinct &&
	       !call->func_variadic && strcmp(names_last(call->funcname), "unnest") == 0;
}

static void unnest_several(struct resolver *resolver, struct scope *scope, const FuncCall *call,
			   struct outputs *outputs)
{
	const ListCell *cell;
	struct resolved_function *function = ARENA_NEW(resolver->arena, struct resolved_function);
	*function = (struct resolved_function){ .kind = FUNCTION_UNSURE, .name = STR("unnest") };
	if (resolver->catalog) {
		function->kind = FUNCTION_KNOWN;
		function->overloads = catalog_functions(resolver->catalog, STR_NONE, function->name,
							&function->overloads_count);
	}
	resolver_record(resolver, call, function);
	foreach(cell, call->args)
	{
		type_id type = resolve_in_place(resolver, scope, lfirst(cell), PLACE_FROM_FUNCTION, NULL);
		add_plain_column(resolver, outputs, function->name,
				 resolver->catalog ? type_element(resolver->catalog, type) : TYPE_UNSURE);
	}
}

static void from_function(struct resolver *resolver, struct scope *scope, const RangeFunction *range,
			  struct namespace *ret_names)
{
	struct outputs outputs = { 0 };
	const ListCell *cell;
	bool lateral = scope->lateral_active;
	bool several = list_length(range->functions) > 1;
	scope->lateral_active = true;
	foreach(cell, range->functions)
	{
		const List *pair = lfirst_node(List, cell);
		if (unnests_several(range, pair)) {
			unnest_several(resolver, scope, (const FuncCall *)linitial(pair), &outputs);
			continue;
		}
		resolve_function_of_from(resolver, scope, linitial(pair));
		const List *definitions = lsecond(pair) ? (const List *)lsecond(pair) : range->coldeflist;
		function_columns(resolver, linitial(pair), definitions, several ? NULL : range->alias,
				 &outputs);
	}
	scope->lateral_active = lateral;
	if (range->ordinality)
		outputs_add(resolver, &outputs,
			    (struct range_column){
				    .name = STR("ordinality"), .type = INT8OID, .not_null = true });
	struct range_item *item = range_item_new(resolver, RANGE_FUNCTION, (const Node *)range);
	if (!range->alias && list_length(range->functions) == 1) {
		const Node *first = linitial(lfirst_node(List, list_head(range->functions)));
		item->alias = IsA(first, FuncCall) ? str_from(names_last(((const FuncCall *)first)->funcname))
						   : expression_name(first);
	}
	adopt_columns(resolver, item, &outputs, range->alias);
	add_item(resolver, ret_names, item);
}

static void from_table_function(struct resolver *resolver, struct scope *scope, const RangeTableFunc *range,
				struct namespace *ret_names)
{
	struct outputs outputs = { 0 };
	const ListCell *cell;
	bool lateral = scope->lateral_active;
	scope->lateral_active = true;
	(void)resolve_expression(resolver, scope, range->docexpr);
	(void)resolve_expression(resolver, scope, range->rowexpr);
	resolve_list(resolver, scope, range->namespaces);
	foreach(cell, range->columns)
	{
		const RangeTableFuncCol *column = lfirst_node(RangeTableFuncCol, cell);
		(void)resolve_expression(resolver, scope, column->colexpr);
		(void)resolve_expression(resolver, scope, column->coldefexpr);
		outputs_add(resolver, &outputs,
			    (struct range_column){
				    .name = str_from(column->colname),
				    .type = column->for_ordinality
						    ? INT4OID
						    : resolve_type_name(resolver, column->typeName) });
	}
	scope->lateral_active = lateral;
	struct range_item *item = range_item_new(resolver, RANGE_FUNCTION, (const Node *)range);
	item->alias = STR("xmltable");
	adopt_columns(resolver, item, &outputs, range->alias);
	add_item(resolver, ret_names, item);
}

static void from_sample(struct resolver *resolver, struct scope *scope, const RangeTableSample *sample,
			struct namespace *ret_names)
{
	from_item(resolver, scope, sample->relation, ret_names);
	resolve_list(resolver, scope, sample->args);
	(void)resolve_expression(resolver, scope, sample->repeatable);
}

/* Finds a column of one side of a join by name. */
static enum lookup find_in_side(struct resolver *resolver, const struct namespace *side, str_t name,
				struct found_column *ret_found)
{
	struct scope scope = { .names = *side };
	return lookup_column(resolver, &scope, name, true, ret_found);
}

static bool side_is_open(const struct namespace *side)
{
	for (size_t i = 0; i < side->count; i++) {
		if (side->entries[i].item->open || side->entries[i].doubtful)
			return true;
	}
	return false;
}

static void report_using(struct resolver *resolver, str_t name, enum lookup result, const char *side)
{
	enum sql_diagnostic_code code =
		result == LOOKUP_AMBIGUOUS ? DIAG_AMBIGUOUS_COLUMN : DIAG_UNKNOWN_COLUMN;
	diagnostics_add(resolver->diagnostics, code, NULL, name, -1,
			"column \"" STR_FMT "\" of USING %s the %s side of the join", STR_ARG(name),
			result == LOOKUP_AMBIGUOUS ? "is more than once on" : "does not exist on", side);
}

static void report_incomparable(struct resolver *resolver, str_t name, const char *sqlstate)
{
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_JOIN, NULL, sqlstate, name, -1,
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
	choose_operator(resolver->catalog, &resolver->coercions, applied.overloads, applied.overloads_count,
			false, left, right, &choice);
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
static void merge_column(struct resolver *resolver, const JoinExpr *join, const struct namespace *left,
			 const struct namespace *right, str_t name, struct outputs *merged)
{
	struct found_column in_left = { 0 }, in_right = { 0 };
	struct range_column column = { .name = name };
	enum lookup left_result = find_in_side(resolver, left, name, &in_left);
	enum lookup right_result = find_in_side(resolver, right, name, &in_right);
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

static bool has_name(const struct outputs *outputs, str_t name)
{
	for (size_t i = 0; i < outputs->count; i++) {
		if (str_equal(outputs->columns[i].name, name))
			return true;
	}
	return false;
}

static bool is_shown(const struct visible *entry, size_t column)
{
	return !entry->hidden || !entry->hidden[column];
}

/* Bits of names' hashes: a name whose bit is not set is surely not among them. */
struct name_filter {
	uint64_t words[32];
};

static void filter_set(struct name_filter *filter, uint32_t hash)
{
	filter->words[hash / 64 % 32] |= UINT64_C(1) << hash % 64;
}

static bool filter_has(const struct name_filter *filter, uint32_t hash)
{
	return filter->words[hash / 64 % 32] >> hash % 64 & 1;
}

static struct name_filter filter_of(struct resolver *resolver, const struct namespace *side)
{
	struct name_filter filter = { 0 };
	for (size_t i = 0; i < side->count; i++) {
		const struct visible *entry = &side->entries[i];
		const uint32_t *hashes =
			entry->columns_visible ? item_name_hashes(resolver, entry->item) : NULL;
		for (size_t j = 0; hashes && j < entry->item->columns_count; j++)
			filter_set(&filter, hashes[j]);
	}
	return filter;
}

/* The column of the left side, if the right one has its name. */
static void merge_if_common(struct resolver *resolver, const JoinExpr *join, const struct namespace *left,
			    const struct namespace *right, str_t name, struct outputs *merged)
{
	struct found_column found;
	enum lookup result = find_in_side(resolver, right, name, &found);
	if (((result == LOOKUP_FOUND && !found.is_system) || result == LOOKUP_AMBIGUOUS) &&
	    !has_name(merged, name))
		merge_column(resolver, join, left, right, name, merged);
}

/* Merged columns of a NATURAL join: those that both sides have. Unknown when a side is. */
static void merge_natural(struct resolver *resolver, const JoinExpr *join, const struct namespace *left,
			  const struct namespace *right, struct outputs *merged)
{
	const struct name_filter filter = filter_of(resolver, right);
	for (size_t i = 0; i < left->count; i++) {
		const struct visible *entry = &left->entries[i];
		const struct range_item *item = entry->item;
		if (!entry->columns_visible)
			continue;
		const uint32_t *hashes = item_name_hashes(resolver, item);
		for (size_t j = 0; j < item->columns_count; j++)
			if (filter_has(&filter, hashes[j]) && is_shown(entry, j))
				merge_if_common(resolver, join, left, right, item->columns[j].name, merged);
	}
}

static void merge_using(struct resolver *resolver, const JoinExpr *join, const struct namespace *left,
			const struct namespace *right, struct outputs *merged)
{
	struct hash_map names = { .arena = resolver->arena };
	const ListCell *cell;
	foreach(cell, join->usingClause)
	{
		str_t name = str_from(NODE_STRING(lfirst(cell)));
		if (resolver->resolution->too_deep)
			return;
		if (hash_map_set(&names, name, lfirst(cell)))
			diagnostics_add_state(resolver->diagnostics, DIAG_DUPLICATE_ALIAS, "using", "42701",
					      name, -1, "column \"" STR_FMT "\" is in USING twice",
					      STR_ARG(name));
		else
			merge_column(resolver, join, left, right, name, merged);
	}
}

static void set_nullable(struct namespace *names)
{
	for (size_t i = 0; i < names->count; i++)
		names->entries[i].item->nullable = true;
}

static void hide_column(struct resolver *resolver, struct visible *entry, size_t column)
{
	if (!entry->hidden)
		entry->hidden = ARENA_ARRAY(resolver->arena, bool, entry->item->columns_count);
	entry->hidden[column] = true;
	entry->hidden_count++;
}

/* Hides the merged names on both sides, marks what is in doubt. What shows nothing more is not searched. */
static void hide_names(struct resolver *resolver, struct namespace *names, const struct outputs *merged,
		       bool doubtful)
{
	struct name_filter filter = { 0 };
	for (size_t i = 0; i < merged->count; i++)
		filter_set(&filter, name_hash(merged->columns[i].name));
	for (size_t i = 0; i < names->count; i++) {
		struct visible *entry = &names->entries[i];
		const struct range_item *item = entry->item;
		const uint32_t *hashes = entry->columns_visible ? item_name_hashes(resolver, item) : NULL;
		for (size_t j = 0; hashes && j < item->columns_count; j++) {
			if (filter_has(&filter, hashes[j]) && is_shown(entry, j) &&
			    has_name(merged, item->columns[j].name))
				hide_column(resolver, entry, j);
		}
		entry->doubtful |= doubtful;
		entry->columns_visible =
			entry->columns_visible &&
			(item->open || entry->doubtful || entry->hidden_count < item->columns_count);
	}
}

/* Both sides plus, in front (as `*` expands), the merged columns of the join. */
static struct namespace joined_names(struct resolver *resolver, const JoinExpr *join, struct range_item *item,
				     struct namespace *sides, struct outputs *merged, bool doubtful)
{
	struct namespace names = { 0 };
	adopt_columns(resolver, item, merged, NULL);
	if (merged->count == 0 && !doubtful)
		return *sides;
	hide_names(resolver, sides, merged, doubtful);
	if (join->join_using_alias)
		item->alias = str_from(join->join_using_alias->aliasname);
	namespace_add(resolver, &names,
		      (struct visible){ .item = item,
					.relation_visible = str_present(item->alias),
					.columns_visible = true,
					.lateral_ok = true });
	namespace_append(resolver, &names, sides);
	return names;
}

/* An alias on a join hides both sides and shows all of their columns as its own. */
static void alias_join(struct resolver *resolver, const JoinExpr *join, struct range_item *item,
		       struct namespace *names)
{
	struct outputs all = { 0 };
	struct scope scope = { .names = *names };
	expand_star(resolver, &scope, &all);
	adopt_columns(resolver, item, &all, join->alias);
	*names = (struct namespace){ 0 };
	add_item(resolver, names, item);
}

static void join_condition(struct resolver *resolver, struct scope *scope, const struct namespace *names,
			   const Node *condition)
{
	struct namespace outside = scope->names;
	scope->names = *names;
	resolve_condition(resolver, scope, condition, PLACE_JOIN_ON, "JOIN/ON");
	scope->names = outside;
}

/* A side of a join; where it may be missing, a recursive query cannot speak of itself. */
static void from_side(struct resolver *resolver, struct scope *scope, const Node *side, bool may_miss,
		      struct namespace *ret_names)
{
	enum recursion recursion = resolver->recursion;
	if (may_miss && recursion == RECURSION_ALLOWED)
		resolver->recursion = RECURSION_OUTER_JOIN;
	from_item(resolver, scope, side, ret_names);
	resolver->recursion = recursion;
}

static void from_join(struct resolver *resolver, struct scope *scope, const JoinExpr *join,
		      struct namespace *ret_names)
{
	bool left_may_miss = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL;
	bool right_may_miss = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;
	struct namespace left = { 0 }, right = { 0 }, outside = scope->names;
	from_side(resolver, scope, join->larg, left_may_miss, &left);
	if (left.count + outside.count > RESOLVE_MAX_RELATIONS)
		resolver_give_up(resolver);
	if (resolver->resolution->too_deep)
		return;
	bool lateral_ok = join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT;
	namespace_set_lateral(&left, true, lateral_ok);
	scope->names = left;
	if (outside.count > 0) {
		scope->names = (struct namespace){ 0 };
		namespace_append(resolver, &scope->names, &outside);
		namespace_append(resolver, &scope->names, &left);
	}
	from_side(resolver, scope, join->rarg, right_may_miss, &right);
	scope->names = outside;
	check_conflicts(resolver, &left, &right);
	namespace_set_lateral(&left, false, true);
	struct outputs merged = { 0 };
	bool doubtful = join->isNatural && (side_is_open(&left) || side_is_open(&right));
	if (join->isNatural)
		merge_natural(resolver, join, &left, &right, &merged);
	merge_using(resolver, join, &left, &right, &merged);
	if (right_may_miss)
		set_nullable(&right);
	if (left_may_miss)
		set_nullable(&left);
	namespace_append(resolver, &left, &right);
	for (size_t i = 0; i < left.count; i++)
		left.entries[i].joined = true;
	struct range_item *item = range_item_new(resolver, RANGE_JOIN, (const Node *)join);
	*ret_names = joined_names(resolver, join, item, &left, &merged, doubtful);
	if (join->quals)
		join_condition(resolver, scope, ret_names, join->quals);
	if (join->alias)
		alias_join(resolver, join, item, ret_names);
}

static void from_item(struct resolver *resolver, struct scope *scope, const Node *node,
		      struct namespace *ret_names)
{
	if (!resolver_enter(resolver))
		return;
	switch (nodeTag(node)) {
	case T_RangeVar:
		from_relation(resolver, scope, (const RangeVar *)node, ret_names);
		break;
	case T_RangeSubselect:
		from_subselect(resolver, scope, (const RangeSubselect *)node, ret_names);
		break;
	case T_RangeFunction:
		from_function(resolver, scope, (const RangeFunction *)node, ret_names);
		break;
	case T_RangeTableFunc:
		from_table_function(resolver, scope, (const RangeTableFunc *)node, ret_names);
		break;
	case T_RangeTableSample:
		from_sample(resolver, scope, (const RangeTableSample *)node, ret_names);
		break;
	case T_JoinExpr:
		from_join(resolver, scope, (const JoinExpr *)node, ret_names);
		break;
	default:
		break;
	}
	resolver_leave(resolver);
}

void resolve_from(struct resolver *resolver, struct scope *scope, const List *from)
{
	const ListCell *cell;
	foreach(cell, from)
	{
		struct namespace names = { 0 };
		from_item(resolver, scope, lfirst(cell), &names);
		check_conflicts(resolver, &scope->names, &names);
		namespace_set_lateral(&names, true, true);
		namespace_append(resolver, &scope->names, &names);
		if (scope->names.count > RESOLVE_MAX_RELATIONS)
			resolver_give_up(resolver);
		if (resolver->resolution->too_deep)
			return;
	}
	namespace_set_lateral(&scope->names, false, true);
	scope_remember_names(resolver, scope);
}

static void expand_entry(struct resolver *resolver, const struct visible *entry, struct outputs *outputs)
{
	const struct range_item *item = entry->item;
	outputs->open |= item->open || entry->doubtful;
	for (size_t i = 0; i < item->columns_count; i++) {
		if (!is_shown(entry, i))
			continue;
		struct range_column column = item->columns[i];
		column.not_null = column.not_null && !item->nullable;
		column.source = item;
		column.source_index = i;
		column.expression = NULL;
		outputs_add(resolver, outputs, column);
	}
}

void expand_item(struct resolver *resolver, const struct range_item *item, struct outputs *outputs)
{
	outputs->open |= item->open;
	for (size_t i = 0; i < item->columns_count; i++) {
		struct range_column column = item->columns[i];
		column.not_null = column.not_null && !item->nullable;
		column.source = item;
		column.source_index = i;
		column.expression = NULL;
		outputs_add(resolver, outputs, column);
	}
}

void expand_star(struct resolver *resolver, const struct scope *scope, struct outputs *outputs)
{
	for (size_t i = 0; i < scope->names.count && !resolver->resolution->too_deep; i++) {
		if (scope->names.entries[i].columns_visible)
			expand_entry(resolver, &scope->names.entries[i], outputs);
	}
}
