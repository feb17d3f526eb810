#include "sql/mysql/canonical_internal.h"

#include "common/buf.h"

#define MAX_BYTES ((size_t)4 << 20) /* of all texts built for one statement */

static int compare(const void *a, const void *b)
{
	const str_t *left = a, *right = b;
	size_t common = left->len < right->len ? left->len : right->len;
	int order = common ? memcmp(left->ptr, right->ptr, common) : 0;
	return order ? order : (left->len > right->len) - (left->len < right->len);
}

void mysql_texts_add(struct mysql_canon *canon, struct mysql_texts *texts, str_t text)
{
	ARENA_PUSH(canon->arena, texts->items, texts->count, texts->capacity, text);
}

void mysql_texts_sort(struct mysql_texts *texts)
{
	if (texts->count > 1)
		qsort(texts->items, texts->count, sizeof texts->items[0], compare);
}

/* `open` a, b, c `close` */
str_t mysql_texts_join(struct mysql_canon *canon, const char *open, const struct mysql_texts *texts,
		       const char *close)
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
str_t mysql_canon_quoted(struct mysql_canon *canon, str_t text, char quote)
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

static str_t identifier(struct mysql_canon *canon, str_t name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", name.ptr[i]))
			return mysql_canon_quoted(canon, name, '`');
	return name.len ? name : STR("``");
}

static str_t base_of(struct mysql_canon *canon, const struct mysql_range *range)
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
static str_t range_name(struct mysql_canon *canon, const struct mysql_range *range)
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
void mysql_canon_survey(struct mysql_canon *canon, const struct mysql_node *node)
{
	if (node->kind == MYSQL_RELATION || node->kind == MYSQL_DERIVED) {
		if (node->range)
			(void)range_name(canon, node->range);
	} else if (node->kind == MYSQL_COLUMN && !node->range && !node->item) {
		canon->keep_aliases = true;
	} else if (node->kind == MYSQL_USING || (node->kind == MYSQL_JOIN && node->op[0] == 'n')) {
		canon->keep_aliases = true;
	}
	for (const struct mysql_node *child = node->first; child; child = child->next)
		mysql_canon_survey(canon, child);
}

static str_t column_text(struct mysql_canon *canon, const struct mysql_node *column)
{
	struct mysql_texts parts = { 0 };
	if (column->item)
		return mysql_canon_text(canon, column->item->first);
	str_t name = identifier(canon, mysql_lower(column->name, canon->arena));
	if (column->range && column->range->kind == MYSQL_RANGE_OUTPUT)
		return arena_printf(canon->arena, "output:" STR_FMT, STR_ARG(name));
	if (column->range) {
		str_t range = range_name(canon, column->range);
		return arena_printf(canon->arena, STR_FMT "." STR_FMT, STR_ARG(range), STR_ARG(name));
	}
	if (str_present(column->schema))
		mysql_texts_add(canon, &parts, identifier(canon, column->schema));
	if (str_present(column->qualifier))
		mysql_texts_add(canon, &parts, identifier(canon, column->qualifier));
	mysql_texts_add(canon, &parts, name);
	return mysql_texts_join(canon, "name(", &parts, ")");
}

static str_t literal_text(struct mysql_canon *canon, const struct mysql_node *literal)
{
	bool plain = strcmp(literal->op, "number") == 0;
	if (canon->masked)
		return STR("?");
	if (plain)
		return mysql_lower(literal->name, canon->arena);
	if (strcmp(literal->op, "null") == 0 || strcmp(literal->op, "true") == 0 ||
	    strcmp(literal->op, "false") == 0)
		return str_from(literal->op);
	str_t value = mysql_canon_quoted(canon, literal->name, '\'');
	if (strcmp(literal->op, "string") == 0)
		return value;
	if (str_present(literal->qualifier))
		return arena_printf(canon->arena, STR_FMT " " STR_FMT, STR_ARG(literal->qualifier),
				    STR_ARG(value));
	return arena_printf(canon->arena, "%s " STR_FMT, literal->op, STR_ARG(value));
}

static void add_children(struct mysql_canon *canon, const struct mysql_node *node, struct mysql_texts *texts)
{
	for (const struct mysql_node *child = node->first; child && !canon->failed; child = child->next)
		mysql_texts_add(canon, texts, mysql_canon_text(canon, child));
}

/* Operands whose order does not matter are sorted; > and >= are turned around. */
static str_t operation_text(struct mysql_canon *canon, const struct mysql_node *node)
{
	static const char *const commutative[] = { "and", "or", "xor", "=", "<=>", "<>", "+", "*" };
	const char *op = node->op;
	struct mysql_texts operands = { 0 };
	add_children(canon, node, &operands);
	if ((strcmp(op, ">") == 0 || strcmp(op, ">=") == 0) && operands.count == 2) {
		str_t left = operands.items[0];
		operands.items[0] = operands.items[1];
		operands.items[1] = left;
		op = op[1] ? "<=" : "<";
	}
	for (size_t i = 0; i < sizeof commutative / sizeof commutative[0]; i++)
		if (strcmp(op, commutative[i]) == 0)
			mysql_texts_sort(&operands);
	char open[24];
	snprintf(open, sizeof open, "%s(", strcmp(op, "!") == 0 ? "not" : op);
	return mysql_texts_join(canon, open, &operands, ")");
}

static str_t reference_text(struct mysql_canon *canon, const struct mysql_node *node)
{
	struct mysql_texts texts = { 0 };
	if (!node->range)
		return node->op ? STR("dual") : STR("relation");
	mysql_texts_add(canon, &texts, range_name(canon, node->range));
	if (canon->keep_aliases)
		mysql_texts_add(canon, &texts, mysql_canon_quoted(canon, node->range->alias, '`'));
	add_children(canon, node, &texts);
	return texts.count == 1 ? texts.items[0]
				: mysql_texts_join(canon, node->flag ? "lateral(" : "table(", &texts, ")");
}

static str_t star_text(struct mysql_canon *canon, const struct mysql_node *star)
{
	struct mysql_texts texts = { 0 };
	if (star->range)
		mysql_texts_add(canon, &texts, range_name(canon, star->range));
	else if (str_present(star->qualifier))
		mysql_texts_add(canon, &texts, mysql_canon_quoted(canon, star->qualifier, '`'));
	return mysql_texts_join(canon, "*(", &texts, ")");
}

/* Words for kinds; each has its own. */
static const char *const kind_names[] = {
	[MYSQL_QUERY] = "query",
	[MYSQL_EXPLAIN] = "explain",
	[MYSQL_DESCRIBE] = "describe",
	[MYSQL_SHOW] = "show",
	[MYSQL_WITH] = "with",
	[MYSQL_CTE] = "cte",
	[MYSQL_NAMES] = "names",
	[MYSQL_NAME] = "name",
	[MYSQL_SET] = "set",
	[MYSQL_ARM] = "arm",
	[MYSQL_VALUES] = "values",
	[MYSQL_TABLE] = "table",
	[MYSQL_SELECT] = "select",
	[MYSQL_ITEMS] = "items",
	[MYSQL_ITEM] = "item",
	[MYSQL_STAR] = "star",
	[MYSQL_FROM] = "from",
	[MYSQL_WHERE] = "where",
	[MYSQL_GROUP] = "group",
	[MYSQL_HAVING] = "having",
	[MYSQL_WINDOWS] = "windows",
	[MYSQL_ORDER] = "order",
	[MYSQL_SORT] = "sort",
	[MYSQL_LIMIT] = "limit",
	[MYSQL_INTO] = "into",
	[MYSQL_EXAMINED] = "examined",
	[MYSQL_LOCKING] = "locking",
	[MYSQL_PROCEDURE] = "procedure",
	[MYSQL_RELATION] = "relation",
	[MYSQL_DERIVED] = "derived",
	[MYSQL_SYSTEM_TIME] = "system_time",
	[MYSQL_JSON_COLUMNS] = "json_columns",
	[MYSQL_JSON_COLUMN] = "json_column",
	[MYSQL_JSON_ON] = "json_on",
	[MYSQL_JOIN] = "join",
	[MYSQL_ON] = "on",
	[MYSQL_USING] = "using",
	[MYSQL_LITERAL] = "literal",
	[MYSQL_COLUMN] = "column",
	[MYSQL_VARIABLE] = "variable",
	[MYSQL_PARAMETER] = "parameter",
	[MYSQL_OPERATION] = "operation",
	[MYSQL_IN] = "in",
	[MYSQL_BETWEEN] = "between",
	[MYSQL_LIKE] = "like",
	[MYSQL_IS] = "is",
	[MYSQL_QUANTIFIED] = "quantified",
	[MYSQL_ROW] = "row",
	[MYSQL_SUBQUERY] = "subquery",
	[MYSQL_EXISTS] = "exists",
	[MYSQL_CASE] = "case",
	[MYSQL_OPERAND] = "operand",
	[MYSQL_WHEN] = "when",
	[MYSQL_ELSE] = "else",
	[MYSQL_CAST] = "cast",
	[MYSQL_COLLATE] = "collate",
	[MYSQL_INTERVAL] = "interval",
	[MYSQL_MATCH] = "match",
	[MYSQL_AGAINST] = "against",
	[MYSQL_CALL] = "call",
	[MYSQL_SEPARATOR] = "separator",
	[MYSQL_WINDOW] = "window",
	[MYSQL_PARTITION] = "partition",
	[MYSQL_FRAME] = "frame",
	[MYSQL_BOUND] = "bound",
};

/* One more literal in a list adds nothing to the shape. */
static void drop_repeated(struct mysql_texts *texts)
{
	size_t kept = 0;
	for (size_t i = 0; i < texts->count; i++)
		if (kept == 0 || !str_is(texts->items[i], "?") || !str_is(texts->items[kept - 1], "?"))
			texts->items[kept++] = texts->items[i];
	texts->count = kept;
}

/* Any other node: kind, words and children as they are. */
static str_t plain_text(struct mysql_canon *canon, const struct mysql_node *node)
{
	struct mysql_texts texts = { 0 };
	if (str_present(node->schema))
		mysql_texts_add(canon, &texts,
				mysql_canon_quoted(canon, mysql_lower(node->schema, canon->arena), '`'));
	if (str_present(node->qualifier))
		mysql_texts_add(canon, &texts, mysql_canon_quoted(canon, node->qualifier, '`'));
	if (str_present(node->alias))
		mysql_texts_add(canon, &texts, mysql_canon_quoted(canon, node->alias, '`'));
	add_children(canon, node, &texts);
	if (canon->masked && node->kind == MYSQL_ROW)
		drop_repeated(&texts);
	str_t name = str_present(node->name)
			     ? node->kind == MYSQL_SEPARATOR
				       ? mysql_canon_quoted(canon, node->name, '\'')
				       : identifier(canon, mysql_lower(node->name, canon->arena))
			     : STR("");
	str_t open = arena_printf(canon->arena, "%s%s%s%s " STR_FMT "(", kind_names[node->kind],
				  node->flag ? "!" : "", node->op ? " " : "", node->op ? node->op : "",
				  STR_ARG(name));
	return mysql_texts_join(canon, open.ptr, &texts, ")");
}

static str_t long_as_digest(struct mysql_canon *canon, str_t text)
{
	char hex[DIGEST_HEX_SIZE];
	if (text.len <= MYSQL_LONG_TEXT)
		return text;
	digest_sha256_hex(text.ptr, text.len, hex);
	return arena_printf(canon->arena, "digest(%s)", hex);
}

static str_t node_text(struct mysql_canon *canon, const struct mysql_node *node)
{
	switch (node->kind) {
	case MYSQL_QUERY:
		return mysql_canon_query(canon, node, false);
	case MYSQL_SELECT:
	case MYSQL_SET:
		return mysql_canon_body(canon, node, false);
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

str_t mysql_canon_text(struct mysql_canon *canon, const struct mysql_node *node)
{
	str_t *known = &canon->texts[node->number];
	if (canon->failed)
		return STR("");
	if (!str_present(*known))
		*known = long_as_digest(canon, node_text(canon, node));
	return *known;
}
