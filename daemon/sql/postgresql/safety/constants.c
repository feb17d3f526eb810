#include "sql/postgresql/safety/constant_parts.h" // first: see pg_nodes.h

bool look_on(struct look look)
{
	return look.depth < LOOK_MAX_DEPTH && ++*look.steps < LOOK_MAX_STEPS;
}

struct look look_deeper(struct look look)
{
	look.depth++;
	return look;
}

const char *constant_last_name(const List *names)
{
	const Node *node = names ? llast(names) : NULL;
	return node && IsA(node, String) ? NODE_STRING(node) : "";
}

static bool is_same(const char *name, const char *other)
{
	return *name == *other && strcmp(name, other) == 0;
}

bool call_is(const FuncCall *call, const char *name)
{
	return is_same(constant_last_name(call->funcname), name);
}

bool call_is_one_of(const FuncCall *call, const char *const *names, size_t count)
{
	const char *name = constant_last_name(call->funcname);
	for (size_t i = 0; i < count; i++)
		if (is_same(name, names[i]))
			return true;
	return false;
}

const Node *call_argument(const FuncCall *call, int index)
{
	if (index >= list_length(call->args))
		return NULL;
	const Node *node = list_nth(call->args, index);
	return node && IsA(node, NamedArgExpr) ? (const Node *)((const NamedArgExpr *)node)->arg : node;
}

const char *constant_text(const Node *node)
{
	for (unsigned depth = 0; node && IsA(node, TypeCast) && depth < LOOK_MAX_DEPTH; depth++)
		node = ((const TypeCast *)node)->arg;
	if (!node || !IsA(node, A_Const))
		return NULL;
	const A_Const *literal = (const A_Const *)node;
	return !literal->isnull && literal->val.node.type == T_String ? literal->val.sval.sval : NULL;
}
