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

const char *const_eval_last_name(const List *names)
{
	const Node *node = names ? llast(names) : NULL;
	return node && IsA(node, String) ? NODE_STRING(node) : "";
}

static bool is_same(const char *name, const char *other)
{
	return *name == *other && strcmp(name, other) == 0;
}

bool safety_call_is(const FuncCall *call, const char *name)
{
	return is_same(const_eval_last_name(call->funcname), name);
}

bool safety_call_is_one_of(const FuncCall *call, const char *const *names, size_t count)
{
	const char *name = const_eval_last_name(call->funcname);
	for (size_t i = 0; i < count; i++)
		if (is_same(name, names[i]))
			return true;
	return false;
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
	if (!node || !IsA(node, A_Const))
		return NULL;
	const A_Const *literal = (const A_Const *)node;
	return !literal->isnull && literal->val.node.type == T_String ? literal->val.sval.sval : NULL;
}
