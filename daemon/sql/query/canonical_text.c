#include "sql/query/canonical_internal.h"

#include "common/buf.h"
#include "sql/query/required.h"

#define MAX_BYTES ((size_t)4 << 20) /* of all texts built for one statement */

void form_texts_unique(const struct form *form, struct texts *texts)
{
	(form->random ? texts_sort : texts_unique)(texts);
}

/* `open` a, b, c `close` */
str_t form_texts_join(struct form *form, const char *open, const struct texts *texts, const char *close)
{
	size_t len = strlen(open) + strlen(close);
	for (size_t i = 0; i < texts->count; i++)
		len += texts->items[i].len + 2;
	form->bytes += len;
	if (form->bytes > MAX_BYTES)
		form->failed = true;
	if (form->failed)
		return STR("");
	char *joined = arena_alloc(form->arena, len + 1);
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
str_t form_quoted(struct form *form, str_t text, char quote)
{
	struct buf buf = BUF_INIT;
	buf_append_char(&buf, quote);
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == quote)
			buf_append_char(&buf, quote);
		buf_append_char(&buf, text.ptr[i]);
	}
	buf_append_char(&buf, quote);
	str_t result = arena_str(form->arena, buf_str(&buf));
	buf_free(&buf);
	form->bytes += result.len;
	return result;
}

static str_t identifier(struct form *form, str_t name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", name.ptr[i]))
			return form_quoted(form, name, '`');
	return name.len ? name : STR("``");
}

static str_t base_of(struct form *form, const struct query_range *range)
{
	switch (range->kind) {
	case QUERY_RANGE_DERIVED:
		if (!str_present(range->name))
			return STR("derived");
		return arena_printf(form->arena, "call:" STR_FMT,
				    STR_ARG(identifier(form, identifier_lower(range->name, form->arena))));
	case QUERY_RANGE_CTE:
		return arena_printf(form->arena, "with:" STR_FMT,
				    STR_ARG(identifier(form, identifier_lower(range->name, form->arena))));
	case QUERY_RANGE_RELATION:
	case QUERY_RANGE_OUTPUT:
	default:
		break;
	}
	str_t name = identifier(form, range->name);
	if (!str_present(range->schema))
		return name;
	str_t schema = identifier(form, range->schema);
	return arena_printf(form->arena, STR_FMT "." STR_FMT, STR_ARG(schema), STR_ARG(name));
}

/* What a range is called: its relation, with a number where it is there several times. Numbers go by the
 * order of the text. */
static str_t range_name(struct form *form, const struct query_range *range)
{
	const struct query_range **key = arena_alloc(form->arena, sizeof *key);
	*key = range;
	str_t address = { (const char *)key, sizeof *key };
	str_t *known = hash_map_get(&form->names, address);
	if (known)
		return *known;
	str_t base = base_of(form, range);
	size_t *before = hash_map_get(&form->ranges, base);
	if (!before) {
		before = ARENA_NEW(form->arena, size_t);
		hash_map_set(&form->ranges, base, before);
	}
	str_t *name = ARENA_NEW(form->arena, str_t);
	*name = ++*before == 1 ? base : arena_printf(form->arena, STR_FMT "#%zu", STR_ARG(base), *before);
	hash_map_set(&form->names, address, name);
	return *name;
}

/* Ranges get their numbers in the order of the text, and an unresolved name keeps all aliases. */
void form_survey(struct form *form, const struct query_node *node)
{
	if (node->kind == QUERY_RELATION || node->kind == QUERY_DERIVED) {
		if (node->range)
			(void)range_name(form, node->range);
	} else if (node->kind == QUERY_COLUMN && !node->range && !node->item) {
		form->keep_aliases = true;
	} else if (node->kind == QUERY_USING || (node->kind == QUERY_JOIN && node->op[0] == 'n')) {
		form->keep_aliases = true;
	} else if (node->kind == QUERY_CALL && required_is_random(node->name)) {
		form->random = true;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		form_survey(form, child);
}

static str_t column_text(struct form *form, const struct query_node *column)
{
	struct texts parts = { 0 };
	if (column->item)
		return form_text(form, column->item->first);
	str_t name = identifier(form, identifier_lower(column->name, form->arena));
	if (column->range && column->range->kind == QUERY_RANGE_OUTPUT)
		return arena_printf(form->arena, "output:" STR_FMT, STR_ARG(name));
	if (column->range) {
		str_t range = range_name(form, column->range);
		return arena_printf(form->arena, STR_FMT "." STR_FMT, STR_ARG(range), STR_ARG(name));
	}
	if (str_present(column->schema))
		texts_add(form->arena, &parts, identifier(form, column->schema));
	if (str_present(column->qualifier))
		texts_add(form->arena, &parts, identifier(form, column->qualifier));
	texts_add(form->arena, &parts, name);
	if (column->op) /* it may mean something else elsewhere */
		texts_add(form->arena, &parts, arena_printf(form->arena, "@%zu", column->offset));
	return form_texts_join(form, "name(", &parts, ")");
}

static str_t literal_text(struct form *form, const struct query_node *literal)
{
	bool plain = strcmp(literal->op, "number") == 0;
	if (form->masked)
		return STR("?");
	if (plain)
		return identifier_lower(literal->name, form->arena);
	if (strcmp(literal->op, "null") == 0 || strcmp(literal->op, "true") == 0 ||
	    strcmp(literal->op, "false") == 0)
		return str_from(literal->op);
	str_t value = form_quoted(form, literal->name, '\'');
	if (strcmp(literal->op, "string") == 0)
		return value;
	if (str_present(literal->qualifier))
		return arena_printf(form->arena, STR_FMT " " STR_FMT, STR_ARG(literal->qualifier),
				    STR_ARG(value));
	return arena_printf(form->arena, "%s " STR_FMT, literal->op, STR_ARG(value));
}

static void add_children(struct form *form, const struct query_node *node, struct texts *texts)
{
	for (const struct query_node *child = node->first; child && !form->failed; child = child->next)
		texts_add(form->arena, texts, form_text(form, child));
}

static bool is_one_of(const char *op, const char *const *operators)
{
	while (*operators && strcmp(op, *operators) != 0)
		operators++;
	return *operators != NULL;
}

/* Whether the operands may change places: SQLite compares a text by the collation of the left one. */
static bool may_swap(const struct form *form, const struct query_node *node)
{
	const struct query_node *left = node->first, *right = left->next;
	return form->options->dialect != SQL_SQLITE || left->kind == QUERY_LITERAL ||
	       right->kind == QUERY_LITERAL ||
	       (!form->options->any_collation && left->kind == QUERY_COLUMN && right->kind == QUERY_COLUMN);
}

/* Operands whose order does not matter are sorted; > and >= are turned around. */
static str_t operation_text(struct form *form, const struct query_node *node)
{
	static const char *const conditions[] = { "and", "or", NULL };
	static const char *const commutative[] = { "xor", "+", "*", "&", "|", NULL };
	static const char *const equal[] = { "=", "<=>", "<>", NULL };
	const char *op = node->op;
	struct texts operands = { 0 };
	add_children(form, node, &operands);
	if (operands.count == 2 && (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0) && may_swap(form, node)) {
		str_t left = operands.items[0];
		operands.items[0] = operands.items[1];
		operands.items[1] = left;
		op = op[1] ? "<=" : "<";
	}
	if (is_one_of(op, conditions))
		form_texts_unique(form, &operands);
	else if (is_one_of(op, commutative) ||
		 (operands.count == 2 && is_one_of(op, equal) && may_swap(form, node)))
		texts_sort(&operands);
	char open[24];
	snprintf(open, sizeof open, "%s(", strcmp(op, "!") == 0 ? "not" : op);
	return form_texts_join(form, open, &operands, ")");
}

/* One more literal in a list adds nothing to the shape. */
static void drop_repeated(struct texts *texts)
{
	size_t kept = 0;
	for (size_t i = 0; i < texts->count; i++)
		if (kept == 0 || !str_is(texts->items[i], "?") || !str_is(texts->items[kept - 1], "?"))
			texts->items[kept++] = texts->items[i];
	texts->count = kept;
}

/* x IN (1, 2): in which order, and how often, makes no difference. */
static str_t in_text(struct form *form, const struct query_node *in)
{
	struct texts values = { 0 };
	str_t left = form_text(form, in->first);
	if (in->last->kind == QUERY_ROW) {
		add_children(form, in->last, &values);
		form_texts_unique(form, &values);
		if (form->masked)
			drop_repeated(&values);
	} else {
		texts_add(form->arena, &values, form_text(form, in->last));
	}
	str_t open = arena_printf(form->arena, "in%s(" STR_FMT "; ", in->flag ? "!" : "", STR_ARG(left));
	return form_texts_join(form, open.ptr, &values, ")");
}

/* LIMIT 3 begins at 0. */
static str_t limit_text(struct form *form, const struct query_node *limit)
{
	const struct query_node *count = limit->first, *skip = count->next;
	bool from_start = !skip || (skip->kind == QUERY_LITERAL && str_is(skip->name, "0"));
	struct texts texts = { 0 };
	texts_add(form->arena, &texts, form_text(form, count));
	if (!from_start || form->masked)
		texts_add(form->arena, &texts, skip ? form_text(form, skip) : STR("?"));
	return form_texts_join(form, limit->flag ? "limit with ties (" : "limit (", &texts, ")");
}

static str_t reference_text(struct form *form, const struct query_node *node)
{
	struct texts texts = { 0 };
	if (!node->range)
		return node->op ? STR("dual") : STR("relation");
	texts_add(form->arena, &texts, range_name(form, node->range));
	if (form->keep_aliases)
		texts_add(form->arena, &texts, form_quoted(form, node->range->alias, '`'));
	add_children(form, node, &texts);
	return texts.count == 1 ? texts.items[0]
				: form_texts_join(form, node->flag ? "lateral(" : "table(", &texts, ")");
}

static str_t star_text(struct form *form, const struct query_node *star)
{
	struct texts texts = { 0 };
	if (star->range)
		texts_add(form->arena, &texts, range_name(form, star->range));
	else if (str_present(star->qualifier))
		texts_add(form->arena, &texts, form_quoted(form, star->qualifier, '`'));
	return form_texts_join(form, "*(", &texts, ")");
}

/* Each has its own. */
static const char *const kind_words[] = {
#define QUERY_KIND(symbol, word) [QUERY_##symbol] = (word),
#include "sql/query/kinds.def"
#undef QUERY_KIND
};

/* Any other node: kind, words and children as they are. */
static str_t plain_text(struct form *form, const struct query_node *node)
{
	struct texts texts = { 0 };
	if (str_present(node->schema))
		texts_add(form->arena, &texts,
			  form_quoted(form, identifier_lower(node->schema, form->arena), '`'));
	if (str_present(node->qualifier))
		texts_add(form->arena, &texts, form_quoted(form, node->qualifier, '`'));
	if (str_present(node->alias))
		texts_add(form->arena, &texts, form_quoted(form, node->alias, '`'));
	add_children(form, node, &texts);
	if (form->masked && node->kind == QUERY_ROW)
		drop_repeated(&texts);
	str_t name = str_present(node->name)
			     ? node->kind == QUERY_SEPARATOR
				       ? form_quoted(form, node->name, '\'')
				       : identifier(form, identifier_lower(node->name, form->arena))
			     : STR("");
	str_t open = arena_printf(form->arena, "%s%s%s%s " STR_FMT "(", kind_words[node->kind],
				  node->flag ? "!" : "", node->op ? " " : "", node->op ? node->op : "",
				  STR_ARG(name));
	return form_texts_join(form, open.ptr, &texts, ")");
}

static str_t long_as_digest(struct form *form, str_t text)
{
	char hex[DIGEST_HEX_SIZE];
	if (text.len <= FORM_LONG_TEXT)
		return text;
	hash_sha256_hex(text.ptr, text.len, hex);
	return arena_printf(form->arena, "digest(%s)", hex);
}

static str_t node_text(struct form *form, const struct query_node *node)
{
	switch (node->kind) {
	case QUERY_EXPRESSION:
		return form_query(form, node, false);
	case QUERY_SELECT:
	case QUERY_SET:
		return form_body(form, node, false);
	case QUERY_LITERAL:
		return literal_text(form, node);
	case QUERY_COLUMN:
		return column_text(form, node);
	case QUERY_OPERATION:
		return operation_text(form, node);
	case QUERY_IN:
		return in_text(form, node);
	case QUERY_LIMIT:
		return limit_text(form, node);
	case QUERY_RELATION:
	case QUERY_DERIVED:
		return reference_text(form, node);
	case QUERY_STAR:
		return star_text(form, node);
	default:
		return plain_text(form, node);
	}
}

str_t form_text(struct form *form, const struct query_node *node)
{
	str_t *known = &form->texts[node->number];
	if (form->failed)
		return STR("");
	if (!str_present(*known))
		*known = long_as_digest(form, node_text(form, node));
	return *known;
}
