#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"
#include "sql/postgresql/parse/node_children.h"
#include "sql/postgresql/resolve/internal.h"

static str_t alias_name(const Alias *alias, const char *otherwise)
{
	return str_from(alias ? alias->aliasname : otherwise);
}

static void note_item(struct canon *canon, struct canon_range *range)
{
	const struct range_item *item = resolution_item(canon->resolution, range->node);
	range->item = item;
	if (!item)
		return;
	if (item->number >= canon->by_number_count) {
		size_t count = (size_t)item->number * 2 + 8;
		struct canon_range **grown = ARENA_ARRAY(canon->arena, struct canon_range *, count);
		if (canon->by_number_count)
			memcpy(grown, canon->by_number, canon->by_number_count * sizeof(*grown));
		canon->by_number = grown;
		canon->by_number_count = count;
	}
	canon->by_number[item->number] = range;
}

static struct canon_range *add_range(struct canon *canon, const Node *node, str_t alias, bool optional)
{
	struct canon_scope *scope = canon->scope;
	struct canon_range *range = ARENA_NEW(canon->arena, struct canon_range);
	*range = (struct canon_range){ .node = node,
				       .scope = scope,
				       .alias = alias,
				       .name = STR("?"),
				       .index = (unsigned)scope->ranges_count,
				       .optional = optional };
	if (scope->ranges_count >= CANON_MAX_RANGES)
		canon->failed = true;
	ARENA_PUSH(canon->arena, scope->ranges, scope->ranges_count, scope->ranges_capacity, range);
	note_item(canon, range);
	return range;
}

/* Lists up to this length are searched one by one. */
#define SHORT_LIST 16

static void index_outputs(struct canon *canon, struct canon_range *range)
{
	if (range->outputs_count <= SHORT_LIST || !range->outputs)
		return;
	range->outputs_index = ARENA_NEW(canon->arena, struct hash_map);
	hash_map_init(range->outputs_index, canon->arena, range->outputs_count);
	for (size_t i = range->outputs_count; i > 0; i--) /* the first of a name counts */
		(void)hash_map_set(range->outputs_index, range->outputs[i - 1], (void *)(uintptr_t)i);
}

/* The outputs under the names of the alias' column list. */
static void set_outputs(struct canon *canon, struct canon_range *range, const Alias *alias,
			const str_t *outputs, size_t count)
{
	range->outputs = outputs;
	range->outputs_count = count;
	if (!alias || !alias->colnames) {
		index_outputs(canon, range);
		return;
	}
	if (!outputs || (size_t)list_length(alias->colnames) > count) {
		canon->failed = true;
		return;
	}
	str_t *names = ARENA_ARRAY(canon->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		names[i] = i < (size_t)list_length(alias->colnames)
				   ? str_from(NODE_STRING(list_nth(alias->colnames, (int)i)))
				   : outputs[i];
	range->outputs = names;
	index_outputs(canon, range);
}

/* What may stand in a query that dissolves; not what is evaluated per query or by functions. */
static bool plain_node(const Node *node, void *context)
{
	switch ((int)nodeTag(node)) {
	case T_ColumnRef:
	case T_A_Const:
	case T_TypeCast:
	case T_A_Expr:
	case T_BoolExpr:
	case T_NullTest:
	case T_CaseExpr:
	case T_CaseWhen:
	case T_CoalesceExpr:
	case T_BooleanTest:
	case T_List:
		return node_children(node, plain_node, context);
	default:
		return false;
	}
}

/* Plain relations, all of whose columns are known. */
static bool joins_inside(const struct canon *canon, const Node *node)
{
	if (IsA(node, RangeVar)) {
		const struct range_item *item = resolution_item(canon->resolution, node);
		return item && !item->open;
	}
	if (!IsA(node, JoinExpr))
		return false;
	const JoinExpr *join = (const JoinExpr *)node;
	return join->jointype == JOIN_INNER && !join->alias && !join->usingClause && !join->isNatural &&
	       joins_inside(canon, join->larg) && joins_inside(canon, join->rarg) &&
	       (!join->quals || plain_node(join->quals, NULL));
}

/* It selects columns of plain relations and filters, nothing else: then its relations and conditions may as
 * well be those of the query around it. */
static bool dissolves(const struct canon *canon, const SelectStmt *select, bool optional)
{
	if (!canon->resolution || !canon->resolution->names_known || select->op != SETOP_NONE ||
	    select->valuesLists || select->withClause || select->distinctClause || select->groupClause ||
	    select->havingClause || select->windowClause || select->sortClause || select->limitCount ||
	    select->limitOffset || select->lockingClause || select->intoClause || !select->fromClause)
		return false;
	const struct outputs *outputs = resolution_outputs(canon->resolution, select);
	if (!outputs || outputs->open)
		return false;
	const ListCell *cell;
	foreach(cell, select->fromClause) if (!joins_inside(canon, lfirst(cell))) return false;
	foreach(cell, select->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		/* a bare literal would take another type */
		if (!IsA(value, ColumnRef) && (optional || IsA(value, A_Const) || !plain_node(value, NULL)))
			return false;
	}
	/* the columns have to be those of its own relations */
	for (size_t i = 0; i < outputs->count; i++)
		if (!outputs->columns[i].source && !outputs->columns[i].expression)
			return false;
	return !select->whereClause || plain_node(select->whereClause, NULL);
}

static void dissolve(struct canon *canon, struct canon_range *range, const SelectStmt *select,
		     const Alias *alias)
{
	const struct outputs *outputs = resolution_outputs(canon->resolution, select);
	str_t *names = ARENA_ARRAY(canon->arena, str_t, outputs->count + 1);
	for (size_t i = 0; i < outputs->count; i++)
		names[i] = outputs->columns[i].name;
	range->dissolved = select;
	range->text = STR("");
	set_outputs(canon, range, alias, names, outputs->count);
	const ListCell *cell;
	foreach(cell, select->fromClause) canon_ranges(canon, lfirst(cell), range->optional);
}

static void add_relation(struct canon *canon, const RangeVar *relation, bool optional)
{
	struct canon_range *range = add_range(canon, (const Node *)relation,
					      alias_name(relation->alias, relation->relname), optional);
	str_t name = canon_relation(canon, relation);
	range->schema = str_from(relation->schemaname);
	range->stem = relation->inh ? name : CONCAT(canon, STR("ONLY "), name);
	range->text = range->stem;
	if (relation->alias && relation->alias->colnames && !(range->item && range->item->relation))
		canon->failed = true;
}

static void set_item_outputs(struct canon *canon, struct canon_range *range)
{
	const struct range_item *item = range->item;
	str_t *outputs = ARENA_ARRAY(canon->arena, str_t, item->columns_count + 1);
	for (size_t i = 0; i < item->columns_count; i++)
		outputs[i] = item->columns[i].name;
	range->outputs = outputs;
	range->outputs_count = item->columns_count;
	index_outputs(canon, range);
}

/* The recursion itself: its columns are those of the arm before it. */
static void add_recursion(struct canon *canon, struct canon_range *range, struct canon_cte *cte,
			  const Alias *alias)
{
	const struct range_item *item = range->item;
	range->stem = CONCAT(canon, STR("RECURSION "), canon_number(canon, cte->recursion));
	range->text = range->stem;
	if (!item || item->open) {
		cte->refers_to_itself = true;
		canon->failed |= alias && alias->colnames;
		return;
	}
	set_item_outputs(canon, range);
}

static unsigned scope_depth(const struct canon_scope *scope)
{
	return scope ? scope->depth + 1 : 0;
}

static void add_with_query(struct canon *canon, const RangeVar *relation, struct canon_cte *cte,
			   bool optional)
{
	const CommonTableExpr *query = cte->query;
	str_t alias = alias_name(relation->alias, relation->relname);
	struct canon_range *range = add_range(canon, (const Node *)relation, alias, optional);
	if (cte->recursion) {
		add_recursion(canon, range, cte, relation->alias);
		return;
	}
	if (cte->references == 1 && !cte->may_recurse && IsA(query->ctequery, SelectStmt) &&
	    (!cte->scope || cte->scope == canon->scope->outer) && !query->aliascolnames &&
	    dissolves(canon, (const SelectStmt *)query->ctequery, optional)) {
		struct canon_cte *visible = canon->ctes;
		canon->ctes = cte->outer;
		dissolve(canon, range, (const SelectStmt *)query->ctequery, relation->alias);
		canon->ctes = visible;
		return;
	}
	canon_cte_build(canon, cte);
	range->stem = STR("Q");
	range->text = cte->text;
	if (cte->correlated && cte->scope != canon->scope->outer)
		range->text = CONCAT(canon, STR("FROM "),
				     canon_number(canon, canon->scope->depth - scope_depth(cte->scope)),
				     STR(" OUTWARD"), cte->text);
	set_outputs(canon, range, relation->alias, cte->outputs, cte->outputs_count);
}

static void add_range_var(struct canon *canon, const RangeVar *relation, bool optional)
{
	struct canon_cte *cte = canon_cte_find(canon, relation);
	if (cte)
		add_with_query(canon, relation, cte, optional);
	else
		add_relation(canon, relation, optional);
}

/* What is not LATERAL does not see its neighbours. */
static void add_subquery(struct canon *canon, const RangeSubselect *subquery, bool optional)
{
	struct canon_scope *scope = canon->scope;
	const SelectStmt *select = (const SelectStmt *)subquery->subquery;
	str_t alias = alias_name(subquery->alias, NULL);
	struct canon_range *range = add_range(canon, (const Node *)subquery, alias, optional);
	if (!IsA(select, SelectStmt)) {
		canon->failed = true;
		return;
	}
	if (!subquery->lateral && dissolves(canon, select, optional)) {
		dissolve(canon, range, select, subquery->alias);
		return;
	}
	range->stem = subquery->lateral ? STR("L") : STR("Q");
	if (subquery->lateral)
		return;
	struct canon_select built = { 0 };
	canon->scope = scope->outer;
	canon_select(canon, select, canon_order_matters(canon) ? CANON_ALL : CANON_UNORDERED, &built);
	canon->scope = scope;
	range->text = CONCAT(canon, STR("("), canon_short(canon, built.text), STR(")"));
	set_outputs(canon, range, subquery->alias, built.outputs, built.outputs_count);
}

static void add_function(struct canon *canon, const RangeFunction *function, bool optional)
{
	const Node *first = linitial((const List *)linitial(function->functions));
	const char *called = IsA(first, FuncCall) ? names_last(((const FuncCall *)first)->funcname) : NULL;
	struct canon_range *range =
		add_range(canon, (const Node *)function, alias_name(function->alias, called), optional);
	range->stem = CONCAT(canon, STR("F "), canon_identifier(canon, called ? str_from(called) : STR("")));
}

static void add_sample(struct canon *canon, const RangeTableSample *sample, bool optional)
{
	struct texts arguments = { 0 };
	size_t index = canon->scope->ranges_count;
	canon_ranges(canon, sample->relation, optional);
	if (index >= canon->scope->ranges_count)
		return;
	canon_expressions(canon, sample->args, &arguments);
	struct canon_range *range = canon->scope->ranges[index];
	canon->unsteady++;
	range->text = CONCAT(canon, range->text, STR(" SAMPLE "), canon_name(canon, sample->method),
			     texts_join(canon, STR("("), &arguments, STR(") ")),
			     canon_expression(canon, sample->repeatable));
}

void canon_ranges(struct canon *canon, const Node *node, bool optional)
{
	if (!node || !canon_enter(canon))
		return;
	const JoinExpr *join = (const JoinExpr *)node;
	switch ((int)nodeTag(node)) {
	case T_RangeVar:
		add_range_var(canon, (const RangeVar *)node, optional);
		break;
	case T_RangeSubselect:
		add_subquery(canon, (const RangeSubselect *)node, optional);
		break;
	case T_RangeFunction:
		add_function(canon, (const RangeFunction *)node, optional);
		break;
	case T_RangeTableSample:
		add_sample(canon, (const RangeTableSample *)node, optional);
		break;
	case T_JoinExpr:
		canon_ranges(canon, join->larg,
			     optional || join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL);
		canon_ranges(canon, join->rarg,
			     optional || join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL);
		break;
	default:
		canon->failed = true;
		break;
	}
	canon_leave(canon);
}

/* Names */

static int by_stem(const void *a, const void *b)
{
	const struct canon_range *left = *(struct canon_range *const *)a;
	const struct canon_range *right = *(struct canon_range *const *)b;
	int order = str_compare(left->stem, right->stem);
	if (order == 0)
		order = str_compare(left->text, right->text);
	return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* Names that the order in FROM does not touch, but for the places of equals (see canon_select). */
void canon_name_ranges(struct canon *canon)
{
	struct canon_scope *scope = canon->scope;
	size_t count = scope->ranges_count;
	struct canon_range **sorted = ARENA_ARRAY(canon->arena, struct canon_range *, count + 1);
	if (count)
		memcpy(sorted, scope->ranges, count * sizeof(*sorted));
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), by_stem);
	scope->sorted = sorted;
	unsigned texts = 0, same = 0;
	for (size_t i = 0; i < count; i++) {
		struct canon_range *range = sorted[i];
		const struct canon_range *before = i > 0 ? sorted[i - 1] : NULL;
		bool new_stem = !before || !str_equal(before->stem, range->stem);
		bool new_text = new_stem || !str_equal(before->text, range->text);
		texts = new_stem ? 1 : texts + new_text;
		same = new_text ? 1 : same + 1;
		range->name = range->stem;
		if (range->stem.ptr && range->stem.ptr[0] == 'Q' && range->stem.len == 1)
			range->name = CONCAT(canon, STR("Q"), canon_number(canon, texts));
		else if (texts > 1) /* of one name, yet not the same: a sample of it */
			range->name = CONCAT(canon, range->stem, STR("/"), canon_number(canon, texts));
		range->numbered = same > 1 && !range->dissolved;
		if (range->numbered)
			range->name = CONCAT(canon, range->name, STR("#"), canon_number(canon, same));
	}
}

static str_t definitions_text(struct canon *canon, const List *definitions)
{
	struct texts types = { 0 };
	const ListCell *cell;
	foreach(cell, definitions) texts_add(canon->arena, &types,
					     canon_type_name(canon, lfirst_node(ColumnDef, cell)->typeName));
	return types.count ? texts_join(canon, STR(" DEFINES("), &types, STR(")")) : STR("");
}

/* The aliases of a function name its columns, so they stay, unless these are known. */
static void build_function(struct canon *canon, struct canon_range *range)
{
	const RangeFunction *function = (const RangeFunction *)range->node;
	struct texts calls = { 0 }, names = { 0 };
	bool known = range->item && !range->item->open;
	const ListCell *cell;
	foreach(cell, function->functions)
	{
		const List *pair = lfirst(cell);
		texts_add(canon->arena, &calls,
			  CONCAT(canon, canon_expression(canon, linitial(pair)),
				 definitions_text(canon, lsecond(pair))));
		canon->failed |= lsecond(pair) && !known;
	}
	canon->failed |= function->coldeflist && !known;
	range->text = CONCAT(canon, texts_join(canon, STR("("), &calls, STR(")")),
			     definitions_text(canon, function->coldeflist),
			     function->ordinality ? STR(" ORDINALITY") : STR(""));
	if (known) {
		set_item_outputs(canon, range);
		return;
	}
	const Alias *alias = function->alias;
	texts_add(canon->arena, &names, canon_identifier(canon, alias_name(alias, "")));
	foreach(cell, alias ? alias->colnames : NULL)
		texts_add(canon->arena, &names, canon_identifier(canon, str_from(NODE_STRING(lfirst(cell)))));
	range->text = CONCAT(canon, range->text, texts_join(canon, STR(" AS("), &names, STR(")")));
}

static void build_lateral(struct canon *canon, struct canon_range *range)
{
	const RangeSubselect *subquery = (const RangeSubselect *)range->node;
	struct canon_select built = { 0 };
	canon_select(canon, (const SelectStmt *)subquery->subquery, CANON_ALL, &built);
	range->text = CONCAT(canon, STR("("), canon_short(canon, built.text), STR(")"));
	set_outputs(canon, range, subquery->alias, built.outputs, built.outputs_count);
}

/* What can name its neighbours, after they have their names. */
void canon_build_ranges(struct canon *canon)
{
	struct canon_scope *scope = canon->scope;
	for (size_t i = 0; i < scope->ranges_count && !canon->failed; i++) {
		struct canon_range *range = scope->ranges[i];
		if (IsA(range->node, RangeFunction))
			build_function(canon, range);
		else if (IsA(range->node, RangeSubselect) && ((const RangeSubselect *)range->node)->lateral)
			build_lateral(canon, range);
	}
}
