#include "sql/sqlite/lint.h"

#include <ctype.h>

#define ITEMS_MAX 64

struct lint {
	const struct sql_request *request;
	struct diagnostics *diagnostics;
};

/* ---- walking ---- */

void sqlite_each_node(const struct sqlite_node *node, sqlite_visit_node visit, void *context)
{
	if (!node)
		return;
	visit(node, context);
	sqlite_each_node(node->operand, visit, context);
	for (size_t i = 0; i < node->children_count; i++)
		sqlite_each_node(node->children[i], visit, context);
}

void sqlite_each_expression(const struct sqlite_core *core, sqlite_visit_node visit, void *context)
{
	for (size_t i = 0; i < core->outputs_count; i++)
		sqlite_each_node(core->outputs[i].expression, visit, context);
	for (size_t i = 0; i < core->sources_count; i++) {
		sqlite_each_node(core->sources[i].on, visit, context);
		for (size_t a = 0; a < core->sources[i].arguments_count; a++)
			sqlite_each_node(core->sources[i].arguments[a], visit, context);
	}
	sqlite_each_node(core->where, visit, context);
	for (size_t i = 0; i < core->group_count; i++)
		sqlite_each_node(core->group[i], visit, context);
	sqlite_each_node(core->having, visit, context);
}

struct walk {
	sqlite_visit_core visit;
	void *context;
};

static void enter_subquery(const struct sqlite_node *node, void *context)
{
	const struct walk *walk = context;
	if (node->select)
		sqlite_each_core(node->select, walk->visit, walk->context);
}

void sqlite_each_core(const struct sqlite_select *select, sqlite_visit_core visit, void *context)
{
	struct walk walk = { visit, context };
	for (size_t i = 0; i < select->cores_count; i++) {
		const struct sqlite_core *core = &select->cores[i];
		visit(core, context);
		sqlite_each_expression(core, enter_subquery, &walk);
		for (size_t s = 0; s < core->sources_count; s++)
			if (core->sources[s].select)
				sqlite_each_core(core->sources[s].select, visit, context);
	}
	for (size_t i = 0; i < select->ctes_count; i++)
		sqlite_each_core(select->ctes[i].select, visit, context);
	for (size_t i = 0; i < select->order_count; i++)
		sqlite_each_node(select->order[i].expression, enter_subquery, &walk);
	sqlite_each_node(select->limit, enter_subquery, &walk);
	sqlite_each_node(select->skip, enter_subquery, &walk);
}

/* ---- patterns of one expression ---- */

static void warn(const struct lint *lint, const char *sub_code, str_t object, size_t offset, const char *text)
{
	diagnostics_add(lint->diagnostics, DIAG_RISKY_PATTERN, sub_code, object, (int64_t)offset, "%s", text);
}

static bool is_word(const struct sqlite_node *node, enum sqlite_node_kind kind, const char *text)
{
	return node->kind == kind && str_is(node->text, text);
}

static bool is_null(const struct sqlite_node *node)
{
	return is_word(node, SQLITE_LITERAL, "null");
}

static bool is_text(const struct sqlite_node *node)
{
	return node->kind == SQLITE_LITERAL && node->text.len >= 2 && node->text.ptr[0] == '\'';
}

static bool is_comparison(const struct sqlite_node *node)
{
	static const char *const operators[] = { "=", "<>", "<", ">", "<=", ">=" };
	for (size_t i = 0; node->kind == SQLITE_BINARY && i < sizeof operators / sizeof operators[0]; i++)
		if (str_is(node->text, operators[i]))
			return true;
	return false;
}

static void check_null(const struct lint *lint, const struct sqlite_node *node)
{
	if (is_comparison(node) && (is_null(node->children[0]) || is_null(node->children[1])))
		warn(lint, "equals_null", node->text, node->offset,
		     "a comparison with NULL is never true; write IS NULL or IS NOT NULL");
}

static void check_pattern(const struct lint *lint, const struct sqlite_node *node)
{
	bool like = is_word(node, SQLITE_BINARY, "like"), glob = is_word(node, SQLITE_BINARY, "glob");
	if ((!like && !glob) || !is_text(node->children[1]))
		return;
	char first = node->children[1]->text.ptr[1];
	if (like ? first == '%' || first == '_' : first == '*' || first == '?')
		warn(lint, "leading_wildcard", node->children[1]->text, node->children[1]->offset,
		     "a pattern that begins with a wildcard cannot use an index");
}

static bool is_integer(const struct sqlite_node *node)
{
	const struct catalog_column *column = sqlite_column_of(node);
	if (node->kind != SQLITE_LITERAL)
		return column && column->category == TYPE_INTEGER;
	for (size_t i = 0; i < node->text.len; i++)
		if (!isdigit((unsigned char)node->text.ptr[i]))
			return false;
	return node->text.len > 0;
}

static void check_division(const struct lint *lint, const struct sqlite_node *node)
{
	if (is_word(node, SQLITE_BINARY, "/") && is_integer(node->children[0]) &&
	    is_integer(node->children[1]))
		warn(lint, "integer_division", STR("/"), node->offset,
		     "a division of integers drops the remainder; multiply by 1.0 first");
}

static bool is_number(const struct sqlite_node *node)
{
	if (node->kind == SQLITE_UNARY && node->children_count == 1 &&
	    (str_is(node->text, "-") || str_is(node->text, "+")))
		node = node->children[0];
	return node->kind == SQLITE_LITERAL && node->text.len > 0 &&
	       (isdigit((unsigned char)node->text.ptr[0]) || node->text.ptr[0] == '.');
}

static bool has_digit(str_t text)
{
	for (size_t i = 0; i < text.len; i++)
		if (isdigit((unsigned char)text.ptr[i]))
			return true;
	return false;
}

/* A text that is no number never equals a number; a number that is compared with texts is one: 9 is more than
 * 10. */
static void check_pair(const struct lint *lint, const struct sqlite_node *operand,
		       const struct sqlite_node *literal)
{
	const struct catalog_column *column = sqlite_column_of(operand);
	bool number = column && (column->category == TYPE_INTEGER || column->category == TYPE_NUMERIC);
	if (number && is_text(literal) && !has_digit(literal->text))
		diagnostics_add(
			lint->diagnostics, DIAG_TYPE_MISMATCH, NULL, literal->text, (int64_t)literal->offset,
			"the column \"" STR_FMT "\" of numbers is compared with a text that is no number",
			STR_ARG(column->name));
	if (column && column->category == TYPE_TEXT && is_number(literal))
		diagnostics_add(lint->diagnostics, DIAG_TYPE_MISMATCH, NULL, column->name,
				(int64_t)literal->offset,
				"the column \"" STR_FMT
				"\" of texts is compared with a number; write the number as a text, or CAST "
				"the column",
				STR_ARG(column->name));
}

static void check_types(const struct lint *lint, const struct sqlite_node *node)
{
	bool listed = node->kind == SQLITE_IN || node->kind == SQLITE_BETWEEN;
	for (size_t i = 1; listed && i < node->children_count; i++)
		check_pair(lint, node->children[0], node->children[i]);
	if (!is_comparison(node))
		return;
	check_pair(lint, node->children[0], node->children[1]);
	check_pair(lint, node->children[1], node->children[0]);
}

static void note_guard(const struct sqlite_node *node, void *context)
{
	if (is_word(node, SQLITE_POSTFIX, "notnull"))
		*(bool *)context = true;
}

/* x NOT IN (SELECT y …) is never true once a y is NULL. */
static void check_not_in(const struct lint *lint, const struct sqlite_node *node)
{
	if (node->kind != SQLITE_IN || !node->negated || !node->select)
		return;
	const struct sqlite_core *core = &node->select->cores[0];
	bool guarded = core->is_values || core->outputs_count != 1;
	sqlite_each_node(core->where, note_guard, &guarded);
	for (size_t i = 0; i < core->sources_count; i++)
		guarded = guarded && core->sources[i].join == SQLITE_JOIN_INNER;
	const struct sqlite_node *output = guarded ? NULL : core->outputs[0].expression;
	const struct catalog_column *column = sqlite_column_of(output);
	bool key = column && column->is_key && column->category == TYPE_INTEGER;
	if (column && !column->not_null && !key)
		diagnostics_add(lint->diagnostics, DIAG_RISKY_PATTERN, "not_in_nullable_subquery",
				column->name, (int64_t)node->offset,
				"NOT IN is never true once \"" STR_FMT "\" is NULL; write NOT EXISTS",
				STR_ARG(column->name));
}

static void check_node(const struct sqlite_node *node, void *context)
{
	const struct lint *lint = context;
	check_null(lint, node);
	check_pattern(lint, node);
	check_division(lint, node);
	check_types(lint, node);
	check_not_in(lint, node);
}

/* ---- products ---- */

/* Items of one FROM in groups that a condition connects. */
struct product {
	const struct sqlite_core *core;
	size_t group[ITEMS_MAX]; /* index of another member; the root is its own */
	bool unsure;
	size_t first; /* item that the condition at hand has named, or ITEMS_MAX */
};

static size_t root_of(const struct product *product, size_t item)
{
	while (product->group[item] != item)
		item = product->group[item];
	return item;
}

static void meet(const struct sqlite_node *node, void *context)
{
	struct product *product = context;
	if (node->select)
		product->unsure = true; /* it may speak of several */
	if (node->kind != SQLITE_COLUMN)
		return;
	if (node->meaning == SQLITE_UNSURE || node->meaning == SQLITE_MERGED)
		product->unsure = true;
	for (size_t i = 0; i < product->core->sources_count; i++) {
		if (node->item != &product->core->items[i])
			continue;
		if (product->first == ITEMS_MAX)
			product->first = i;
		product->group[root_of(product, i)] = root_of(product, product->first);
	}
}

static void meet_condition(struct product *product, const struct sqlite_node *node)
{
	if (!node)
		return;
	if (is_word(node, SQLITE_BINARY, "and")) {
		meet_condition(product, node->children[0]);
		meet_condition(product, node->children[1]);
		return;
	}
	product->first = ITEMS_MAX;
	sqlite_each_node(node, meet, product);
}

static void note_aggregate(const struct sqlite_node *node, void *context)
{
	static const char *const names[] = { "count", "sum",   "avg",	       "min",
					     "max",   "total", "group_concat", "string_agg" };
	bool *aggregated = context;
	bool scalar = node->children_count > 1 && !str_is(node->text, "group_concat");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		*aggregated = *aggregated ||
			      (is_word(node, SQLITE_CALL, names[i]) && !scalar && !str_present(node->window));
}

static bool is_aggregated(const struct sqlite_core *core)
{
	bool aggregated = false;
	for (size_t i = 0; i < core->outputs_count; i++)
		sqlite_each_node(core->outputs[i].expression, note_aggregate, &aggregated);
	sqlite_each_node(core->having, note_aggregate, &aggregated);
	return aggregated;
}

/* Relations surely may have several rows; of the rest nothing is claimed. */
static bool multiplies(const struct sqlite_item *item)
{
	return str_present(item->source->name) && !item->is_cte && !item->source->is_call;
}

static void check_product(const struct lint *lint, const struct sqlite_core *core)
{
	struct product product = { .core = core };
	if (core->sources_count < 2 || core->sources_count > ITEMS_MAX)
		return;
	for (size_t i = 0; i < core->sources_count; i++)
		product.group[i] = i;
	for (size_t i = 1; i < core->sources_count; i++) {
		if (core->sources[i].natural || core->sources[i].using_count > 0)
			product.group[root_of(&product, i)] = root_of(&product, i - 1);
		meet_condition(&product, core->sources[i].on);
	}
	meet_condition(&product, core->where);
	size_t first = ITEMS_MAX;
	for (size_t i = 0; i < core->sources_count && !product.unsure; i++) {
		const struct sqlite_item *item = &core->items[i];
		if (!multiplies(item))
			continue;
		if (first == ITEMS_MAX) {
			first = i;
		} else if (root_of(&product, i) != root_of(&product, first)) {
			diagnostics_add(lint->diagnostics, DIAG_RISKY_PATTERN, "cartesian_product",
					item->name, (int64_t)item->source->offset,
					"no condition connects \"" STR_FMT "\" with the other relations",
					STR_ARG(item->name));
			return;
		}
	}
}

static void check_core(const struct sqlite_core *core, void *context)
{
	sqlite_each_expression(core, check_node, context);
	check_product(context, core);
}

/* ---- the whole ---- */

static void check_top(const struct lint *lint, const struct sqlite_select *select)
{
	bool reads = false, bounded = select->limit != NULL;
	for (size_t i = 0; i < select->cores_count; i++) {
		const struct sqlite_core *core = &select->cores[i];
		bool aggregated = core->group_count > 0 || is_aggregated(core);
		reads = reads || (core->sources_count > 0 && !aggregated);
		for (size_t j = 0; j < core->outputs_count; j++)
			if (core->outputs[j].expression->kind == SQLITE_STAR)
				warn(lint, "select_star", STR("*"), core->outputs[j].expression->offset,
				     "name the columns that are needed instead of *");
	}
	if (reads && !bounded)
		diagnostics_add(lint->diagnostics, DIAG_MISSING_LIMIT, NULL, STR("query"), 0,
				"the query is neither aggregated nor limited; add a LIMIT");
}

void sqlite_lint(const struct sqlite_select *select, const struct sql_request *request,
		 struct diagnostics *diagnostics)
{
	struct lint lint = { .request = request, .diagnostics = diagnostics };
	sqlite_each_core(select, check_core, &lint);
	check_top(&lint, select);
}
