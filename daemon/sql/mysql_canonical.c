#include "sql/mysql_canonical.h"

#include "common/buf.h"
#include "sql/mysql_names.h"
#include "sql/scan.h"

#define MAX_BYTES ((size_t)4 << 20) /* of all texts built for one statement */

struct texts {
	str_t *items;
	size_t count, capacity;
};

struct canon {
	struct arena *arena;
	bool keep_aliases;	/* some name may refer to any of them */
	struct hash_map ranges; /* canonical name of a range's base to how many were before */
	struct hash_map names;	/* address of a range to its canonical name */
	size_t bytes;
	bool failed;
};

static str_t text_of(struct canon *canon, const struct mysql_node *node);

static int compare(const void *a, const void *b)
{
	const str_t *left = a, *right = b;
	size_t common = left->len < right->len ? left->len : right->len;
	int order = common ? memcmp(left->ptr, right->ptr, common) : 0;
	return order ? order : (left->len > right->len) - (left->len < right->len);
}

static void add(struct canon *canon, struct texts *texts, str_t text)
{
	ARENA_PUSH(canon->arena, texts->items, texts->count, texts->capacity, text);
}

static void sort(struct texts *texts)
{
	if (texts->count > 1)
		qsort(texts->items, texts->count, sizeof texts->items[0], compare);
}

/* `open` a, b, c `close` */
static str_t join(struct canon *canon, const char *open, const struct texts *texts, const char *close)
{
	size_t len = strlen(open) + strlen(close);
	for (size_t i = 0; i < texts->count; i++)
		len += texts->items[i].len + 2;
	canon->bytes += len;
	if (canon->bytes > MAX_BYTES)
		canon->failed = true;
	if (canon->failed)
		return STR("");
	char *joined = arena_alloc(canon->arena, len + 1);
	char *at = stpcpy(joined, open);
	for (size_t i = 0; i < texts->count; i++) {
		if (i > 0)
			at = stpcpy(at, ", ");
		at = mempcpy(at, texts->items[i].ptr, texts->items[i].len);
	}
	at = stpcpy(at, close);
	return (str_t){ joined, (size_t)(at - joined) };
}

/* A name or a value between quotes, so that nothing in it can look like anything else. */
static str_t quoted(struct canon *canon, str_t text, char quote)
{
	struct buf buf = BUF_INIT;
	buf_append_char(&buf, quote);
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == quote)
			buf_append_char(&buf, quote);
		buf_append_char(&buf, text.ptr[i]);
	}
	buf_append_char(&buf, quote);
	str_t result = arena_str(canon->arena, buf_str(&buf));
	buf_free(&buf);
	canon->bytes += result.len;
	return result;
}

static str_t identifier(struct canon *canon, str_t name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", name.ptr[i]))
			return quoted(canon, name, '`');
	return name.len ? name : STR("``");
}

static str_t base_of(struct canon *canon, const struct mysql_range *range)
{
	switch (range->kind) {
	case MYSQL_RANGE_DERIVED:
		return STR("derived");
	case MYSQL_RANGE_CTE:
		return arena_printf(canon->arena, "with:" STR_FMT,
				    STR_ARG(identifier(canon, mysql_lower(range->name, canon->arena))));
	case MYSQL_RANGE_RELATION:
	case MYSQL_RANGE_OUTPUT:
	default:
		break;
	}
	str_t name = identifier(canon, range->name);
	if (!str_present(range->schema))
		return name;
	str_t schema = identifier(canon, range->schema);
	return arena_printf(canon->arena, STR_FMT "." STR_FMT, STR_ARG(schema), STR_ARG(name));
}

/* What a range is called: its relation, with a number where it is there several times. Numbers go by the
 * order of the text. */
static str_t range_name(struct canon *canon, const struct mysql_range *range)
{
	const struct mysql_range **key = arena_alloc(canon->arena, sizeof *key);
	*key = range;
	str_t address = { (const char *)key, sizeof *key };
	str_t *known = hash_map_get(&canon->names, address);
	if (known)
		return *known;
	str_t base = base_of(canon, range);
	size_t *before = hash_map_get(&canon->ranges, base);
	if (!before) {
		before = ARENA_NEW(canon->arena, size_t);
		hash_map_set(&canon->ranges, base, before);
	}
	str_t *name = ARENA_NEW(canon->arena, str_t);
	*name = ++*before == 1 ? base : arena_printf(canon->arena, STR_FMT "#%zu", STR_ARG(base), *before);
	hash_map_set(&canon->names, address, name);
	return *name;
}

/* Ranges get their numbers in the order of the text, and an unresolved name keeps all aliases. */
static void survey(struct canon *canon, const struct mysql_node *node)
{
	if (node->kind == MYSQL_RELATION || node->kind == MYSQL_DERIVED) {
		if (node->range)
			(void)range_name(canon, node->range);
	} else if (node->kind == MYSQL_COLUMN && !node->range) {
		canon->keep_aliases = true;
	} else if (node->kind == MYSQL_USING || (node->kind == MYSQL_JOIN && node->op[0] == 'n')) {
		canon->keep_aliases = true;
	}
	for (const struct mysql_node *child = node->first; child; child = child->next)
		survey(canon, child);
}

static str_t column_text(struct canon *canon, const struct mysql_node *column)
{
	struct texts parts = { 0 };
	str_t name = identifier(canon, mysql_lower(column->name, canon->arena));
	if (column->range && column->range->kind == MYSQL_RANGE_OUTPUT)
		return arena_printf(canon->arena, "output:" STR_FMT, STR_ARG(name));
	if (column->range) {
		str_t range = range_name(canon, column->range);
		return arena_printf(canon->arena, STR_FMT "." STR_FMT, STR_ARG(range), STR_ARG(name));
	}
	if (str_present(column->schema))
		add(canon, &parts, identifier(canon, column->schema));
	if (str_present(column->qualifier))
		add(canon, &parts, identifier(canon, column->qualifier));
	add(canon, &parts, name);
	return join(canon, "name(", &parts, ")");
}

static str_t literal_text(struct canon *canon, const struct mysql_node *literal)
{
	bool plain = strcmp(literal->op, "number") == 0;
	if (plain)
		return mysql_lower(literal->name, canon->arena);
	if (strcmp(literal->op, "null") == 0 || strcmp(literal->op, "true") == 0 ||
	    strcmp(literal->op, "false") == 0)
		return str_from(literal->op);
	str_t value = quoted(canon, literal->name, '\'');
	if (strcmp(literal->op, "string") == 0)
		return value;
	return arena_printf(canon->arena, "%s " STR_FMT, literal->op, STR_ARG(value));
}

static void add_children(struct canon *canon, const struct mysql_node *node, struct texts *texts)
{
	for (const struct mysql_node *child = node->first; child && !canon->failed; child = child->next)
		add(canon, texts, text_of(canon, child));
}

/* Operands whose order does not matter are sorted; > and >= are turned around. */
static str_t operation_text(struct canon *canon, const struct mysql_node *node)
{
	static const char *const commutative[] = { "and", "or", "xor", "=", "<=>", "<>", "+", "*" };
	const char *op = node->op;
	struct texts operands = { 0 };
	add_children(canon, node, &operands);
	if ((strcmp(op, ">") == 0 || strcmp(op, ">=") == 0) && operands.count == 2) {
		str_t left = operands.items[0];
		operands.items[0] = operands.items[1];
		operands.items[1] = left;
		op = op[1] ? "<=" : "<";
	}
	for (size_t i = 0; i < sizeof commutative / sizeof commutative[0]; i++)
		if (strcmp(op, commutative[i]) == 0)
			sort(&operands);
	char open[24];
	snprintf(open, sizeof open, "%s(", strcmp(op, "!") == 0 ? "not" : op);
	return join(canon, open, &operands, ")");
}

static void add_conditions(struct canon *canon, const struct mysql_node *node, struct texts *texts)
{
	if (node->kind != MYSQL_OPERATION || strcmp(node->op, "and") != 0) {
		add(canon, texts, text_of(canon, node));
		return;
	}
	for (const struct mysql_node *part = node->first; part; part = part->next)
		add_conditions(canon, part, texts);
}

/* Comma and inner joins are a set of tables and a set of conditions; all else keeps its shape. */
static void add_from(struct canon *canon, const struct mysql_node *node, struct texts *tables,
		     struct texts *conditions)
{
	bool inner = node->kind == MYSQL_FROM || (node->kind == MYSQL_JOIN && strcmp(node->op, "join") == 0 &&
						  !mysql_child(node, MYSQL_USING));
	if (!inner) {
		add(canon, tables, text_of(canon, node));
		return;
	}
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind == MYSQL_ON)
			add_conditions(canon, child->first, conditions);
		else
			add_from(canon, child, tables, conditions);
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

static str_t sort_text(struct canon *canon, const struct mysql_node *select, const struct mysql_node *sorting)
{
	const struct mysql_node *item = key_item(select, sorting->first);
	str_t key = item ? text_of(canon, item->first) : text_of(canon, sorting->first);
	return sorting->flag ? arena_printf(canon->arena, "desc(" STR_FMT ")", STR_ARG(key)) : key;
}

/* What a SELECT is made of. */
struct parts {
	struct texts items, tables, joins, where, group, order;
};

static str_t item_text(struct canon *canon, const struct mysql_node *item, bool top)
{
	str_t text = text_of(canon, item->kind == MYSQL_ITEM ? item->first : item);
	if (item->kind == MYSQL_STAR || (top && !canon->keep_aliases))
		return text;
	str_t name = str_present(item->alias)		 ? item->alias
		     : item->first->kind == MYSQL_COLUMN ? item->first->name
							 : item->name;
	str_t quoted_name = quoted(canon, mysql_lower(name, canon->arena), '`');
	return arena_printf(canon->arena, STR_FMT " as " STR_FMT, STR_ARG(text), STR_ARG(quoted_name));
}

static void add_order(struct canon *canon, const struct mysql_node *select, const struct mysql_node *query,
		      struct texts *order)
{
	const struct mysql_node *keys = mysql_child(query, MYSQL_ORDER);
	const struct mysql_node *limit = mysql_child(query, MYSQL_LIMIT);
	for (const struct mysql_node *key = keys ? keys->first : NULL; key; key = key->next)
		add(canon, order, sort_text(canon, select, key));
	if (limit)
		add(canon, order, text_of(canon, limit));
}

static void collect(struct canon *canon, const struct mysql_node *select, bool top, struct parts *parts)
{
	const struct mysql_node *from = mysql_child(select, MYSQL_FROM);
	const struct mysql_node *where = mysql_child(select, MYSQL_WHERE);
	const struct mysql_node *group = mysql_child(select, MYSQL_GROUP);
	const struct mysql_node *having = mysql_child(select, MYSQL_HAVING);
	for (const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first; item; item = item->next)
		add(canon, &parts->items, item_text(canon, item, top));
	if (from) {
		add_from(canon, from, &parts->tables, &parts->joins);
		if (!has_bare_star(select))
			sort(&parts->tables);
	}
	if (where)
		add_conditions(canon, where->first, &parts->where);
	for (const struct mysql_node *key = group ? group->first : NULL; key; key = key->next)
		add(canon, &parts->group, sort_text(canon, select, key));
	if (group && group->flag)
		add(canon, &parts->group, STR("rollup"));
	if (having) {
		struct texts conditions = { 0 };
		add_conditions(canon, having->first, &conditions);
		sort(&conditions);
		add(canon, &parts->where, join(canon, "having(", &conditions, ")"));
	}
	sort(&parts->joins);
	sort(&parts->where);
}

static str_t select_text(struct canon *canon, const struct mysql_node *select, const struct parts *parts)
{
	struct texts texts = { 0 };
	const struct mysql_node *windows = mysql_child(select, MYSQL_WINDOWS);
	add(canon, &texts, join(canon, select->flag ? "distinct(" : "items(", &parts->items, ")"));
	add(canon, &texts, join(canon, "from(", &parts->tables, ")"));
	add(canon, &texts, join(canon, "joins(", &parts->joins, ")"));
	add(canon, &texts, join(canon, "where(", &parts->where, ")"));
	add(canon, &texts, join(canon, "group(", &parts->group, ")"));
	if (windows)
		add(canon, &texts, text_of(canon, windows));
	return join(canon, "select(", &texts, ")");
}

static str_t body_text(struct canon *canon, const struct mysql_node *body, bool top)
{
	if (body->kind == MYSQL_SELECT) {
		struct parts parts = { 0 };
		collect(canon, body, top, &parts);
		return select_text(canon, body, &parts);
	}
	if (body->kind != MYSQL_SET)
		return text_of(canon, body);
	struct texts arms = { 0 };
	for (const struct mysql_node *arm = body->first; arm; arm = arm->next) {
		/* Names of the first arm can be referred to. */
		str_t text = body_text(canon, arm->first, false);
		add(canon, &arms,
		    arena_printf(canon->arena, "%s " STR_FMT, arm->op ? arm->op : "first", STR_ARG(text)));
	}
	return join(canon, "set(", &arms, ")");
}

static str_t query_text(struct canon *canon, const struct mysql_node *query, bool top)
{
	struct texts texts = { 0 };
	const struct mysql_node *with = mysql_child(query, MYSQL_WITH);
	const struct mysql_node *body = with ? with->next : query->first;
	if (with)
		add(canon, &texts, text_of(canon, with));
	add(canon, &texts, body_text(canon, body, top));
	struct texts order = { 0 };
	add_order(canon, body->kind == MYSQL_SELECT ? body : NULL, query, &order);
	add(canon, &texts, join(canon, "order(", &order, ")"));
	for (const struct mysql_node *child = body->next; child; child = child->next)
		if (child->kind != MYSQL_ORDER && child->kind != MYSQL_LIMIT)
			add(canon, &texts, text_of(canon, child));
	return join(canon, "query(", &texts, ")");
}

static str_t reference_text(struct canon *canon, const struct mysql_node *node)
{
	struct texts texts = { 0 };
	if (!node->range)
		return node->op ? STR("dual") : STR("relation");
	add(canon, &texts, range_name(canon, node->range));
	if (canon->keep_aliases)
		add(canon, &texts, quoted(canon, node->range->alias, '`'));
	add_children(canon, node, &texts);
	return texts.count == 1 ? texts.items[0]
				: join(canon, node->flag ? "lateral(" : "table(", &texts, ")");
}

static str_t star_text(struct canon *canon, const struct mysql_node *star)
{
	struct texts texts = { 0 };
	if (star->range)
		add(canon, &texts, range_name(canon, star->range));
	else if (str_present(star->qualifier))
		add(canon, &texts, quoted(canon, star->qualifier, '`'));
	return join(canon, "*(", &texts, ")");
}

/* Any other node: kind, words and children as they are. */
static str_t plain_text(struct canon *canon, const struct mysql_node *node)
{
	struct texts texts = { 0 };
	if (str_present(node->schema))
		add(canon, &texts, quoted(canon, mysql_lower(node->schema, canon->arena), '`'));
	if (str_present(node->qualifier))
		add(canon, &texts, quoted(canon, node->qualifier, '`'));
	if (str_present(node->alias))
		add(canon, &texts, quoted(canon, node->alias, '`'));
	add_children(canon, node, &texts);
	str_t name = str_present(node->name)
			     ? node->kind == MYSQL_SEPARATOR
				       ? quoted(canon, node->name, '\'')
				       : identifier(canon, mysql_lower(node->name, canon->arena))
			     : STR("");
	str_t open =
		arena_printf(canon->arena, "%d%s%s%s " STR_FMT "(", (int)node->kind, node->flag ? "!" : "",
			     node->op ? " " : "", node->op ? node->op : "", STR_ARG(name));
	return join(canon, open.ptr, &texts, ")");
}

static str_t text_of(struct canon *canon, const struct mysql_node *node)
{
	if (canon->failed)
		return STR("");
	switch (node->kind) {
	case MYSQL_QUERY:
		return query_text(canon, node, false);
	case MYSQL_SELECT:
	case MYSQL_SET:
		return body_text(canon, node, false);
	case MYSQL_LITERAL:
		return literal_text(canon, node);
	case MYSQL_COLUMN:
		return column_text(canon, node);
	case MYSQL_OPERATION:
		return operation_text(canon, node);
	case MYSQL_RELATION:
	case MYSQL_DERIVED:
		return reference_text(canon, node);
	case MYSQL_STAR:
		return star_text(canon, node);
	default:
		return plain_text(canon, node);
	}
}

/* Position of what a key sorts by among the outputs, from 0; −1: not among them. */
static int key_column(struct canon *canon, const struct mysql_node *select, const struct mysql_node *key)
{
	const struct mysql_node *positioned = key_item(select, key);
	str_t text = text_of(canon, key);
	int index = 0;
	for (const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first; item;
	     item = item->next, index++) {
		if (item->kind == MYSQL_STAR)
			return -1;
		bool named = key->kind == MYSQL_COLUMN && !str_present(key->qualifier) &&
			     mysql_same(str_present(item->alias) ? item->alias : item->name, key->name);
		if (item == positioned || named || str_equal(text, text_of(canon, item->first)))
			return index;
	}
	return -1;
}

static void describe_order(struct canon *canon, const struct mysql_node *query, struct sql_analysis *analysis)
{
	const struct mysql_node *order = mysql_child(query, MYSQL_ORDER);
	const struct mysql_node *select = mysql_child(query, MYSQL_SELECT);
	size_t capacity = 0;
	analysis->ordered = order != NULL;
	analysis->limited = mysql_child(query, MYSQL_LIMIT) != NULL;
	for (const struct mysql_node *key = order ? order->first : NULL; key; key = key->next)
		ARENA_PUSH(
			canon->arena, analysis->order_keys, analysis->order_keys_count, capacity,
			(struct sql_order_key){ .column = select ? key_column(canon, select, key->first) : -1,
						.descending = key->flag,
						.nulls_first = !key->flag });
}

static void gather(struct canon *canon, const struct mysql_node *body, struct parts *parts)
{
	if (body->kind == MYSQL_SELECT) {
		collect(canon, body, true, parts);
	} else if (body->kind == MYSQL_SET) {
		for (const struct mysql_node *arm = body->first; arm; arm = arm->next) {
			if (arm->op)
				add(canon, &parts->where, str_from(arm->op));
			gather(canon, arm->first, parts);
		}
	} else if (body->kind == MYSQL_QUERY) {
		const struct mysql_node *with = mysql_child(body, MYSQL_WITH);
		gather(canon, with ? with->next : body->first, parts);
		add_order(canon, mysql_child(body, MYSQL_SELECT), body, &parts->order);
	} else {
		add(canon, &parts->items, text_of(canon, body));
	}
}

static void set_clause(struct sql_analysis *analysis, enum sql_clause clause, struct texts *texts)
{
	sort(texts);
	analysis->clauses[clause] = (struct sql_items){ texts->items, texts->count };
}

static void describe_clauses(struct canon *canon, const struct mysql_node *query,
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

/* The tokens as they are: only white space, comments and the case of plain words vanish. */
static str_t token_text(struct canon *canon, str_t text)
{
	struct buf buf = BUF_INIT;
	struct scan_token token = scan_next(text, 0, SQL_MYSQL);
	buf_append_text(&buf, "text:");
	for (; token.kind != SCAN_END; token = scan_next(text, token.offset + token.len, SQL_MYSQL)) {
		buf_append_char(&buf, ' ');
		buf_append(&buf, text.ptr + token.offset, token.len);
	}
	str_t result = arena_str(canon->arena, buf_str(&buf));
	buf_free(&buf);
	return result;
}

void mysql_canonical_build(const struct mysql_node *root, struct arena *arena, struct sql_analysis *analysis)
{
	struct canon canon = { .arena = arena };
	hash_map_init(&canon.ranges, arena, 16);
	hash_map_init(&canon.names, arena, 16);
	survey(&canon, root);
	bool query = root->kind == MYSQL_QUERY;
	str_t text = query ? query_text(&canon, root, true) : STR("");
	if (query && !canon.failed) {
		describe_clauses(&canon, root, analysis);
		describe_order(&canon, root, analysis);
	}
	analysis->canonical = query && !canon.failed ? text : token_text(&canon, analysis->text);
	analysis->ordered = query && mysql_child(root, MYSQL_ORDER);
	analysis->limited = query && mysql_child(root, MYSQL_LIMIT);
}
