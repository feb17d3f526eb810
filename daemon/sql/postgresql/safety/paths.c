#include "sql/postgresql/safety/paths.h" // first: see pg_nodes.h

#include <ctype.h>

#define LARGE_DOCUMENT 1e4 /* bytes */
#define MAX_REPEATS    1e3 /* of an element, by the subscripts of a JSON path */

/* Searches through the whole document, or all siblings, that a path makes. */
struct path_cost {
	unsigned outside; /* one after the other */
	unsigned inside;  /* of predicates: for each node that the path comes to */
};

/* Steps of a path that reach further than to a child. */
static bool is_far_axis(const char *path, size_t end)
{
	static const char *const near[] = { "child", "self", "attribute", "namespace" };
	size_t start = end;
	while (start > 0 && (isalpha((unsigned char)path[start - 1]) || path[start - 1] == '-'))
		start--;
	for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
		if (end - start == strlen(near[i]) && memcmp(path + start, near[i], end - start) == 0)
			return false;
	return true;
}

/* Whether the slash is the document itself: nothing that could be a step stands before it. */
static bool is_root(const char *path, size_t at)
{
	size_t before = at;
	while (before > 0 && isspace((unsigned char)path[before - 1]))
		before--;
	if (before == 0)
		return true;
	unsigned char last = (unsigned char)path[before - 1];
	return before < at ? last != ']' && last != ')' : strchr("[(,=<>|+-!", last) != NULL;
}

static struct path_cost path_cost(const char *path)
{
	struct path_cost cost = { 0, 0 };
	unsigned depth = 0;
	for (size_t i = 0; path[i]; i++) {
		bool far = false;
		if (path[i] == '\'' || path[i] == '"') {
			const char *end = strchr(path + i + 1, path[i]);
			if (!end)
				return cost;
			i = (size_t)(end - path);
		} else if (path[i] == '[') {
			depth++;
		} else if (path[i] == ']') {
			depth -= depth > 0;
		} else if (path[i] == '/') {
			far = path[i + 1] == '/' || (depth > 0 && is_root(path, i));
			i += path[i + 1] == '/';
		} else if (path[i] == '.' && path[i + 1] == '.') {
			far = depth > 0; /* else one node, however often */
			i++;
		} else if (path[i] == ':' && path[i + 1] == ':') {
			far = is_far_axis(path, i);
			i++;
		}
		cost.outside += far && depth == 0;
		cost.inside += far && depth > 0;
	}
	return cost;
}

void path_check(struct walk *walk, const Node *path, const Node *document, bool each_row, int location)
{
	struct const_eval eval = walk_const_eval(walk);
	const char *text = path ? const_eval_text(path) : NULL;
	if (!path)
		return;
	if (!text) {
		if (!const_eval_may_read_data(path, eval))
			WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, location, "a path that hides");
		return;
	}
	struct path_cost cost = path_cost(text);
	cost.inside += each_row ? cost.outside : 0;
	bool large = document && const_eval_bytes(document, eval) >= LARGE_DOCUMENT;
	if (cost.inside >= 2 || (large && (cost.inside > 0 || cost.outside >= 2)))
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, location,
			       "a path that searches a document again and again");
}

/* How often subscripts make a JSON path come back to what it has found: $[0,0][0,0] is four times. */
static double path_repeats(const char *path)
{
	double total = 1;
	double here = 1;
	for (; *path; path++) {
		if (*path == '"') {
			const char *end = strchr(path + 1, '"');
			path = end ? end : path;
		} else if (*path == '[') {
			here = 1;
		} else if (*path == ',') {
			here++;
		} else if (*path == ']') {
			total *= here;
			here = 1;
		}
	}
	return total;
}

void path_check_json(struct walk *walk, const Node *path, int location)
{
	const char *text = path ? const_eval_text(path) : NULL;
	if (text && path_repeats(text) >= MAX_REPEATS)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, location,
			       "a path that takes the same elements again and again");
}

void path_check_call(struct walk *walk, const FuncCall *call)
{
	static const struct {
		const char *name;
		int path;
	} functions[] = { { "xpath", 0 },	 { "xpath_exists", 0 },	 { "xmlexists", 0 },
			  { "xpath_string", 1 }, { "xpath_nodeset", 1 }, { "xpath_list", 1 },
			  { "xpath_number", 1 }, { "xpath_bool", 1 } };
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
		if (safety_call_is(call, functions[i].name))
			path_check(walk, safety_call_argument(call, functions[i].path),
				   safety_call_argument(call, 1 - functions[i].path), false, call->location);
	const Node *name = llast(call->funcname);
	if (IsA(name, String) && strncmp(NODE_STRING(name), "jsonb_path_", strlen("jsonb_path_")) == 0)
		path_check_json(walk, safety_call_argument(call, 1), call->location);
}
