#include "sql/postgresql/safety/const_eval_internal.h" // first: see pg_nodes.h

#include <ctype.h>
#include <math.h>

/* A search of so many steps is worth remembering. */
#define MANY_STEPS 16

static double hidden_widths(const Node *node, struct const_eval eval);

/* Text, arrays, JSON and bytes grow by `||` alone. */
static bool concatenates(const A_Expr *expr)
{
	return expr->kind == AEXPR_OP && expr->lexpr && str_is(names_qualified(expr->name).name, "||");
}

/* A size: of data 1, else its value; nobody needs to hide a small number. */
static double size_number(const Node *node, struct const_eval eval)
{
	double value;
	if (!node)
		return 1;
	if (const_eval_number(node, eval, &value))
		return fmax(value, 1);
	if (!IsA(node, A_Const) && !const_eval_may_read_data(node, eval))
		return INFINITY;
	return const_eval_guess(node, eval, &value) ? fmax(value, 1) : 1;
}

/* Of generate_series(a, a + 1000000). */
static double guessed_rows(const FuncCall *call, struct const_eval eval)
{
	double start;
	double stop;
	double step;
	if (!const_eval_guess(safety_call_argument(call, 0), eval, &start) ||
	    !const_eval_guess(safety_call_argument(call, 1), eval, &stop))
		return 1;
	if (!safety_call_argument(call, 2) || !const_eval_guess(safety_call_argument(call, 2), eval, &step) ||
	    step == 0)
		step = 1;
	return floor(fabs((stop - start) / step)) + 1;
}

/* Of numbers; from data: as if from the beginning. */
static double counted_rows(const FuncCall *call, struct const_eval eval)
{
	double stop;
	double start = const_eval_number_or(safety_call_argument(call, 0), eval, 0);
	double width = fabs(const_eval_number_or(safety_call_argument(call, 2), eval, 1));
	if (!const_eval_number(safety_call_argument(call, 1), eval, &stop))
		return 0;
	return width > 0 ? floor(fabs(stop - start) / width) + 1 : 1;
}

double const_eval_series_rows(const FuncCall *call, struct const_eval eval)
{
	const Node *step = safety_call_argument(call, 2);
	double rows = counted_rows(call, eval);
	double span = fabs(const_eval_moment(safety_call_argument(call, 1), eval) -
			   const_eval_moment(safety_call_argument(call, 0), eval));
	if (isnan(span))
		return rows > 0 ? rows : guessed_rows(call, eval);
	double seconds = fabs(const_eval_interval(step, eval));
	if (seconds > 0)
		return fmax(rows, floor(span / seconds) + 1);
	/* a step that hides counts as a second */
	return fmax(rows, step && !const_eval_may_read_data(step, eval) ? span : 1);
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
static double filled_elements(const Node *dimensions, struct const_eval eval)
{
	for (unsigned depth = 0; dimensions && IsA(dimensions, TypeCast) && depth < CONST_EVAL_MAX_DEPTH;
	     depth++)
		dimensions = ((const TypeCast *)dimensions)->arg;
	if (dimensions && const_eval_text(dimensions))
		return listed_product(const_eval_text(dimensions));
	if (!dimensions || !IsA(dimensions, A_ArrayExpr))
		return dimensions && !const_eval_may_read_data(dimensions, eval) ? INFINITY : 1;
	double product = 1;
	ListCell *cell;
	foreach(cell, ((const A_ArrayExpr *)dimensions)->elements) product *= size_number(lfirst(cell), eval);
	return product;
}

/* Bytes of the const_eval_longest argument. */
double const_eval_longest(const List *arguments, struct const_eval eval)
{
	double bytes = 1;
	ListCell *cell;
	foreach(cell, arguments) bytes = fmax(bytes, const_eval_bytes_within(lfirst(cell), eval));
	return bytes;
}

static bool widest(const Node *node, struct const_eval eval, void *context)
{
	double *width = context;
	*width = fmax(*width, hidden_widths(node, eval));
	return true;
}

/* The numbers in a format() text that is put together. */
static double hidden_widths(const Node *node, struct const_eval eval)
{
	double width = 1;
	const char *text = node ? const_eval_text(node) : NULL;
	if (!node || !const_eval_step(eval))
		return 1;
	eval = const_eval_deeper(eval);
	if (text)
		return listed_product(text);
	if (IsA(node, A_Expr) && concatenates((const A_Expr *)node))
		return hidden_widths(((const A_Expr *)node)->lexpr, eval) *
		       hidden_widths(((const A_Expr *)node)->rexpr, eval);
	if ((IsA(node, ColumnRef) || IsA(node, SubLink)) && const_eval_sources(node, eval, widest, &width))
		return width;
	return const_eval_may_read_data(node, eval) ? 1 : INFINITY;
}

/* All fields of a format() text, `%1000000s`; a width from an argument, `%*s`, is the largest argument, and
 * so is what a field shows. */
static double format_bytes(const FuncCall *call, struct const_eval eval)
{
	double shown = const_eval_longest(call->args, eval);
	double total = 0;
	const char *text = const_eval_text(safety_call_argument(call, 0));
	if (!text)
		return shown + hidden_widths(safety_call_argument(call, 0), eval);
	double plain = (double)strlen(text);
	double field =
		fmax(shown - plain, 1) > 1 ? shown : 1; /* the text itself may be the const_eval_longest */
	for (; *text; text++) {
		double width = field;
		if (*text != '%')
			continue;
		for (text++; *text && strchr("-$0123456789*", *text); text++) {
			double value = 1;
			if (*text == '*')
				const_eval_largest(call->args, eval, &value);
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
	return digits >= CONST_EVAL_MAX_DIGITS ? INFINITY : 1;
}

/* Functions whose result is small, whatever they are given. */
static bool sized_by_none(const FuncCall *call)
{
	return SAFETY_CALL_IS_ANY(call, "count", "sum", "avg", "length", "char_length", "md5", "position",
				  "octet_length", "cardinality", "array_length", "round", "strpos",
				  "bit_length", "generate_series");
}

static double sum_of_bytes(const List *nodes, struct const_eval eval)
{
	double total = 0;
	ListCell *cell;
	foreach(cell, nodes) total += const_eval_bytes_within(lfirst(cell), eval);
	return fmax(total, 1);
}

/* Rows of (SELECT …) that its text decides: of VALUES, and of series multiplied. */
static double query_rows(const Node *query, struct const_eval eval)
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
		if (IsA(linitial(function), FuncCall) &&
		    safety_call_is(linitial(function), "generate_series"))
			rows *= const_eval_series_rows(linitial(function), eval);
	}
	return rows;
}

/* Functions whose result may be a multiple of their arguments. */
static bool product_bytes(const FuncCall *call, struct const_eval eval, double *ret_bytes)
{
	const Node *first = safety_call_argument(call, 0);
	const Node *second = safety_call_argument(call, 1);
	if (safety_call_is(call, "replace")) {
		const char *old = const_eval_text(second);
		double each = const_eval_bytes_within(safety_call_argument(call, 2), eval) /
			      fmax(old ? (double)strlen(old) : 1, 1);
		*ret_bytes = const_eval_bytes_within(first, eval) * fmax(each, 1);
	} else if (safety_call_is(call, "regexp_replace")) {
		*ret_bytes = const_eval_bytes_within(first, eval) *
			     const_eval_bytes_within(safety_call_argument(call, 2), eval);
	} else if (safety_call_is(call, "array_to_string")) {
		*ret_bytes = const_eval_bytes_within(first, eval) *
			     fmax(const_eval_bytes_within(second, eval),
				  const_eval_bytes_within(safety_call_argument(call, 2), eval));
	} else if (safety_call_is(call, "concat_ws")) {
		*ret_bytes = sum_of_bytes(call->args, eval) +
			     list_length(call->args) * const_eval_bytes_within(first, eval);
	} else if (SAFETY_CALL_IS_ANY(call, "encode", "quote_literal", "quote_nullable", "quote_ident",
				      "to_json", "to_jsonb")) {
		*ret_bytes = (safety_call_is(call, "encode") ? 4 : 2) *
			     const_eval_bytes_within(first, eval); /* all escaped */
	} else {
		return false;
	}
	return true;
}

double const_eval_call_bytes(const FuncCall *call, struct const_eval eval)
{
	double bytes;
	const Node *first = safety_call_argument(call, 0);
	const Node *second = safety_call_argument(call, 1);
	if (safety_call_is(call, "repeat"))
		return const_eval_bytes_within(first, eval) * size_number(second, eval);
	if (safety_call_is(call, "lpad") || safety_call_is(call, "rpad"))
		return size_number(second, eval);
	if (safety_call_is(call, "array_fill"))
		return filled_elements(second, eval) * const_eval_bytes_within(first, eval);
	if (safety_call_is(call, "format"))
		return format_bytes(call, eval);
	if (safety_call_is(call, "factorial")) /* n! has about n·log10(n) digits, and costs their square */
		return pow(fmax(const_eval_number_or(first, eval, 1), 1), 1.6);
	if (safety_call_is(call, "power") || safety_call_is(call, "pow"))
		return digits_bytes(const_eval_power_digits(first, second, eval));
	if (safety_call_is(call, "exp"))
		return digits_bytes(const_eval_exp_digits(first, eval));
	if (product_bytes(call, eval, &bytes))
		return bytes;
	return sized_by_none(call) ? 1 : sum_of_bytes(call->args, eval);
}

static double case_bytes(const CaseExpr *expr, struct const_eval eval)
{
	double bytes = const_eval_bytes_within((const Node *)expr->defresult, eval);
	ListCell *cell;
	foreach(cell, expr->args) bytes = fmax(
		bytes, const_eval_bytes_within((const Node *)((const CaseWhen *)lfirst(cell))->result, eval));
	return bytes;
}

static bool keep_longest(const Node *node, struct const_eval eval, void *context)
{
	double *bytes = context;
	*bytes = fmax(*bytes, const_eval_bytes_within(node, eval));
	return true;
}

/* Of whatever the column, or (SELECT …), can be. */
static double source_bytes(const Node *node, struct const_eval eval)
{
	double bytes = 1;
	(void)const_eval_sources(node, eval, keep_longest, &bytes);
	return bytes;
}

static double sublink_bytes(const SubLink *link, struct const_eval eval)
{
	double rows = link->subLinkType == ARRAY_SUBLINK ? query_rows(link->subselect, eval) : 1;
	return rows * source_bytes((const Node *)link, eval);
}

/* The n of char(n), in bytes. */
static double cast_bytes(const TypeCast *cast, struct const_eval eval)
{
	return fmax(const_eval_type_bytes(cast->typeName), const_eval_bytes_within(cast->arg, eval));
}

static size_t memory_place(const Node *node)
{
	const struct const_eval_memory *memory = NULL;
	return ((uintptr_t)node >> 4) % (sizeof memory->items / sizeof memory->items[0]);
}

static bool is_known(const Node *node, struct const_eval eval, double *ret_bytes)
{
	if (!eval.memory || !eval.memory->used)
		return false;
	size_t at = memory_place(node);
	*ret_bytes = eval.memory->items[at].bytes;
	return eval.memory->items[at].node == node;
}

double const_eval_bytes_within(const Node *node, struct const_eval eval)
{
	double known;
	if (!node || !const_eval_step(eval))
		return 1;
	if (is_known(node, eval, &known))
		return known;
	eval = const_eval_deeper(eval);
	const char *text = IsA(node, A_Const) ? const_eval_text(node) : NULL;
	if (text)
		return fmax((double)strlen(text), 1);
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return cast_bytes((const TypeCast *)node, eval);
	case T_CollateClause:
		return const_eval_bytes_within(((const CollateClause *)node)->arg, eval);
	case T_NamedArgExpr:
		return const_eval_bytes_within((const Node *)((const NamedArgExpr *)node)->arg, eval);
	case T_FuncCall:
		return const_eval_call_bytes((const FuncCall *)node, eval);
	case T_A_Expr: {
		const A_Expr *expr = (const A_Expr *)node;
		return concatenates(expr) ? const_eval_bytes_within(expr->lexpr, eval) +
						    const_eval_bytes_within(expr->rexpr, eval)
					  : 1;
	}
	case T_A_ArrayExpr:
		return sum_of_bytes(((const A_ArrayExpr *)node)->elements, eval);
	case T_RowExpr:
		return sum_of_bytes(((const RowExpr *)node)->args, eval);
	case T_XmlExpr:
		return sum_of_bytes(((const XmlExpr *)node)->args, eval) +
		       sum_of_bytes(((const XmlExpr *)node)->named_args, eval);
	case T_XmlSerialize:
		return const_eval_bytes_within(((const XmlSerialize *)node)->expr, eval);
	case T_ResTarget:
		return const_eval_bytes_within(((const ResTarget *)node)->val, eval);
	case T_CaseExpr:
		return case_bytes((const CaseExpr *)node, eval);
	case T_CoalesceExpr:
		return const_eval_longest(((const CoalesceExpr *)node)->args, eval);
	case T_MinMaxExpr:
		return const_eval_longest(((const MinMaxExpr *)node)->args, eval);
	case T_ColumnRef:
		return source_bytes(node, eval);
	case T_SubLink:
		return sublink_bytes((const SubLink *)node, eval);
	default:
		return 1;
	}
}

/* What is known of parts is not looked for again in all that they are part of. */
double const_eval_bytes_kept(const Node *node, struct const_eval eval)
{
	unsigned before = *eval.steps;
	double bytes = const_eval_bytes_within(node, eval);
	if (!eval.memory || eval.depth > 0 || *eval.steps - before < MANY_STEPS)
		return bytes;
	size_t at = memory_place(node);
	eval.memory->items[at].node = node;
	eval.memory->items[at].bytes = bytes;
	eval.memory->used = true;
	return bytes;
}

double const_eval_bytes(const Node *node, struct const_eval eval)
{
	double bytes = const_eval_bytes_kept(node, eval);
	return *eval.steps >= CONST_EVAL_MAX_STEPS ? INFINITY : bytes;
}

double const_eval_type_bytes(const TypeName *type)
{
	double length;
	unsigned steps = 0;
	struct const_eval eval = { .steps = &steps };
	str_t name = type ? names_qualified(type->names).name : STR_NONE;
	if (!str_present(name) || list_length(type->typmods) != 1 ||
	    !const_eval_number(linitial(type->typmods), eval, &length))
		return 1;
	if (str_is(name, "bpchar"))
		return fmax(length, 1);
	return str_is(name, "bit") ? fmax(length / 8, 1) : 1;
}
