#include "sql/postgresql/safety/bombs.h"

#include <ctype.h>
#include <math.h>

/* A search of so many steps is worth remembering. */
#define MANY_STEPS 16

static double bytes_of(const Node *node, struct look look);
static double hidden_widths(const Node *node, struct look look);

/* Text, arrays, JSON and bytes grow by `||` alone. */
static bool concatenates(const A_Expr *expr)
{
	return expr->kind == AEXPR_OP && expr->lexpr && strcmp(NODE_STRING(llast(expr->name)), "||") == 0;
}

/* A size: of data 1, else its value; nobody needs to hide a small number. */
static double size_number(const Node *node, struct look look)
{
	double value;
	if (!node)
		return 1;
	if (constant_number(node, look, &value))
		return fmax(value, 1);
	if (!IsA(node, A_Const) && !may_read_data(node, look))
		return INFINITY;
	return constant_guess(node, look, &value) ? fmax(value, 1) : 1;
}

/* Of generate_series(a, a + 1000000). */
static double guessed_rows(const FuncCall *call, struct look look)
{
	double start;
	double stop;
	double step;
	if (!constant_guess(call_argument(call, 0), look, &start) ||
	    !constant_guess(call_argument(call, 1), look, &stop))
		return 1;
	if (!call_argument(call, 2) || !constant_guess(call_argument(call, 2), look, &step) || step == 0)
		step = 1;
	return floor(fabs((stop - start) / step)) + 1;
}

/* Of numbers; from data: as if from the beginning. */
static double counted_rows(const FuncCall *call, struct look look)
{
	double stop;
	double start = constant_number_or(call_argument(call, 0), look, 0);
	double width = fabs(constant_number_or(call_argument(call, 2), look, 1));
	if (!constant_number(call_argument(call, 1), look, &stop))
		return 0;
	return width > 0 ? floor(fabs(stop - start) / width) + 1 : 1;
}

static double series_rows(const FuncCall *call, struct look look)
{
	const Node *step = call_argument(call, 2);
	double rows = counted_rows(call, look);
	double span = fabs(constant_moment(call_argument(call, 1), look) -
			   constant_moment(call_argument(call, 0), look));
	if (isnan(span))
		return rows > 0 ? rows : guessed_rows(call, look);
	double seconds = fabs(constant_interval(step, look));
	if (seconds > 0)
		return fmax(rows, floor(span / seconds) + 1);
	/* a step that hides counts as a second */
	return fmax(rows, step && !may_read_data(step, look) ? span : 1);
}

/* Product of the numbers in an array literal, '{1000,1000}'. */
static double listed_product(const char *text)
{
	double product = 1;
	while (text && *text) {
		char *end;
		double value = strtod(text, &end);
		product *= end > text ? fmax(value, 1) : 1;
		text = end > text ? end : text + 1;
	}
	return product;
}

/* Elements of array_fill(value, ARRAY[…]). */
static double filled_elements(const Node *dimensions, struct look look)
{
	for (unsigned depth = 0; dimensions && IsA(dimensions, TypeCast) && depth < LOOK_MAX_DEPTH; depth++)
		dimensions = ((const TypeCast *)dimensions)->arg;
	if (dimensions && constant_text(dimensions))
		return listed_product(constant_text(dimensions));
	if (!dimensions || !IsA(dimensions, A_ArrayExpr))
		return dimensions && !may_read_data(dimensions, look) ? INFINITY : 1;
	double product = 1;
	ListCell *cell;
	foreach(cell, ((const A_ArrayExpr *)dimensions)->elements) product *= size_number(lfirst(cell), look);
	return product;
}

/* Bytes of the longest argument. */
static double longest(const List *arguments, struct look look)
{
	double bytes = 1;
	ListCell *cell;
	foreach(cell, arguments) bytes = fmax(bytes, bytes_of(lfirst(cell), look));
	return bytes;
}

static bool widest(const Node *node, struct look look, void *context)
{
	double *width = context;
	*width = fmax(*width, hidden_widths(node, look));
	return true;
}

/* The numbers in a format() text that is put together. */
static double hidden_widths(const Node *node, struct look look)
{
	double width = 1;
	const char *text = node ? constant_text(node) : NULL;
	if (!node || !look_on(look))
		return 1;
	look = look_deeper(look);
	if (text)
		return listed_product(text);
	if (IsA(node, A_Expr) && concatenates((const A_Expr *)node))
		return hidden_widths(((const A_Expr *)node)->lexpr, look) *
		       hidden_widths(((const A_Expr *)node)->rexpr, look);
	if ((IsA(node, ColumnRef) || IsA(node, SubLink)) && constant_sources(node, look, widest, &width))
		return width;
	return may_read_data(node, look) ? 1 : INFINITY;
}

/* All fields of a format() text, `%1000000s`; a width from an argument, `%*s`, is the largest argument, and
 * so is what a field shows. */
static double format_bytes(const FuncCall *call, struct look look)
{
	double shown = longest(call->args, look);
	double total = 0;
	const char *text = constant_text(call_argument(call, 0));
	if (!text)
		return shown + hidden_widths(call_argument(call, 0), look);
	double plain = (double)strlen(text);
	double field = fmax(shown - plain, 1) > 1 ? shown : 1; /* the text itself may be the longest */
	for (; *text; text++) {
		double width = field;
		if (*text != '%')
			continue;
		for (text++; *text && strchr("-$0123456789*", *text); text++) {
			double value = 1;
			if (*text == '*')
				constant_largest(call->args, look, &value);
			else if (isdigit((unsigned char)*text))
				value = strtod(text, NULL);
			width = fmax(width, fabs(value));
		}
		total += width;
		if (!*text)
			break;
	}
	return fmax(plain + total, 1);
}

/* Bytes that stand for a cost which grows faster than the number's digits. */
static double digits_bytes(double digits)
{
	return digits >= BOMB_DIGITS ? INFINITY : 1;
}

/* Functions whose result is small, whatever they are given. */
static bool sized_by_none(const FuncCall *call)
{
	static const char *const names[] = {
		"count", "sum",	     "avg",	     "length",	       "char_length",
		"md5",	 "position", "octet_length", "cardinality",    "array_length",
		"round", "strpos",   "bit_length",   "generate_series"
	};
	return call_is_one_of(call, names, sizeof names / sizeof names[0]);
}

static double sum_of_bytes(const List *nodes, struct look look)
{
	double total = 0;
	ListCell *cell;
	foreach(cell, nodes) total += bytes_of(lfirst(cell), look);
	return fmax(total, 1);
}

/* Rows of (SELECT …) that its text decides: of VALUES, and of series multiplied. */
static double query_rows(const Node *query, struct look look)
{
	if (!query || !IsA(query, SelectStmt))
		return 1;
	const SelectStmt *select = (const SelectStmt *)query;
	double rows = fmax(list_length(select->valuesLists), 1);
	ListCell *cell;
	foreach(cell, select->fromClause)
	{
		const Node *item = lfirst(cell);
		if (!IsA(item, RangeFunction) || !((const RangeFunction *)item)->functions)
			continue;
		const List *function = linitial(((const RangeFunction *)item)->functions);
		if (IsA(linitial(function), FuncCall) && call_is(linitial(function), "generate_series"))
			rows *= series_rows(linitial(function), look);
	}
	return rows;
}

/* Functions whose result may be a multiple of their arguments. */
static bool product_bytes(const FuncCall *call, struct look look, double *ret_bytes)
{
	const Node *first = call_argument(call, 0);
	const Node *second = call_argument(call, 1);
	if (call_is(call, "replace")) {
		const char *old = constant_text(second);
		double each = bytes_of(call_argument(call, 2), look) / fmax(old ? (double)strlen(old) : 1, 1);
		*ret_bytes = bytes_of(first, look) * fmax(each, 1);
	} else if (call_is(call, "regexp_replace")) {
		*ret_bytes = bytes_of(first, look) * bytes_of(call_argument(call, 2), look);
	} else if (call_is(call, "array_to_string")) {
		*ret_bytes = bytes_of(first, look) *
			     fmax(bytes_of(second, look), bytes_of(call_argument(call, 2), look));
	} else if (call_is(call, "concat_ws")) {
		*ret_bytes = sum_of_bytes(call->args, look) + list_length(call->args) * bytes_of(first, look);
	} else if (call_is(call, "encode") || call_is(call, "quote_literal") ||
		   call_is(call, "quote_nullable") || call_is(call, "quote_ident") ||
		   call_is(call, "to_json") || call_is(call, "to_jsonb")) {
		*ret_bytes = (call_is(call, "encode") ? 4 : 2) * bytes_of(first, look); /* all escaped */
	} else {
		return false;
	}
	return true;
}

static double call_bytes(const FuncCall *call, struct look look)
{
	double bytes;
	const Node *first = call_argument(call, 0);
	const Node *second = call_argument(call, 1);
	if (call_is(call, "repeat"))
		return bytes_of(first, look) * size_number(second, look);
	if (call_is(call, "lpad") || call_is(call, "rpad"))
		return size_number(second, look);
	if (call_is(call, "array_fill"))
		return filled_elements(second, look) * bytes_of(first, look);
	if (call_is(call, "format"))
		return format_bytes(call, look);
	if (call_is(call, "factorial")) /* n! has about n·log10(n) digits, and costs their square */
		return pow(fmax(constant_number_or(first, look, 1), 1), 1.6);
	if (call_is(call, "power") || call_is(call, "pow"))
		return digits_bytes(bomb_power_digits(first, second, look));
	if (call_is(call, "exp"))
		return digits_bytes(bomb_exp_digits(first, look));
	if (product_bytes(call, look, &bytes))
		return bytes;
	return sized_by_none(call) ? 1 : sum_of_bytes(call->args, look);
}

static double case_bytes(const CaseExpr *expr, struct look look)
{
	double bytes = bytes_of((const Node *)expr->defresult, look);
	ListCell *cell;
	foreach(cell, expr->args) bytes =
		fmax(bytes, bytes_of((const Node *)((const CaseWhen *)lfirst(cell))->result, look));
	return bytes;
}

static bool keep_longest(const Node *node, struct look look, void *context)
{
	double *bytes = context;
	*bytes = fmax(*bytes, bytes_of(node, look));
	return true;
}

/* Of whatever the column, or (SELECT …), can be. */
static double source_bytes(const Node *node, struct look look)
{
	double bytes = 1;
	(void)constant_sources(node, look, keep_longest, &bytes);
	return bytes;
}

static double sublink_bytes(const SubLink *link, struct look look)
{
	double rows = link->subLinkType == ARRAY_SUBLINK ? query_rows(link->subselect, look) : 1;
	return rows * source_bytes((const Node *)link, look);
}

/* The n of char(n), in bytes. */
static double cast_bytes(const TypeCast *cast, struct look look)
{
	return fmax(bomb_type_bytes(cast->typeName), bytes_of(cast->arg, look));
}

static size_t memory_place(const Node *node)
{
	const struct look_memory *memory = NULL;
	return ((uintptr_t)node >> 4) % (sizeof memory->items / sizeof memory->items[0]);
}

static bool is_known(const Node *node, struct look look, double *ret_bytes)
{
	if (!look.memory || !look.memory->used)
		return false;
	size_t at = memory_place(node);
	*ret_bytes = look.memory->items[at].bytes;
	return look.memory->items[at].node == node;
}

static double bytes_of(const Node *node, struct look look)
{
	double known;
	if (!node || !look_on(look))
		return 1;
	if (is_known(node, look, &known))
		return known;
	look = look_deeper(look);
	const char *text = IsA(node, A_Const) ? constant_text(node) : NULL;
	if (text)
		return fmax((double)strlen(text), 1);
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return cast_bytes((const TypeCast *)node, look);
	case T_CollateClause:
		return bytes_of(((const CollateClause *)node)->arg, look);
	case T_NamedArgExpr:
		return bytes_of((const Node *)((const NamedArgExpr *)node)->arg, look);
	case T_FuncCall:
		return call_bytes((const FuncCall *)node, look);
	case T_A_Expr: {
		const A_Expr *expr = (const A_Expr *)node;
		return concatenates(expr) ? bytes_of(expr->lexpr, look) + bytes_of(expr->rexpr, look) : 1;
	}
	case T_A_ArrayExpr:
		return sum_of_bytes(((const A_ArrayExpr *)node)->elements, look);
	case T_RowExpr:
		return sum_of_bytes(((const RowExpr *)node)->args, look);
	case T_XmlExpr:
		return sum_of_bytes(((const XmlExpr *)node)->args, look) +
		       sum_of_bytes(((const XmlExpr *)node)->named_args, look);
	case T_XmlSerialize:
		return bytes_of(((const XmlSerialize *)node)->expr, look);
	case T_ResTarget:
		return bytes_of(((const ResTarget *)node)->val, look);
	case T_CaseExpr:
		return case_bytes((const CaseExpr *)node, look);
	case T_CoalesceExpr:
		return longest(((const CoalesceExpr *)node)->args, look);
	case T_MinMaxExpr:
		return longest(((const MinMaxExpr *)node)->args, look);
	case T_ColumnRef:
		return source_bytes(node, look);
	case T_SubLink:
		return sublink_bytes((const SubLink *)node, look);
	default:
		return 1;
	}
}

/* What is known of parts is not looked for again in all that they are part of. */
static double bytes_to_know(const Node *node, struct look look)
{
	unsigned before = *look.steps;
	double bytes = bytes_of(node, look);
	if (!look.memory || look.depth > 0 || *look.steps - before < MANY_STEPS)
		return bytes;
	size_t at = memory_place(node);
	look.memory->items[at].node = node;
	look.memory->items[at].bytes = bytes;
	look.memory->used = true;
	return bytes;
}

double bomb_bytes(const Node *node, struct look look)
{
	double bytes = bytes_to_know(node, look);
	return *look.steps >= LOOK_MAX_STEPS ? INFINITY : bytes;
}

double bomb_type_bytes(const TypeName *type)
{
	double length;
	unsigned steps = 0;
	struct look look = { .steps = &steps };
	const Node *name = type && type->names ? llast(type->names) : NULL;
	if (!name || !IsA(name, String) || list_length(type->typmods) != 1 ||
	    !constant_number(linitial(type->typmods), look, &length))
		return 1;
	if (strcmp(NODE_STRING(name), "bpchar") == 0)
		return fmax(length, 1);
	return strcmp(NODE_STRING(name), "bit") == 0 ? fmax(length / 8, 1) : 1;
}

/* What a query may measure with length(…), to count with. */
static double measured(const Node *node, struct look look)
{
	if (!node || !look_on(look))
		return 0;
	look = look_deeper(look);
	if (IsA(node, FuncCall)) {
		const FuncCall *call = (const FuncCall *)node;
		if (call_is(call, "length") || call_is(call, "char_length") || call_is(call, "octet_length"))
			return bytes_of(call_argument(call, 0), look);
	}
	if (IsA(node, TypeCast))
		return measured(((const TypeCast *)node)->arg, look);
	if (!IsA(node, A_Expr))
		return 0;
	const A_Expr *expr = (const A_Expr *)node;
	double left = measured(expr->lexpr, look);
	double right = measured(expr->rexpr, look);
	if (left <= 0 && right <= 0)
		return 0;
	return (left > 0 ? left : fmax(constant_number_or(expr->lexpr, look, 1), 1)) *
	       (right > 0 ? right : fmax(constant_number_or(expr->rexpr, look, 1), 1));
}

/* Functions that return a row for each part of what they are given. */
static bool takes_apart(const FuncCall *call)
{
	static const char *const names[] = { "unnest",
					     "string_to_table",
					     "regexp_split_to_table",
					     "regexp_matches",
					     "generate_subscripts",
					     "json_array_elements",
					     "json_array_elements_text",
					     "jsonb_array_elements",
					     "jsonb_array_elements_text" };
	return call_is_one_of(call, names, sizeof names / sizeof names[0]);
}

/* Functions that go through their arguments once, not through one for each place in another. */
static bool is_linear(const FuncCall *call)
{
	static const char *const names[] = { "concat",
					     "concat_ws",
					     "format",
					     "repeat",
					     "lpad",
					     "rpad",
					     "array_cat",
					     "array_append",
					     "array_prepend",
					     "array_fill",
					     "overlay",
					     "json_build_array",
					     "jsonb_build_array",
					     "json_build_object",
					     "jsonb_build_object",
					     "string_agg",
					     "translate",
					     "starts_with",
					     "array_to_string",
					     "encode",
					     "to_tsvector",
					     "greatest" };
	return call_is_one_of(call, names, sizeof names / sizeof names[0]);
}

double bomb_work(const Node *left, const Node *right, struct look look)
{
	double bytes = left ? bytes_to_know(left, look) : 1;
	return bytes < BOMB_SMALL_BYTES ? bytes : bytes * (right ? bytes_to_know(right, look) : 1);
}

struct call_size bomb_call_size(const FuncCall *call, struct look look)
{
	static const char *const sized[] = { "repeat",
					     "lpad",
					     "rpad",
					     "array_fill",
					     "format",
					     "factorial",
					     "power",
					     "pow",
					     "exp",
					     "replace",
					     "regexp_replace",
					     "array_to_string",
					     "concat_ws",
					     "concat",
					     "encode",
					     "quote_literal",
					     "quote_nullable",
					     "quote_ident",
					     "to_json",
					     "to_jsonb",
					     "json_build_array",
					     "jsonb_build_array" };
	struct call_size size = { 1, 1, 1 };
	if (call_is(call, "generate_series"))
		size.rows = fmax(fmax(series_rows(call, look), measured(call_argument(call, 1), look)), 1);
	if (takes_apart(call) && longest(call->args, look) >= BOMB_SMALL_BYTES)
		size.rows = longest(call->args, look);
	if (list_length(call->args) >= 2 && !is_linear(call))
		size.work = bomb_work(call_argument(call, 0), call_argument(call, 1), look);
	if (call_is_one_of(call, sized, sizeof sized / sizeof sized[0]))
		size.bytes = call_bytes(call, look);
	if (*look.steps >= LOOK_MAX_STEPS) /* nobody writes such constants for their values */
		size.rows = INFINITY;
	return size;
}
