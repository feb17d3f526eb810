#include "sql/query/canonical.h"

#include "sql/query/canonical_internal.h"
#include "sql/query/position.h"

/* Whether a condition speaks of columns of two tables, outside of subqueries. */
static bool joins_ranges(const struct query_node *node, const struct query_range **one)
{
	if (node->kind == QUERY_COLUMN && node->range) {
		if (*one && *one != node->range)
			return true;
		*one = node->range;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind != QUERY_EXPRESSION && joins_ranges(child, one))
			return true;
	return false;
}

/* Parts of a conjunction; where they stand (ON of an inner join, WHERE) makes no difference. */
static void add_conditions(struct form *form, const struct query_node *node, struct texts *joins,
			   struct texts *where)
{
	if (query_is_operation(node, "and")) {
		for (const struct query_node *part = node->first; part; part = part->next)
			add_conditions(form, part, joins, where);
		return;
	}
	const struct query_range *one = NULL;
	texts_add(form->arena, joins_ranges(node, &one) ? joins : where, form_text(form, node));
}

/* Comma and inner joins are a set of tables and a set of conditions; all else keeps its shape. */
static void add_from(struct form *form, const struct query_node *node, struct texts *tables,
		     struct texts *joins, struct texts *where)
{
	bool inner = node->kind == QUERY_FROM || (node->kind == QUERY_JOIN && strcmp(node->op, "join") == 0 &&
						  !query_child(node, QUERY_USING));
	if (!inner) {
		texts_add(form->arena, tables, form_text(form, node));
		return;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_ON)
			add_conditions(form, child->first, joins, where);
		else
			add_from(form, child, tables, joins, where);
}

static bool has_bare_star(const struct query_node *select)
{
	for (const struct query_node *item = query_child(select, QUERY_ITEMS)->first; item; item = item->next)
		if (item->kind == QUERY_STAR && !str_present(item->qualifier))
			return true;
	return false;
}

/* A key that is a position is the output's text, where it is known which. Where it is not, and where what is
 * no position would be written like one, both are told apart: an alias of the constant 2 is not the second
 * output. */
static str_t key_text(struct form *form, const struct query_node *select, const struct query_node *key)
{
	enum sql_dialect dialect = form->options->dialect;
	struct query_position position = query_position_of(key, dialect);
	const struct query_node *item =
		position.kind == QUERY_POSITION_NONE ? key->item : query_position_item(select, position);
	const struct query_node *meant = item ? item->first : key;
	str_t text = form_text(form, meant);
	if (position.kind != QUERY_POSITION_NONE && !item && key->kind != QUERY_LITERAL)
		return arena_printf(form->arena, "position(" STR_FMT ")", STR_ARG(text));
	if (item && query_position_of(meant, dialect).kind != QUERY_POSITION_NONE)
		return arena_printf(form->arena, "value(" STR_FMT ")", STR_ARG(text));
	return text;
}

static str_t sort_text(struct form *form, const struct query_node *select, const struct query_node *sorting)
{
	str_t key = key_text(form, select, sorting->first);
	if (!sorting->flag && !sorting->op)
		return key;
	return arena_printf(form->arena, "%s%s(" STR_FMT ")", sorting->flag ? "desc" : "",
			    sorting->op ? " nulls" : "", STR_ARG(key));
}

/* What a SELECT is made of. */
struct parts {
	struct texts items, tables, joins, where, group, order;
};

static str_t item_text(struct form *form, const struct query_node *item, bool top)
{
	str_t text = form_text(form, item->kind == QUERY_ITEM ? item->first : item);
	if (item->kind == QUERY_STAR || (top && !form->keep_aliases))
		return text;
	str_t quoted_name = form_quoted(form, identifier_lower(query_item_name(item), form->arena), '`');
	return arena_printf(form->arena, STR_FMT " as " STR_FMT, STR_ARG(text), STR_ARG(quoted_name));
}

static void add_order(struct form *form, const struct query_node *select, const struct query_node *query,
		      struct texts *order)
{
	const struct query_node *keys = query_child(query, QUERY_ORDER);
	const struct query_node *limit = query_child(query, QUERY_LIMIT);
	for (const struct query_node *key = keys ? keys->first : NULL; key; key = key->next)
		texts_add(form->arena, order, sort_text(form, select, key));
	if (limit)
		texts_add(form->arena, order, form_text(form, limit));
}

static void collect(struct form *form, const struct query_node *select, bool top, struct parts *parts)
{
	const struct query_node *from = query_child(select, QUERY_FROM);
	const struct query_node *where = query_child(select, QUERY_WHERE);
	const struct query_node *group = query_child(select, QUERY_GROUP);
	const struct query_node *having = query_child(select, QUERY_HAVING);
	for (const struct query_node *item = query_child(select, QUERY_ITEMS)->first; item; item = item->next)
		texts_add(form->arena, &parts->items, item_text(form, item, top));
	if (from)
		add_from(form, from, &parts->tables, &parts->joins, &parts->where);
	if (where)
		add_conditions(form, where->first, &parts->joins, &parts->where);
	for (const struct query_node *key = group ? group->first : NULL; key; key = key->next)
		texts_add(form->arena, &parts->group, sort_text(form, select, key));
	if (group && group->flag)
		texts_add(form->arena, &parts->group, STR("rollup"));
	else
		form_texts_unique(form, &parts->group);
	if (having) {
		struct texts conditions = { 0 };
		add_conditions(form, having->first, &conditions, &conditions);
		form_texts_unique(form, &conditions);
		texts_add(form->arena, &parts->where, form_texts_join(form, "having(", &conditions, ")"));
	}
}

static str_t select_text(struct form *form, const struct query_node *select, const struct parts *parts)
{
	struct texts texts = { 0 };
	const struct query_node *windows = query_child(select, QUERY_WINDOWS);
	texts_add(form->arena, &texts,
		  form_texts_join(form, select->flag ? "distinct(" : "items(", &parts->items, ")"));
	texts_add(form->arena, &texts, form_texts_join(form, "from(", &parts->tables, ")"));
	texts_add(form->arena, &texts, form_texts_join(form, "joins(", &parts->joins, ")"));
	texts_add(form->arena, &texts, form_texts_join(form, "where(", &parts->where, ")"));
	texts_add(form->arena, &texts, form_texts_join(form, "group(", &parts->group, ")"));
	if (windows)
		texts_add(form->arena, &texts, form_text(form, windows));
	return form_texts_join(form, "select(", &texts, ")");
}

str_t form_body(struct form *form, const struct query_node *body, bool top)
{
	if (body->kind == QUERY_SELECT) {
		struct parts parts = { 0 };
		collect(form, body, top, &parts);
		if (!has_bare_star(body))
			texts_sort(&parts.tables);
		form_texts_unique(form, &parts.joins);
		form_texts_unique(form, &parts.where);
		return select_text(form, body, &parts);
	}
	if (body->kind != QUERY_SET)
		return form_text(form, body);
	struct texts arms = { 0 };
	for (const struct query_node *arm = body->first; arm; arm = arm->next) {
		str_t text = form_body(form, arm->first, top);
		texts_add(
			form->arena, &arms,
			arena_printf(form->arena, "%s " STR_FMT, arm->op ? arm->op : "first", STR_ARG(text)));
	}
	return form_texts_join(form, "set(", &arms, ")");
}

str_t form_query(struct form *form, const struct query_node *query, bool top)
{
	while (query->first->kind == QUERY_EXPRESSION && !query->first->next) /* in brackets: itself */
		query = query->first;
	struct texts texts = { 0 };
	const struct query_node *with = query_child(query, QUERY_WITH), *body = query_body(query);
	if (with)
		texts_add(form->arena, &texts, form_text(form, with));
	/* ORDER BY can refer to the names of a set operation. */
	bool named = body->kind != QUERY_SELECT && query_child(query, QUERY_ORDER);
	texts_add(form->arena, &texts, form_body(form, body, top && !named));
	struct texts order = { 0 };
	add_order(form, body->kind == QUERY_SELECT ? body : NULL, query, &order);
	texts_add(form->arena, &texts, form_texts_join(form, "order(", &order, ")"));
	for (const struct query_node *child = body->next; child; child = child->next)
		if (child->kind != QUERY_ORDER && child->kind != QUERY_LIMIT)
			texts_add(form->arena, &texts, form_text(form, child));
	return form_texts_join(form, "query(", &texts, ")");
}

/* Outputs by their texts and by their nodes' addresses; the values are their places, from 1. */
struct places {
	struct hash_map by_text;
	struct hash_map by_node;
};

static str_t address_of(struct form *form, const struct query_node *node)
{
	const struct query_node **key = arena_alloc(form->arena, sizeof *key);
	*key = node;
	return (str_t){ (const char *)key, sizeof *key };
}

/* Up to the first star: behind it nobody can count. */
static void find_places(struct form *form, const struct query_node *select, struct places *places)
{
	int *place;
	int count = 0;
	hash_map_init(&places->by_text, form->arena, 16);
	hash_map_init(&places->by_node, form->arena, 16);
	const struct query_node *item = select ? query_child(select, QUERY_ITEMS)->first : NULL;
	for (; item && item->kind == QUERY_ITEM; item = item->next) {
		str_t text = form_text(form, item->first);
		place = ARENA_NEW(form->arena, int);
		*place = ++count;
		hash_map_set(&places->by_node, address_of(form, item), place);
		if (!hash_map_get(&places->by_text, text))
			hash_map_set(&places->by_text, text, place);
	}
}

/* Behind a set operation or brackets a name is that of an output. */
static const struct query_node *item_named(const struct query_node *select, const struct query_node *key)
{
	const struct query_node *found = NULL;
	if (key->kind != QUERY_COLUMN || str_present(key->qualifier))
		return NULL;
	for (const struct query_node *item = query_child(select, QUERY_ITEMS)->first; item;
	     item = item->next) {
		if (item->kind != QUERY_ITEM)
			return NULL;
		if (!identifier_same(query_item_name(item), key->name))
			continue;
		if (found)
			return NULL;
		found = item;
	}
	return found;
}

/* Place of what a key sorts by among the outputs, from 0; −1: not among them, or unknown. `behind`: the key
 * does not belong to the SELECT itself. */
static int key_column(struct form *form, const struct query_node *select, const struct query_node *key,
		      bool behind, const struct places *places)
{
	struct query_position position = query_position_of(key, form->options->dialect);
	const struct query_node *item = key->item ? key->item : query_position_item(select, position);
	if (!item && position.kind != QUERY_POSITION_NONE)
		return -1;
	if (!item && behind)
		item = item_named(select, key);
	const int *place = item	    ? hash_map_get(&places->by_node, address_of(form, item))
			   : behind ? NULL
				    : hash_map_get(&places->by_text, form_text(form, key));
	return place ? *place - 1 : -1;
}

static bool is_limited(const struct query_node *query)
{
	return query_child(query, QUERY_LIMIT) || query_child(query, QUERY_EXAMINED);
}

/* The query whose ORDER BY, if it has one, orders the result: brackets keep an order, and so does a LIMIT
 * behind them. */
static const struct query_node *find_order(const struct query_node *query, struct sql_analysis *analysis)
{
	analysis->limited = is_limited(query);
	while (!query_child(query, QUERY_ORDER) && query_body(query)->kind == QUERY_EXPRESSION) {
		query = query_body(query);
		analysis->limited |= is_limited(query);
	}
	analysis->ordered = query_child(query, QUERY_ORDER) != NULL;
	return query;
}

static void describe_order(struct form *form, const struct query_node *query, struct sql_analysis *analysis)
{
	const struct query_node *order = query_child(query, QUERY_ORDER);
	const struct query_node *select = query_first_select(query);
	bool behind = select != query_body(query);
	size_t capacity = 0;
	struct places places;
	if (!order)
		return;
	find_places(form, select, &places);
	for (const struct query_node *key = order->first; key; key = key->next) {
		int column = select ? key_column(form, select, key->first, behind, &places) : -1;
		bool position =
			query_position_of(key->first, form->options->dialect).kind != QUERY_POSITION_NONE;
		analysis->order_unsure = analysis->order_unsure || (position && column < 0);
		ARENA_PUSH(form->arena, analysis->order_keys, analysis->order_keys_count, capacity,
			   (struct sql_order_key){ .column = column,
						   .descending = key->flag,
						   .nulls_first = !key->flag == !key->op });
	}
}

static void gather(struct form *form, const struct query_node *body, struct parts *parts)
{
	if (body->kind == QUERY_SELECT) {
		collect(form, body, true, parts);
	} else if (body->kind == QUERY_SET) {
		for (const struct query_node *arm = body->first; arm; arm = arm->next) {
			if (arm->op)
				texts_add(form->arena, &parts->where, str_from(arm->op));
			gather(form, arm->first, parts);
		}
	} else if (body->kind == QUERY_EXPRESSION) {
		gather(form, query_body(body), parts);
		add_order(form, query_child(body, QUERY_SELECT), body, &parts->order);
	} else {
		texts_add(form->arena, &parts->items, form_text(form, body));
	}
}

static void set_clause(struct sql_analysis *analysis, enum sql_clause clause, struct texts *texts)
{
	texts_sort(texts);
	analysis->clauses[clause] = (struct sql_items){ texts->items, texts->count };
}

static void describe_clauses(struct form *form, const struct query_node *query, struct sql_analysis *analysis)
{
	struct parts parts = { 0 };
	const struct query_node *select = query_body(query);
	gather(form, query, &parts);
	if (select->kind == QUERY_SELECT && select->flag)
		texts_add(form->arena, &parts.items, STR("distinct"));
	set_clause(analysis, SQL_CLAUSE_SELECT, &parts.items);
	set_clause(analysis, SQL_CLAUSE_WHERE, &parts.where);
	set_clause(analysis, SQL_CLAUSE_FROM, &parts.tables);
	set_clause(analysis, SQL_CLAUSE_GROUP, &parts.group);
	set_clause(analysis, SQL_CLAUSE_ORDER, &parts.order);
	set_clause(analysis, SQL_CLAUSE_JOIN, &parts.joins);
}

static struct form form_begin(struct arena *arena, const struct query_canonical *options,
			      const struct query_node *root, bool masked)
{
	struct form form = { .arena = arena, .options = options, .masked = masked };
	hash_map_init(&form.ranges, arena, 16);
	hash_map_init(&form.names, arena, 16);
	form.texts = ARENA_ARRAY(arena, str_t, query_last_number(root) + 1);
	form_survey(&form, root);
	return form;
}

str_t query_shape_name(str_t text, struct arena *arena)
{
	char hex[DIGEST_HEX_SIZE];
	hash_sha256_hex(text.ptr, text.len, hex);
	return arena_text(arena, hex, 16);
}

void query_canonical(const struct query_node *root, const struct query_canonical *options,
		     struct arena *arena, struct sql_analysis *analysis)
{
	if (root->kind != QUERY_EXPRESSION)
		return;
	struct form form = form_begin(arena, options, root, false);
	str_t text = form_query(&form, root, true);
	const struct query_node *ordered = find_order(root, analysis);
	if (form.failed)
		return;
	describe_order(&form, ordered, analysis);
	if (!options->hides) {
		describe_clauses(&form, root, analysis);
		analysis->canonical = text;
	}
	struct form masked = form_begin(arena, options, root, true);
	str_t shape = form_query(&masked, root, true);
	if (!masked.failed)
		analysis->shape = query_shape_name(shape, arena);
}
