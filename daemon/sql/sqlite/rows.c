#include "sql/sqlite/bombs.h"

#include "sql/bomb_limits.h"
#include "sql/sqlite/lint.h"

#include <math.h>
#include <strings.h>

/* A WITH query that can be seen, innermost first. */
struct seen {
	str_t name;
	double rows;
	const struct seen *outer;
};

struct count {
	struct violations *violations;
	const struct seen *seen;
	bool check_ends; /* recursions have to come to an end by what is found here */
	bool found;
};

static double select_rows(struct count *count, const struct sqlite_select *select);

static bool same_name(str_t a, str_t b)
{
	return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

static bool reads_itself(const struct sqlite_core *core, str_t name)
{
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		if (!source->select && !str_present(source->schema) && same_name(source->name, name))
			return true;
		for (size_t c = 0; source->select && c < source->select->cores_count; c++)
			if (reads_itself(&source->select->cores[c], name))
				return true;
	}
	return false;
}

/* Value of a number in plain digits; false: it is anything else. */
static bool plain_number(const struct sqlite_node *node, double *ret_value)
{
	if (!node || node->kind != SQLITE_LITERAL || node->text.len == 0 ||
	    !strchr("0123456789.", node->text.ptr[0]))
		return false;
	*ret_value = strtod(node->text.ptr, NULL);
	return true;
}

static bool is_operator(const struct sqlite_node *node, const char *text)
{
	return node->kind == SQLITE_BINARY && str_is(node->text, text);
}

static void note_column(const struct sqlite_node *node, void *context)
{
	if (node->kind == SQLITE_COLUMN || node->kind == SQLITE_PARAMETER || node->select)
		*(bool *)context = true;
}

static bool has_column(const struct sqlite_node *node)
{
	bool found = false;
	sqlite_each_node(node, note_column, &found);
	return found;
}

static bool is_comparison(const struct sqlite_node *node)
{
	static const char *const operators[] = { "<", "<=", ">", ">=", "=", "==", "is" };
	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
		if (is_operator(node, operators[i]))
			return true;
	return false;
}

/* The least number that a condition, joined by AND, holds a column against. */
static void find_levels(const struct sqlite_node *condition, double *levels)
{
	double value;
	if (!condition)
		return;
	if (is_operator(condition, "and")) {
		find_levels(condition->children[0], levels);
		find_levels(condition->children[1], levels);
	} else if (condition->kind == SQLITE_BETWEEN && condition->children_count == 3) {
		if (plain_number(condition->children[2], &value))
			*levels = fmin(*levels, value);
	} else if (is_comparison(condition)) {
		for (size_t i = 0; i < 2; i++)
			if (plain_number(condition->children[i], &value))
				*levels = fmin(*levels, value);
	}
}

static void note_subtraction(const struct sqlite_node *node, void *context)
{
	bool minus = (node->kind == SQLITE_BINARY || node->kind == SQLITE_UNARY) && str_is(node->text, "-");
	bool text = node->kind == SQLITE_LITERAL && node->text.len > 1 && node->text.ptr[1] == '-';
	if (minus || text) /* '-1 day' */
		*(bool *)context = true;
}

/* `column < value` ends what counts up, `column > value` what counts down; between two columns data decides.
 */
static bool comparison_decides(const struct sqlite_node *comparison, bool counts_down)
{
	const struct sqlite_node *left = comparison->children[0], *right = comparison->children[1];
	bool first = has_column(left), second = has_column(right);
	if (first == second)
		return first && !str_equal(left->text, right->text);
	char op = comparison->text.ptr[0];
	return op == '=' || op == 'i' || (op == '<') == first || counts_down;
}

/* A condition that some rows meet and others do not. */
static bool decides(const struct sqlite_node *condition, bool counts_down)
{
	if (!condition)
		return false;
	if (is_operator(condition, "and"))
		return decides(condition->children[0], counts_down) ||
		       decides(condition->children[1], counts_down);
	if (is_operator(condition, "or"))
		return decides(condition->children[0], counts_down) &&
		       decides(condition->children[1], counts_down);
	if (is_comparison(condition))
		return comparison_decides(condition, counts_down);
	return condition->kind != SQLITE_COLUMN && condition->kind != SQLITE_UNARY &&
	       !is_operator(condition, "<>") && !is_operator(condition, "!=") && has_column(condition);
}

static bool core_ends(const struct sqlite_core *core)
{
	bool joined = false;
	bool counts_down = false;
	for (size_t i = 0; i < core->outputs_count; i++)
		sqlite_each_node(core->outputs[i].expression, note_subtraction, &counts_down);
	for (size_t i = 0; i < core->sources_count; i++)
		joined = joined || decides(core->sources[i].on, counts_down) ||
			 core->sources[i].using_count > 0 || core->sources[i].natural;
	return joined || decides(core->where, counts_down);
}

/* Elements of a document that the text itself holds. */
static double document_rows(const struct sqlite_source *source)
{
	const struct sqlite_node *document = source->arguments_count > 0 ? source->arguments[0] : NULL;
	return document && !has_column(document) ? fmax(sqlite_text_size(document) / 2, 1) : 1;
}

static double source_rows(struct count *count, const struct sqlite_source *source)
{
	if (source->select)
		return select_rows(count, source->select);
	if (source->is_call)
		return document_rows(source);
	for (const struct seen *seen = count->seen; seen && !str_present(source->schema); seen = seen->outer)
		if (same_name(seen->name, source->name))
			return seen->rows;
	return 1;
}

static void count_subquery(const struct sqlite_node *node, void *context)
{
	if (node->select)
		(void)select_rows(context, node->select);
}

static void report(struct count *count, size_t offset, const char *reason)
{
	if (!count->found)
		violations_add(count->violations, VIOLATION_RESOURCE_BOMB, (int64_t)offset, "%s", reason);
	count->found = true;
}

static double core_rows(struct count *count, const struct sqlite_core *core)
{
	double rows = 1;
	if (core->is_values)
		rows = (double)core->outputs_count;
	for (size_t i = 0; i < core->sources_count; i++)
		rows *= source_rows(count, &core->sources[i]);
	sqlite_each_expression(core, count_subquery, count);
	if (rows >= BOMB_QUERY_ROWS)
		report(count, core->sources_count > 0 ? core->sources[0].offset : 0,
		       "rows that multiply without end");
	return rows;
}

/* Rows of a WITH query; of one that reads itself: by the number that its counter is held against. */
static double cte_rows(struct count *count, const struct sqlite_cte *cte)
{
	double each = 1;
	double levels = INFINITY;
	double limit = INFINITY;
	bool recursive = false;
	for (size_t i = 0; i < cte->select->cores_count; i++) {
		const struct sqlite_core *core = &cte->select->cores[i];
		if (!reads_itself(core, cte->name))
			continue;
		bool known = plain_number(cte->select->limit, &limit);
		bool hidden = cte->select->limit && !known; /* below 0 there is none */
		if ((count->check_ends || hidden) && !(known && limit < BOMB_CALL_ROWS) && !core_ends(core))
			report(count, cte->select->offset, "recursion without a bound");
		recursive = true;
		find_levels(core->where, &levels);
		for (size_t s = 0; s < core->sources_count; s++)
			each *= source_rows(count, &core->sources[s]);
	}
	if (!recursive)
		return select_rows(count, cte->select);
	if (isinf(levels))
		return fmin(limit, 1);
	return fmin(limit, each < 2 ? fmax(levels, 1) : pow(each, levels));
}

static double with_rows(struct count *count, const struct sqlite_select *select, size_t next)
{
	if (next == select->ctes_count) {
		double rows = 0;
		double limit;
		for (size_t i = 0; i < select->cores_count; i++)
			rows += core_rows(count, &select->cores[i]);
		return plain_number(select->limit, &limit) ? fmin(rows, limit) : rows;
	}
	const struct sqlite_cte *cte = &select->ctes[next];
	struct seen seen = { cte->name, 1, count->seen };
	seen.rows = cte_rows(count, cte);
	if (seen.rows >= BOMB_QUERY_ROWS)
		report(count, cte->select->offset, "a recursion of too many rows");
	count->seen = &seen;
	double rows = with_rows(count, select, next + 1);
	count->seen = seen.outer;
	return rows;
}

static double select_rows(struct count *count, const struct sqlite_select *select)
{
	return with_rows(count, select, 0);
}

void sqlite_bombs_rows(const struct sqlite_select *select, bool check_ends, struct violations *violations)
{
	struct count count = { violations, NULL, check_ends, false };
	(void)select_rows(&count, select);
}
