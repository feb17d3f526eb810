#include "sql/postgresql/safety/growth_internal.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"

/* Paths through JSON: each `**` takes all levels below what the one in front took. */

static bool count_descents(const Node *node, void *context)
{
	unsigned *descents = context;
	const char *text = node_string(node);
	for (const char *at = text ? strstr(text, "**") : NULL; at; at = strstr(at + 2, "**"))
		++*descents;
	return node_children(node, count_descents, context);
}

static void check_path(struct growth *growth, const Node *path, int location)
{
	unsigned descents = 0;
	if (path)
		count_descents(path, &descents);
	if (descents > 1)
		growth->path_location = location;
}

void growth_note_paths(struct growth *growth, const Node *node)
{
	if (IsA(node, FuncCall)) {
		const FuncCall *call = (const FuncCall *)node;
		const char *name = names_last(call->funcname);
		if (name && strncmp(name, "jsonb_path_", strlen("jsonb_path_")) == 0)
			check_path(growth, safety_call_argument(call, 1), call->location);
	} else if (IsA(node, A_Expr)) {
		const A_Expr *expr = (const A_Expr *)node;
		const char *name = names_last(expr->name);
		if (name && (strcmp(name, "@?") == 0 || strcmp(name, "@@") == 0))
			check_path(growth, expr->rexpr, expr->location);
	} else if (IsA(node, TypeCast)) {
		const TypeCast *cast = (const TypeCast *)node;
		const char *name = names_last(cast->typeName->names);
		if (name && strcmp(name, "jsonpath") == 0)
			check_path(growth, cast->arg, cast->location);
	}
}
