#include "sql/mysql/canonical.h"

#include "common/buf.h"
#include "sql/mysql/canonical_internal.h"
#include "sql/mysql/lexer.h"

/* Whether a condition speaks of columns of two tables, outside of subqueries. */
static bool joins_ranges(const struct mysql_node *node, const struct mysql_range **one)
{
	if (node->kind == MYSQL_COLUMN && node->range) {
		if (*one && *one != node->range)
			return true;
		*one = node->range;
	}
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind != MYSQL_QUERY && joins_ranges(child, one))
			return true;
	return false;
}

/* Parts of a conjunction; where they stand (ON of an inner join, WHERE) makes no difference. */
static void add_conditions(struct mysql_canon *canon, const struct mysql_node *node,
			   struct mysql_texts *joins, struct mysql_texts *where)
{
	if (node->kind == MYSQL_OPERATION && strcmp(node->op, "and") == 0) {
		for (const struct mysql_node *part = node->first; part; part = part->next)
			add_conditions(canon, part, joins, where);
		return;
	}
	const struct mysql_range *one = NULL;
	mysql_texts_add(canon, joins_ranges(node, &one) ? joins : where, mysql_canon_text(canon, node));
}

/* Comma and inner joins are a set of tables and a set of conditions; all else keeps its shape. */
static void add_from(struct mysql_canon *canon, const struct mysql_node *node, struct mysql_texts *tables,
		     struct mysql_texts *joins, struct mysql_texts *where)
{
	bool inner = node->kind == MYSQL_FROM || (node->kind == MYSQL_JOIN && strcmp(node->op, "join") == 0 &&
						  !mysql_child(node, MYSQL_USING));
	if (!inner) {
		mysql_texts_add(canon, tables, mysql_canon_text(canon, node));
		return;
	}
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind == MYSQL_ON)
			add_conditions(canon, child->first, joins, where);
		else
			add_from(canon, child, tables, joins, where);
}

static bool has_bare_star(const struct mysql_node *select)
{
	const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first;
	return item->kind == MYSQL_STAR && !str_present(item->qualifier);
}

static const struct mysql_node *item_at(const struct mysql_node *select, long position)
{
	const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first;
	for (long i = 1; item && i < position; i++) {
		if (item->kind == MYSQL_STAR)
			return NULL;
		item = item->next;
	}
	return position >= 1 && item && item->kind == MYSQL_ITEM ? item : NULL;
}

static bool is_number(const struct mysql_node *node)
{
	return node->kind == MYSQL_LITERAL && strcmp(node->op, "number") == 0;
}

/* The output that a key of GROUP BY or ORDER BY stands for: by its position, or by an alias that cannot be
 * anything else. NULL: none. */
static const struct mysql_node *key_item(const struct mysql_node *select, const struct mysql_node *key)
{
	if (!select)
		return NULL;
	if (is_number(key))
		return item_at(select, strtol(key->name.ptr, NULL, 10));
	return NULL;
}

static str_t sort_text(struct mysql_canon *canon, const struct mysql_node *select,
		       const struct mysql_node *sorting)
{
	const struct mysql_node *item = key_item(select, sorting->first);
	str_t key = item ? mysql_canon_text(canon, item->first) : mysql_canon_text(canon, sorting->first);
	return sorting->flag ? arena_printf(canon->arena, "desc(" STR_FMT ")", STR_ARG(key)) : key;
}

/* What a SELECT is made of. */
struct parts {
	struct mysql_texts items, tables, joins, where, group, order;
};

static str_t item_text(struct mysql_canon *canon, const struct mysql_node *item, bool top)
{
	str_t text = mysql_canon_text(canon, item->kind == MYSQL_ITEM ? item->first : item);
	if (item->kind == MYSQL_STAR || (top && !canon->keep_aliases))
		return text;
	str_t name = str_present(item->alias)		 ? item->alias
		     : item->first->kind == MYSQL_COLUMN ? item->first->name
							 : item->name;
	str_t quoted_name = mysql_canon_quoted(canon, mysql_lower(name, canon->arena), '`');
	return arena_printf(canon->arena, STR_FMT " as " STR_FMT, STR_ARG(text), STR_ARG(quoted_name));
}

static void add_order(struct mysql_canon *canon, const struct mysql_node *select,
		      const struct mysql_node *query, struct mysql_texts *order)
{
	const struct mysql_node *keys = mysql_child(query, MYSQL_ORDER);
	const struct mysql_node *limit = mysql_child(query, MYSQL_LIMIT);
	for (const struct mysql_node *key = keys ? keys->first : NULL; key; key = key->next)
		mysql_texts_add(canon, order, sort_text(canon, select, key));
	if (limit)
		mysql_texts_add(canon, order, mysql_canon_text(canon, limit));
}

static void collect(struct mysql_canon *canon, const struct mysql_node *select, bool top, struct parts *parts)
{
	const struct mysql_node *from = mysql_child(select, MYSQL_FROM);
	const struct mysql_node *where = mysql_child(select, MYSQL_WHERE);
	const struct mysql_node *group = mysql_child(select, MYSQL_GROUP);
	const struct mysql_node *having = mysql_child(select, MYSQL_HAVING);
	for (const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first; item; item = item->next)
		mysql_texts_add(canon, &parts->items, item_text(canon, item, top));
	if (from)
		add_from(canon, from, &parts->tables, &parts->joins, &parts->where);
	if (where)
		add_conditions(canon, where->first, &parts->joins, &parts->where);
	for (const struct mysql_node *key = group ? group->first : NULL; key; key = key->next)
		mysql_texts_add(canon, &parts->group, sort_text(canon, select, key));
	if (group && group->flag)
		mysql_texts_add(canon, &parts->group, STR("rollup"));
	if (having) {
		struct mysql_texts conditions = { 0 };
		add_conditions(canon, having->first, &conditions, &conditions);
		mysql_texts_sort(&conditions);
		mysql_texts_add(canon, &parts->where, mysql_texts_join(canon, "having(", &conditions, ")"));
	}
}

static str_t select_text(struct mysql_canon *canon, const struct mysql_node *select,
			 const struct parts *parts)
{
	struct mysql_texts texts = { 0 };
	const struct mysql_node *windows = mysql_child(select, MYSQL_WINDOWS);
	mysql_texts_add(canon, &texts,
			mysql_texts_join(canon, select->flag ? "distinct(" : "items(", &parts->items, ")"));
	mysql_texts_add(canon, &texts, mysql_texts_join(canon, "from(", &parts->tables, ")"));
	mysql_texts_add(canon, &texts, mysql_texts_join(canon, "joins(", &parts->joins, ")"));
	mysql_texts_add(canon, &texts, mysql_texts_join(canon, "where(", &parts->where, ")"));
	mysql_texts_add(canon, &texts, mysql_texts_join(canon, "group(", &parts->group, ")"));
	if (windows)
		mysql_texts_add(canon, &texts, mysql_canon_text(canon, windows));
	return mysql_texts_join(canon, "select(", &texts, ")");
}

str_t mysql_canon_body(struct mysql_canon *canon, const struct mysql_node *body, bool top)
{
	if (body->kind == MYSQL_SELECT) {
		struct parts parts = { 0 };
		collect(canon, body, top, &parts);
		if (!has_bare_star(body))
			mysql_texts_sort(&parts.tables);
		mysql_texts_sort(&parts.joins);
		mysql_texts_sort(&parts.where);
		return select_text(canon, body, &parts);
	}
	if (body->kind != MYSQL_SET)
		return mysql_canon_text(canon, body);
	struct mysql_texts arms = { 0 };
	for (const struct mysql_node *arm = body->first; arm; arm = arm->next) {
		/* Names of the first arm can be referred to. */
		str_t text = mysql_canon_body(canon, arm->first, false);
		mysql_texts_add(canon, &arms,
				arena_printf(canon->arena, "%s " STR_FMT, arm->op ? arm->op : "first",
					     STR_ARG(text)));
	}
	return mysql_texts_join(canon, "set(", &arms, ")");
}

str_t mysql_canon_query(struct mysql_canon *canon, const struct mysql_node *query, bool top)
{
	while (query->first->kind == MYSQL_QUERY && !query->first->next) /* in brackets: itself */
		query = query->first;
	struct mysql_texts texts = { 0 };
	const struct mysql_node *with = mysql_child(query, MYSQL_WITH);
	const struct mysql_node *body = with ? with->next : query->first;
	if (with)
		mysql_texts_add(canon, &texts, mysql_canon_text(canon, with));
	mysql_texts_add(canon, &texts, mysql_canon_body(canon, body, top));
	struct mysql_texts order = { 0 };
	add_order(canon, body->kind == MYSQL_SELECT ? body : NULL, query, &order);
	mysql_texts_add(canon, &texts, mysql_texts_join(canon, "order(", &order, ")"));
	for (const struct mysql_node *child = body->next; child; child = child->next)
		if (child->kind != MYSQL_ORDER && child->kind != MYSQL_LIMIT)
			mysql_texts_add(canon, &texts, mysql_canon_text(canon, child));
	return mysql_texts_join(canon, "query(", &texts, ")");
}

/* Outputs by their texts and by their nodes' addresses; the values are their places, from 1. */
struct places {
	struct hash_map by_text;
	struct hash_map by_node;
};

static str_t address_of(struct mysql_canon *canon, const struct mysql_node *node)
{
	const struct mysql_node **key = arena_alloc(canon->arena, sizeof *key);
	*key = node;
	return (str_t){ (const char *)key, sizeof *key };
}

/* Up to the first star: behind it nobody can count. */
static void find_places(struct mysql_canon *canon, const struct mysql_node *select, struct places *places)
{
	int *place;
	int count = 0;
	hash_map_init(&places->by_text, canon->arena, 16);
	hash_map_init(&places->by_node, canon->arena, 16);
	const struct mysql_node *item = select ? mysql_child(select, MYSQL_ITEMS)->first : NULL;
	for (; item && item->kind == MYSQL_ITEM; item = item->next) {
		str_t text = mysql_canon_text(canon, item->first);
		place = ARENA_NEW(canon->arena, int);
		*place = ++count;
		hash_map_set(&places->by_node, address_of(canon, item), place);
		if (!hash_map_get(&places->by_text, text))
			hash_map_set(&places->by_text, text, place);
	}
}

static const struct mysql_node *body_of(const struct mysql_node *query)
{
	const struct mysql_node *with = mysql_child(query, MYSQL_WITH);
	return with ? with->next : query->first;
}

/* The one that names the outputs, or NULL. */
static const struct mysql_node *first_select(const struct mysql_node *query)
{
	const struct mysql_node *body = query;
	while (body && (body->kind == MYSQL_SET || body->kind == MYSQL_ARM || body->kind == MYSQL_QUERY))
		body = body->kind == MYSQL_QUERY ? body_of(body) : body->first;
	return body && body->kind == MYSQL_SELECT ? body : NULL;
}

/* Behind a set operation or brackets a name is that of an output. */
static const struct mysql_node *item_named(const struct mysql_node *select, const struct mysql_node *key)
{
	const struct mysql_node *found = NULL;
	if (key->kind != MYSQL_COLUMN || str_present(key->qualifier))
		return NULL;
	for (const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first; item;
	     item = item->next) {
		if (item->kind != MYSQL_ITEM)
			return NULL;
		str_t name = str_present(item->alias)		 ? item->alias
			     : item->first->kind == MYSQL_COLUMN ? item->first->name
								 : item->name;
		if (!mysql_same(name, key->name))
			continue;
		if (found)
			return NULL;
		found = item;
	}
	return found;
}

/* Place of what a key sorts by among the outputs, from 0; −1: not among them. `behind`: the key does not
 * belong to the SELECT itself. */
static int key_column(struct mysql_canon *canon, const struct mysql_node *select,
		      const struct mysql_node *key, bool behind, const struct places *places)
{
	const struct mysql_node *item = key->item ? key->item : key_item(select, key);
	if (!item && behind)
		item = item_named(select, key);
	const int *place = item	    ? hash_map_get(&places->by_node, address_of(canon, item))
			   : behind ? NULL
				    : hash_map_get(&places->by_text, mysql_canon_text(canon, key));
	return place ? *place - 1 : -1;
}

static bool is_limited(const struct mysql_node *query)
{
	return mysql_child(query, MYSQL_LIMIT) || mysql_child(query, MYSQL_EXAMINED);
}

/* The query whose ORDER BY, if it has one, orders the result: brackets keep an order, and so does a LIMIT
 * behind them. */
static const struct mysql_node *find_order(const struct mysql_node *query, struct sql_analysis *analysis)
{
	analysis->limited = is_limited(query);
	while (!mysql_child(query, MYSQL_ORDER) && body_of(query)->kind == MYSQL_QUERY) {
		query = body_of(query);
		analysis->limited |= is_limited(query);
	}
	analysis->ordered = mysql_child(query, MYSQL_ORDER) != NULL;
	return query;
}

static void describe_order(struct mysql_canon *canon, const struct mysql_node *query,
			   struct sql_analysis *analysis)
{
	const struct mysql_node *order = mysql_child(query, MYSQL_ORDER);
	const struct mysql_node *select = first_select(query);
	bool behind = select != body_of(query);
	size_t capacity = 0;
	struct places places;
	if (!order)
		return;
	find_places(canon, select, &places);
	for (const struct mysql_node *key = order->first; key; key = key->next)
		ARENA_PUSH(canon->arena, analysis->order_keys, analysis->order_keys_count, capacity,
			   (struct sql_order_key){
				   .column = select ? key_column(canon, select, key->first, behind, &places)
						    : -1,
				   .descending = key->flag,
				   .nulls_first = !key->flag });
}

static void gather(struct mysql_canon *canon, const struct mysql_node *body, struct parts *parts)
{
	if (body->kind == MYSQL_SELECT) {
		collect(canon, body, true, parts);
	} else if (body->kind == MYSQL_SET) {
		for (const struct mysql_node *arm = body->first; arm; arm = arm->next) {
			if (arm->op)
				mysql_texts_add(canon, &parts->where, str_from(arm->op));
			gather(canon, arm->first, parts);
		}
	} else if (body->kind == MYSQL_QUERY) {
		const struct mysql_node *with = mysql_child(body, MYSQL_WITH);
		gather(canon, with ? with->next : body->first, parts);
		add_order(canon, mysql_child(body, MYSQL_SELECT), body, &parts->order);
	} else {
		mysql_texts_add(canon, &parts->items, mysql_canon_text(canon, body));
	}
}

static void set_clause(struct sql_analysis *analysis, enum sql_clause clause, struct mysql_texts *texts)
{
	mysql_texts_sort(texts);
	analysis->clauses[clause] = (struct sql_items){ texts->items, texts->count };
}

static void describe_clauses(struct mysql_canon *canon, const struct mysql_node *query,
			     struct sql_analysis *analysis)
{
	struct parts parts = { 0 };
	gather(canon, query, &parts);
	set_clause(analysis, SQL_CLAUSE_SELECT, &parts.items);
	set_clause(analysis, SQL_CLAUSE_WHERE, &parts.where);
	set_clause(analysis, SQL_CLAUSE_FROM, &parts.tables);
	set_clause(analysis, SQL_CLAUSE_GROUP, &parts.group);
	set_clause(analysis, SQL_CLAUSE_ORDER, &parts.order);
	set_clause(analysis, SQL_CLAUSE_JOIN, &parts.joins);
}

/* The tokens as they are: only white space and comments vanish. */
static str_t token_text(struct arena *arena, str_t text, bool masked)
{
	struct mysql_tokens tokens;
	struct mysql_failure failure;
	struct buf buf = BUF_INIT;
	(void)mysql_tokens_read(text, MYSQL_ANY_MODE, arena, &tokens, &failure);
	buf_append_text(&buf, "text:");
	for (size_t i = 0; i < tokens.count; i++) {
		const struct mysql_token *token = &tokens.items[i];
		bool literal = token->kind == MYSQL_TOKEN_STRING || token->kind == MYSQL_TOKEN_NUMBER ||
			       token->kind == MYSQL_TOKEN_HEX || token->kind == MYSQL_TOKEN_BITS;
		buf_append_char(&buf, ' ');
		if (masked && literal)
			buf_append_char(&buf, '?');
		else
			buf_append(&buf, text.ptr + token->offset, token->len);
	}
	str_t result = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return result;
}

static struct mysql_canon canon_begin(struct arena *arena, const struct mysql_node *root, bool masked)
{
	struct mysql_canon canon = { .arena = arena, .masked = masked };
	hash_map_init(&canon.ranges, arena, 16);
	hash_map_init(&canon.names, arena, 16);
	canon.texts = ARENA_ARRAY(arena, str_t, mysql_last_number(root) + 1);
	mysql_canon_survey(&canon, root);
	return canon;
}

static str_t short_digest(struct arena *arena, str_t text)
{
	char hex[DIGEST_HEX_SIZE];
	digest_sha256_hex(text.ptr, text.len, hex);
	return arena_text(arena, hex, 16);
}

static str_t shape_of(const struct mysql_node *root, struct arena *arena, str_t text)
{
	struct mysql_canon canon = canon_begin(arena, root, true);
	str_t shape = root->kind == MYSQL_QUERY ? mysql_canon_query(&canon, root, true) : STR("");
	bool usable = root->kind == MYSQL_QUERY && !canon.failed;
	return short_digest(arena, usable ? shape : token_text(arena, text, true));
}

void mysql_canonical_build(const struct mysql_node *root, struct arena *arena, struct sql_analysis *analysis)
{
	struct mysql_canon canon = canon_begin(arena, root, false);
	bool query = root->kind == MYSQL_QUERY;
	str_t text = query ? mysql_canon_query(&canon, root, true) : STR("");
	if (query && !canon.failed) {
		describe_clauses(&canon, root, analysis);
		describe_order(&canon, find_order(root, analysis), analysis);
	} else if (query) {
		(void)find_order(root, analysis);
	}
	analysis->canonical = query && !canon.failed ? text : token_text(arena, analysis->text, false);
	analysis->shape = shape_of(root, arena, analysis->text);
}
