#include "sql/postgresql/safety/bombs.h" // first: see pg_nodes.h

#include "sql/postgresql/safety/const_eval_internal.h"

#include <math.h>

/* What a query may measure with length(…), to count with. */
static double measured(const Node *node, struct const_eval eval)
{
	if (!node || !const_eval_step(eval))
		return 0;
	eval = const_eval_deeper(eval);
	if (IsA(node, FuncCall)) {
		const FuncCall *call = (const FuncCall *)node;
		if (SAFETY_CALL_IS_ANY(call, "length", "char_length", "octet_length"))
			return const_eval_bytes_within(safety_call_argument(call, 0), eval);
	}
	if (IsA(node, TypeCast))
		return measured(((const TypeCast *)node)->arg, eval);
	if (!IsA(node, A_Expr))
		return 0;
	const A_Expr *expr = (const A_Expr *)node;
	double left = measured(expr->lexpr, eval);
	double right = measured(expr->rexpr, eval);
	if (left <= 0 && right <= 0)
		return 0;
	return (left > 0 ? left : fmax(const_eval_number_or(expr->lexpr, eval, 1), 1)) *
	       (right > 0 ? right : fmax(const_eval_number_or(expr->rexpr, eval, 1), 1));
}

/* Functions that return a row for each part of what they are given. */
static bool takes_apart(const FuncCall *call)
{
	return SAFETY_CALL_IS_ANY(call, "unnest", "string_to_table", "regexp_split_to_table",
				  "regexp_matches", "generate_subscripts", "json_array_elements",
				  "json_array_elements_text", "jsonb_array_elements",
				  "jsonb_array_elements_text");
}

/* Functions that go through their arguments once, not through one for each place in another. */
static bool is_linear(const FuncCall *call)
{
	return SAFETY_CALL_IS_ANY(call, "concat", "concat_ws", "format", "repeat", "lpad", "rpad",
				  "array_cat", "array_append", "array_prepend", "array_fill", "overlay",
				  "json_build_array", "jsonb_build_array", "json_build_object",
				  "jsonb_build_object", "string_agg", "translate", "starts_with",
				  "array_to_string", "encode", "to_tsvector", "greatest");
}

double bomb_work(const Node *left, const Node *right, struct const_eval eval)
{
	double bytes = left ? const_eval_bytes_kept(left, eval) : 1;
	return bytes < BOMB_SMALL_BYTES ? bytes : bytes * (right ? const_eval_bytes_kept(right, eval) : 1);
}

struct call_size bomb_call_size(const FuncCall *call, struct const_eval eval)
{
	struct call_size size = { 1, 1, 1 };
	if (safety_call_is(call, "generate_series"))
		size.rows = fmax(fmax(const_eval_series_rows(call, eval),
				      measured(safety_call_argument(call, 1), eval)),
				 1);
	if (takes_apart(call) && const_eval_longest(call->args, eval) >= BOMB_SMALL_BYTES)
		size.rows = const_eval_longest(call->args, eval);
	if (list_length(call->args) >= 2 && !is_linear(call))
		size.work = bomb_work(safety_call_argument(call, 0), safety_call_argument(call, 1), eval);
	if (SAFETY_CALL_IS_ANY(call, "repeat", "lpad", "rpad", "array_fill", "format", "factorial", "power",
			       "pow", "exp", "replace", "regexp_replace", "array_to_string", "concat_ws",
			       "concat", "encode", "quote_literal", "quote_nullable", "quote_ident",
			       "to_json", "to_jsonb", "json_build_array", "jsonb_build_array"))
		size.bytes = const_eval_call_bytes(call, eval);
	if (*eval.steps >= CONST_EVAL_MAX_STEPS) /* nobody writes such constants for their values */
		size.rows = INFINITY;
	return size;
}
