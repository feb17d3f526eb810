#include "sql/postgresql/safety/recursion.h" // first: see pg_nodes.h

#include <math.h>

/* Names of functions whose result is longer than what they are given, or at least may be. */
static double stretching(const FuncCall *call, struct const_eval eval)
{

	if (safety_call_is(call, "repeat"))
		return fmax(const_eval_number_or(safety_call_argument(call, 1), eval, 2), 1);
	if (safety_call_is(call, "replace") || safety_call_is(call, "regexp_replace")) {
		const char *old = const_eval_text(safety_call_argument(call, 1));
		const char *new = const_eval_text(safety_call_argument(call, 2));
		bool plain = old && new && !safety_call_is(call, "regexp_replace");
		return plain ? fmax((double)strlen(new) / fmax((double)strlen(old), 1), 1) : 2;
	}
	return SAFETY_CALL_IS_ANY(call, "encode", "quote_literal", "quote_nullable", "quote_ident", "to_json",
				  "to_jsonb", "format", "xmlelement")
		       ? 2
		       : 1;
}

/* Functions that give back what they are given, or more of it. */
static bool keeps_all(const FuncCall *call)
{
	return SAFETY_CALL_IS_ANY(call, "concat", "concat_ws", "repeat", "replace", "regexp_replace",
				  "format", "array_cat", "array_append", "array_prepend", "json_build_array",
				  "jsonb_build_array", "json_build_object", "overlay", "jsonb_build_object",
				  "lower", "upper", "reverse", "initcap") ||
	       stretching(call, (struct const_eval){ .steps = &(unsigned){ 0 } }) > 1;
}

static double copies_of_list(const List *list, const char *name, struct const_eval eval, unsigned depth);

/* How often the text of the next row holds that of the column in the row before. */
static double copies(const Node *node, const char *name, struct const_eval eval, unsigned depth)
{
	const char *same = recursion_reference(node);
	if (!node || depth >= RECURSION_MAX_DEPTH || !const_eval_step(eval))
		return 0;
	depth++;
	if (same)
		return strcmp(same, name) == 0 ? 1 : 0;
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return copies(((const TypeCast *)node)->arg, name, eval, depth);
	case T_A_ArrayExpr:
		return copies_of_list(((const A_ArrayExpr *)node)->elements, name, eval, depth);
	case T_RowExpr:
		return copies_of_list(((const RowExpr *)node)->args, name, eval, depth);
	case T_A_Expr: {
		const A_Expr *expr = (const A_Expr *)node;
		if (expr->kind != AEXPR_OP || strcmp(NODE_STRING(llast(expr->name)), "||") != 0)
			return 0;
		return copies(expr->lexpr, name, eval, depth) + copies(expr->rexpr, name, eval, depth);
	}
	case T_FuncCall: {
		const FuncCall *call = (const FuncCall *)node;
		return keeps_all(call)
			       ? stretching(call, eval) * copies_of_list(call->args, name, eval, depth)
			       : 0;
	}
	default:
		return 0;
	}
}

static double copies_of_list(const List *list, const char *name, struct const_eval eval, unsigned depth)
{
	double total = 0;
	ListCell *cell;
	foreach(cell, list) total += copies(lfirst(cell), name, eval, depth);
	return total;
}

#define MAX_COLUMNS 12 /* that are looked at together */
#define DOUBLINGS   24 /* levels after which growth shows */

static const char *column_name(const CommonTableExpr *cte, int index)
{
	const SelectStmt *first = ((const SelectStmt *)cte->ctequery)->larg;
	if (index < list_length(cte->aliascolnames))
		return NODE_STRING(list_nth(cte->aliascolnames, index));
	if (first->op == SETOP_NONE && index < list_length(first->targetList))
		return recursion_output(list_nth(first->targetList, index));
	return NULL;
}

/* Whether the columns of the recursive arm, each made of those of the row before, double again and again. */
bool recursion_doubles(const CommonTableExpr *cte, const SelectStmt *arm, struct const_eval eval)
{
	double held[MAX_COLUMNS][MAX_COLUMNS] = { { 0 } };
	double sizes[MAX_COLUMNS];
	int count = arm->op == SETOP_NONE ? list_length(arm->targetList) : 0;
	count = count < MAX_COLUMNS ? count : MAX_COLUMNS;
	for (int i = 0; i < count; i++) {
		sizes[i] = 1;
		for (int j = 0; j < count; j++) {
			const char *name = column_name(cte, j);
			const ResTarget *target = list_nth(arm->targetList, i);
			held[i][j] = name ? copies(target->val, name, eval, 0) : 0;
		}
	}
	double total = 0;
	for (int level = 0; level < DOUBLINGS; level++) {
		double next[MAX_COLUMNS];
		total = 0;
		for (int i = 0; i < count; i++) {
			next[i] = 1;
			for (int j = 0; j < count; j++)
				next[i] += held[i][j] * sizes[j];
			total += next[i];
		}
		memcpy(sizes, next, sizeof sizes);
	}
	return total >= 1e5; /* what only adds to itself stays far below */
}
