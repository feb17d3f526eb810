#include "sql/postgresql/safety/const_eval_internal.h" // first: see pg_nodes.h

bool const_eval_step(struct const_eval eval)
{
	return eval.depth < CONST_EVAL_MAX_DEPTH && ++*eval.steps < CONST_EVAL_MAX_STEPS;
}

struct const_eval const_eval_deeper(struct const_eval eval)
{
	eval.depth++;
	return eval;
}

str_t safety_call_name(const FuncCall *call)
{
	return str_from(names_last(call->funcname));
}

bool safety_call_is(const FuncCall *call, const char *name)
{
	const char *called = names_last(call->funcname);
	return called && strcmp(called, name) == 0;
}

const Node *safety_call_argument(const FuncCall *call, int index)
{
	if (index >= list_length(call->args))
		return NULL;
	const Node *node = list_nth(call->args, index);
	return node && IsA(node, NamedArgExpr) ? (const Node *)((const NamedArgExpr *)node)->arg : node;
}

const char *const_eval_text(const Node *node)
{
	for (unsigned depth = 0; node && IsA(node, TypeCast) && depth < CONST_EVAL_MAX_DEPTH; depth++)
		node = ((const TypeCast *)node)->arg;
	return node_string(node);
}
