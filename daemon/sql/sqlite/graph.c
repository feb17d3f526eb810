#include "sql/sqlite/graph.h"

#include <ctype.h>

/* WITH queries that are visible. */
struct visible {
	const struct query_node *cte;
	const struct visible *outer;
};

struct graph {
	struct arena *arena;
	const struct visible *ctes;
	unsigned nodes;
	bool hides, hides_query;
};

static void add_select(struct graph *graph, struct query_node *parent, const struct sqlite_select *select);
static void add_expression(struct graph *graph, struct query_node *parent, const struct sqlite_node *node);

static struct query_node *new_node(struct graph *graph, enum query_kind kind, size_t offset)
{
	struct query_node *node = ARENA_NEW(graph->arena, struct query_node);
	*node = (struct query_node){
		.kind = kind, .depth = 1, .number = graph->nodes++, .offset = offset, .end = offset
	};
	return node;
}

static struct query_node *add_node(struct graph *graph, struct query_node *parent, enum query_kind kind,
				   size_t offset)
{
	struct query_node *node = new_node(graph, kind, offset);
	query_append(parent, node);
	return node;
}

/* Tokens that the tree does not have. */
static void hide(struct graph *graph, str_t tokens)
{
	graph->hides = graph->hides || str_present(tokens);
	graph->hides_query = graph->hides_query || (str_present(tokens) && strcasestr(tokens.ptr, "select"));
}

/* ---- expressions ---- */

/* The text of a literal in single quotes. */
static str_t unquoted(struct arena *arena, str_t text)
{
	char *copy = arena_alloc(arena, text.len + 1), *at = copy;
	for (size_t i = 1; i + 1 < text.len; i++) {
		*at++ = text.ptr[i];
		i += text.ptr[i] == '\'';
	}
	*at = '\0';
	return (str_t){ copy, (size_t)(at - copy) };
}

static void fill_literal(struct graph *graph, struct query_node *to, str_t text)
{
	char first = text.len > 0 ? text.ptr[0] : '\0';
	to->op = first == '\''					 ? "string"
		 : isdigit((unsigned char)first) || first == '.' ? "number"
		 : str_is(text, "null")				 ? "null"
								 : "word"; /* current_date, x'00' */
	to->name = first == '\'' ? unquoted(graph->arena, text) : text;
}

static void fill_column(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	to->name = node->text;
	to->qualifier = node->table;
	to->schema = node->schema;
	to->range = node->meaning == SQLITE_OF_ITEM ? node->item->range : NULL;
	to->op = node->doubtful ? "doubtful" : NULL;
	to->item = node->meaning == SQLITE_OUTPUT ? node->core->outputs[node->output].item : NULL;
	graph->hides =
		graph->hides || node->doubtful ||
		(!to->range && !to->item && (str_present(node->table) || node->meaning == SQLITE_OUTPUT));
}

static void add_children(struct graph *graph, struct query_node *parent, const struct sqlite_node *node,
			 size_t from)
{
	for (size_t i = from; i < node->children_count; i++)
		add_expression(graph, parent, node->children[i]);
}

static void add_chain(struct graph *graph, struct query_node *parent, const struct sqlite_node *node,
		      str_t op)
{
	if (node->kind != SQLITE_BINARY || !str_equal(node->text, op)) {
		add_expression(graph, parent, node);
		return;
	}
	add_chain(graph, parent, node->children[0], op);
	add_chain(graph, parent, node->children[1], op);
}

static void fill_binary(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	static const char *const patterns[] = { "like", "glob", "match", "regexp" };
	to->op = node->text.ptr;
	to->flag = node->negated;
	for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
		if (str_is(node->text, patterns[i]))
			to->kind = QUERY_LIKE;
	if (str_is(node->text, "and") || str_is(node->text, "or")) {
		add_chain(graph, to, node, node->text);
		return;
	}
	if (str_is(node->text, "is") && node->negated) { /* not (a <=> b) */
		to->op = "not";
		to->flag = false;
		to = add_node(graph, to, QUERY_OPERATION, node->offset);
	}
	to->op = str_is(node->text, "is") ? "<=>" : to->op;
	add_children(graph, to, node, 0);
}

static void fill_in(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	to->flag = node->negated;
	add_expression(graph, to, node->children[0]);
	struct query_node *set = add_node(graph, to, node->select ? QUERY_SUBQUERY : QUERY_ROW, node->offset);
	if (node->select)
		add_select(graph, set, node->select);
	else
		add_children(graph, set, node, 1);
}

static bool makes_groups(const struct sqlite_node *call)
{
	static const char *const names[] = { "count",
					     "sum",
					     "avg",
					     "min",
					     "max",
					     "total",
					     "group_concat",
					     "string_agg",
					     "json_group_array",
					     "json_group_object" };
	bool scalar = call->children_count > 1 && (str_is(call->text, "min") || str_is(call->text, "max"));
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_is(call->text, names[i]))
			return !scalar && !(str_present(call->window) && strstr(call->window.ptr, "over "));
	return false;
}

static void fill_call(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	to->name = node->text;
	to->flag = node->distinct;
	to->aggregate = makes_groups(node);
	if (node->has_star)
		(void)add_node(graph, to, QUERY_STAR, node->offset);
	add_children(graph, to, node, 0);
	if (str_present(node->window))
		add_node(graph, to, QUERY_WINDOW, node->offset)->name = node->window;
	hide(graph, node->window);
}

static void fill_case(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	if (node->operand)
		add_expression(graph, add_node(graph, to, QUERY_OPERAND, node->offset), node->operand);
	for (size_t i = 0; i + 1 < node->children_count; i += 2) {
		struct query_node *when = add_node(graph, to, QUERY_WHEN, node->children[i]->offset);
		add_expression(graph, when, node->children[i]);
		add_expression(graph, when, node->children[i + 1]);
	}
	if (node->children_count % 2)
		add_expression(graph, add_node(graph, to, QUERY_ELSE, node->offset),
			       node->children[node->children_count - 1]);
}

static void fill_postfix(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	bool collates = strncmp(node->text.ptr, "collate ", 8) == 0;
	to->kind = collates ? QUERY_COLLATE : QUERY_IS;
	to->name = collates ? str_from(node->text.ptr + 8) : STR_NONE;
	to->op = collates ? NULL : "null";
	to->flag = str_is(node->text, "notnull");
	add_children(graph, to, node, 0);
}

static const enum query_kind kinds[] = {
	[SQLITE_LITERAL] = QUERY_LITERAL, [SQLITE_PARAMETER] = QUERY_PARAMETER,
	[SQLITE_COLUMN] = QUERY_COLUMN,	  [SQLITE_STAR] = QUERY_STAR,
	[SQLITE_UNARY] = QUERY_OPERATION, [SQLITE_BINARY] = QUERY_OPERATION,
	[SQLITE_POSTFIX] = QUERY_IS,	  [SQLITE_BETWEEN] = QUERY_BETWEEN,
	[SQLITE_IN] = QUERY_IN,		  [SQLITE_CALL] = QUERY_CALL,
	[SQLITE_CASE] = QUERY_CASE,	  [SQLITE_CAST] = QUERY_CAST,
	[SQLITE_EXISTS] = QUERY_EXISTS,	  [SQLITE_SUBQUERY] = QUERY_SUBQUERY,
	[SQLITE_ROW] = QUERY_ROW,
};

static void fill(struct graph *graph, struct query_node *to, const struct sqlite_node *node)
{
	switch (node->kind) {
	case SQLITE_LITERAL:
		fill_literal(graph, to, node->text);
		break;
	case SQLITE_PARAMETER: /* which one is not kept */
		to->name = arena_printf(graph->arena, "@%zu", node->offset);
		graph->hides = true;
		break;
	case SQLITE_COLUMN:
		fill_column(graph, to, node);
		break;
	case SQLITE_STAR:
		to->qualifier = node->table;
		to->range = node->meaning == SQLITE_OF_ITEM ? node->item->range : NULL;
		graph->hides = graph->hides || (str_present(node->table) && !to->range);
		break;
	case SQLITE_BINARY:
		fill_binary(graph, to, node);
		break;
	case SQLITE_POSTFIX:
		fill_postfix(graph, to, node);
		break;
	case SQLITE_IN:
		fill_in(graph, to, node);
		break;
	case SQLITE_CALL:
		fill_call(graph, to, node);
		break;
	case SQLITE_CASE:
		fill_case(graph, to, node);
		break;
	case SQLITE_EXISTS:
	case SQLITE_SUBQUERY:
		add_select(graph, to, node->select);
		break;
	case SQLITE_CAST:
		to->name = node->text;
		add_children(graph, to, node, 0);
		break;
	case SQLITE_UNARY:
		to->op = node->text.ptr;
		__attribute__((fallthrough));
	default:
		to->flag = node->negated;
		add_children(graph, to, node, 0);
		break;
	}
}

static void add_expression(struct graph *graph, struct query_node *parent, const struct sqlite_node *node)
{
	struct query_node *to = new_node(graph, kinds[node->kind], node->offset);
	fill(graph, to, node);
	query_append(parent, to);
}

/* ---- FROM ---- */

static const struct query_node *cte_named(const struct graph *graph, str_t name)
{
	const struct visible *visible = graph->ctes;
	while (visible && !str_equal(visible->cte->name, name))
		visible = visible->outer;
	return visible ? visible->cte : NULL;
}

static void add_range(struct graph *graph, struct sqlite_item *item)
{
	struct query_range *range = ARENA_NEW(graph->arena, struct query_range);
	struct query_columns *columns = ARENA_NEW(graph->arena, struct query_columns);
	const struct sqlite_source *source = item->source;
	bool made = source->select || source->is_call;
	*columns = (struct query_columns){ .names = item->columns,
					   .count = item->columns_count,
					   .open = !item->known };
	*range = (struct query_range){ .kind = item->is_cte ? QUERY_RANGE_CTE
					       : made	    ? QUERY_RANGE_DERIVED
							    : QUERY_RANGE_RELATION,
				       .alias = str_present(item->name) ? item->name : STR(""),
				       .name = source->name,
				       .relation = item->relation,
				       .columns = columns,
				       .maker = item->is_cte ? cte_named(graph, source->name) : NULL };
	item->range = range;
	graph->hides = graph->hides || (str_present(source->schema) && !str_is(source->schema, "main"));
}

static struct query_node *item_node(struct graph *graph, const struct sqlite_core *core, size_t index)
{
	const struct sqlite_source *source = &core->sources[index];
	struct query_range *range = core->items[index].range;
	bool made = range->kind == QUERY_RANGE_DERIVED;
	struct query_node *node = new_node(graph, made ? QUERY_DERIVED : QUERY_RELATION, source->offset);
	node->name = source->name;
	node->alias = source->alias;
	node->range = range;
	range->node = node;
	range->maker = made ? node : range->maker;
	if (source->select)
		add_select(graph, node, source->select);
	node->flag = source->is_call; /* its arguments see the items before it */
	for (size_t a = 0; a < source->arguments_count; a++)
		add_expression(graph, node, source->arguments[a]);
	return node;
}

/* Joins lean to the left, a comma is one of them. */
static void add_from(struct graph *graph, struct query_node *select, const struct sqlite_core *core)
{
	static const char *const joins[2][4] = { { "join", "left join", "right join", "full join" },
						 { "natural join", "natural left join", "natural right join",
						   "natural full join" } };
	for (size_t i = 0; i < core->sources_count; i++)
		add_range(graph, &core->items[i]);
	struct query_node *left = item_node(graph, core, 0);
	for (size_t i = 1; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		struct query_node *join = new_node(graph, QUERY_JOIN, source->offset);
		join->op = joins[source->natural][source->join];
		query_append(join, left);
		query_append(join, item_node(graph, core, i));
		if (source->on) {
			struct query_node *on = new_node(graph, QUERY_ON, source->on->offset);
			add_expression(graph, on, source->on);
			query_append(join, on);
		}
		if (source->using_count > 0) {
			struct query_node *using = add_node(graph, join, QUERY_USING, source->offset);
			for (size_t u = 0; u < source->using_count; u++)
				add_node(graph, using, QUERY_NAME, source->offset)->name = source->using[u];
		}
		left = join;
	}
	struct query_node *from = new_node(graph, QUERY_FROM, core->sources[0].offset);
	query_append(from, left);
	query_append(select, from);
}

/* ---- queries ---- */

static void add_outputs(struct graph *graph, struct query_node *items, const struct sqlite_core *core)
{
	for (size_t i = 0; i < core->outputs_count; i++) {
		struct sqlite_output *output = &core->outputs[i];
		if (output->expression->kind == SQLITE_STAR) {
			add_expression(graph, items, output->expression);
			continue;
		}
		struct query_node *item = new_node(graph, QUERY_ITEM, output->expression->offset);
		item->alias = output->alias;
		item->name = output->expression->text;
		add_expression(graph, item, output->expression);
		query_append(items, item);
		output->item = item;
	}
}

static void add_keys(struct graph *graph, struct query_node *parent, const struct sqlite_order *order,
		     struct sqlite_node *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct sqlite_node *key = order ? order[i].expression : keys[i];
		struct query_node *sort = new_node(graph, QUERY_SORT, key->offset);
		sort->flag = order && order[i].descending;
		sort->op = order && order[i].nulls_first == order[i].descending ? "nulls" : NULL;
		add_expression(graph, sort, key);
		query_append(parent, sort);
	}
}

/* A clause of one expression; NULL: there is none. */
static void add_clause(struct graph *graph, struct query_node *select, enum query_kind kind,
		       const struct sqlite_node *expression)
{
	if (!expression)
		return;
	struct query_node *clause = new_node(graph, kind, expression->offset);
	add_expression(graph, clause, expression);
	query_append(select, clause);
}

static void add_core(struct graph *graph, struct query_node *parent, const struct sqlite_core *core,
		     size_t offset)
{
	struct query_node *body = new_node(graph, core->is_values ? QUERY_VALUES : QUERY_SELECT, offset);
	if (core->is_values) {
		for (size_t i = 0; i < core->outputs_count; i++)
			add_expression(graph, body, core->outputs[i].expression);
		query_append(parent, body);
		return;
	}
	struct query_node *items = add_node(graph, body, QUERY_ITEMS, offset);
	body->flag = core->distinct;
	if (core->sources_count > 0)
		add_from(graph, body, core);
	add_outputs(graph, items, core);
	add_clause(graph, body, QUERY_WHERE, core->where);
	if (core->group_count > 0) {
		struct query_node *group = new_node(graph, QUERY_GROUP, core->group[0]->offset);
		add_keys(graph, group, NULL, core->group, core->group_count);
		query_append(body, group);
	}
	add_clause(graph, body, QUERY_HAVING, core->having);
	hide(graph, core->windows);
	query_append(parent, body);
}

/* Every WITH query is visible in all of them, its own included. */
static void add_with(struct graph *graph, struct query_node *query, const struct sqlite_select *select)
{
	struct query_node *with = new_node(graph, QUERY_WITH, select->offset);
	struct query_node **ctes = ARENA_ARRAY(graph->arena, struct query_node *, select->ctes_count);
	with->flag = true; /* RECURSIVE need not be said */
	for (size_t i = 0; i < select->ctes_count; i++) {
		struct visible *visible = ARENA_NEW(graph->arena, struct visible);
		ctes[i] = new_node(graph, QUERY_CTE, select->ctes[i].select->offset);
		ctes[i]->name = select->ctes[i].name;
		*visible = (struct visible){ ctes[i], graph->ctes };
		graph->ctes = visible;
	}
	for (size_t i = 0; i < select->ctes_count; i++) {
		const struct sqlite_cte *cte = &select->ctes[i];
		if (cte->columns_count > 0) {
			struct query_node *names = add_node(graph, ctes[i], QUERY_NAMES, ctes[i]->offset);
			for (size_t c = 0; c < cte->columns_count; c++)
				add_node(graph, names, QUERY_NAME, ctes[i]->offset)->name = cte->columns[c];
		}
		add_select(graph, ctes[i], cte->select);
		query_append(with, ctes[i]);
	}
	query_append(query, with);
}

static void add_body(struct graph *graph, struct query_node *query, const struct sqlite_select *select)
{
	if (select->cores_count == 1) {
		add_core(graph, query, &select->cores[0], select->offset);
		return;
	}
	struct query_node *set = new_node(graph, QUERY_SET, select->offset);
	for (size_t i = 0; i < select->cores_count; i++) {
		struct query_node *arm = new_node(graph, QUERY_ARM, select->offset);
		arm->op = i > 0 ? select->cores[i].operator.ptr : NULL;
		add_core(graph, arm, &select->cores[i], select->offset);
		query_append(set, arm);
	}
	query_append(query, set);
}

static void add_select(struct graph *graph, struct query_node *parent, const struct sqlite_select *select)
{
	const struct visible *before = graph->ctes;
	struct query_node *query = new_node(graph, QUERY_EXPRESSION, select->offset);
	if (select->ctes_count > 0)
		add_with(graph, query, select);
	add_body(graph, query, select);
	if (select->order_count > 0) {
		struct query_node *order = new_node(graph, QUERY_ORDER, select->order[0].expression->offset);
		add_keys(graph, order, select->order, NULL, select->order_count);
		query_append(query, order);
	}
	if (select->limit) {
		struct query_node *limit = new_node(graph, QUERY_LIMIT, select->limit->offset);
		add_expression(graph, limit, select->limit);
		if (select->skip)
			add_expression(graph, limit, select->skip);
		query_append(query, limit);
	}
	query_append(parent, query);
	graph->ctes = before;
}

static void note_columns(struct query_node *node)
{
	for (struct query_node *child = node->first; child; child = child->next) {
		note_columns(child);
		node->has_column = node->has_column || child->has_column || child->kind == QUERY_COLUMN ||
				   child->kind == QUERY_PARAMETER;
	}
}

struct sqlite_graph sqlite_graph(const struct sqlite_select *select, struct arena *arena)
{
	struct graph graph = { .arena = arena };
	struct query_node root = { 0 };
	add_select(&graph, &root, select);
	note_columns(&root);
	return (struct sqlite_graph){ root.first, graph.hides, graph.hides_query };
}
