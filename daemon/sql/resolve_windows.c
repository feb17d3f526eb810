#include "sql/resolve_internal.h"

#include "catalog/pg_type_d.h"

static const WindowDef *window_named(const List *windows, const WindowDef *before, const char *name)
{
	const ListCell *cell;
	foreach(cell, windows)
	{
		const WindowDef *window = lfirst_node(WindowDef, cell);
		if (window == before)
			break;
		if (strcmp(window->name, name) == 0)
			return window;
	}
	return NULL;
}

static void report_unknown_window(struct resolver *resolver, const WindowDef *window, const char *name)
{
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_WINDOW, "unknown", "42704", str_from(name),
			      window->location, "window \"%s\" is not defined", name);
}

void resolve_over(struct resolver *resolver, struct scope *scope, const WindowDef *window)
{
	if (window->name) {
		if (!window_named(scope->window_clause, NULL, window->name))
			report_unknown_window(resolver, window, window->name);
		return;
	}
	ARENA_PUSH(resolver->arena, scope->windows, scope->windows_count, scope->windows_capacity, window);
}

static void report_window(struct resolver *resolver, const WindowDef *window, const char *message)
{
	report_type(resolver, DIAG_INVALID_WINDOW, NULL, "42P20", window->location, "%s", message);
}

/* What a window takes from another one it cannot say again. */
static void check_copied(struct resolver *resolver, const WindowDef *window, const WindowDef *from)
{
	if (window->partitionClause)
		report_window(resolver, window, "a window that is based on another cannot have PARTITION BY");
	else if (window->orderClause && from->orderClause)
		report_window(resolver, window, "the window that this is based on has ORDER BY already");
	else if (from->frameOptions & FRAMEOPTION_NONDEFAULT)
		report_window(resolver, window, "the window that this is based on has a frame");
}

static void check_frame(struct resolver *resolver, struct scope *scope, const WindowDef *window,
			const List *order)
{
	int options = window->frameOptions;
	bool offsets = window->startOffset || window->endOffset;
	if ((options & FRAMEOPTION_RANGE) && offsets && list_length(order) != 1)
		report_window(resolver, window, "RANGE with an offset needs exactly one ORDER BY column");
	if ((options & FRAMEOPTION_GROUPS) && list_length(order) == 0)
		report_window(resolver, window, "GROUPS needs ORDER BY");
	const Node *bounds[] = { window->startOffset, window->endOffset };
	for (size_t i = 0; i < 2; i++) {
		struct marks marks = { 0 };
		type_id type = resolve_in_place(resolver, scope, bounds[i], PLACE_WINDOW_FRAME, &marks);
		if (!bounds[i])
			continue;
		if (!(options & FRAMEOPTION_RANGE))
			coerce_or_report(resolver, bounds[i], type, INT8OID,
					 options & FRAMEOPTION_GROUPS ? "GROUPS" : "ROWS");
		if (marks.columns & level_bit(scope->level))
			report_type(resolver, DIAG_INVALID_WINDOW, NULL, "42P10", node_location(bounds[i]),
				    "the offset of a window frame cannot depend on columns");
	}
}

static void resolve_window(struct resolver *resolver, struct scope *scope, const WindowDef *window)
{
	const List *order = window->orderClause;
	const ListCell *cell;
	if (window->refname) {
		const WindowDef *from = window_named(scope->window_clause, window, window->refname);
		if (!from)
			report_unknown_window(resolver, window, window->refname);
		else
			check_copied(resolver, window, from);
		if (from && !order)
			order = from->orderClause;
	}
	foreach(cell, window->orderClause)(void)
		resolve_in_place(resolver, scope, lfirst_node(SortBy, cell)->node, PLACE_WINDOW_ORDER, NULL);
	foreach(cell, window->partitionClause)(void)
		resolve_in_place(resolver, scope, lfirst(cell), PLACE_WINDOW_PARTITION, NULL);
	check_frame(resolver, scope, window, order);
}

void resolve_windows(struct resolver *resolver, struct level *level)
{
	const ListCell *cell;
	struct scope *scope = level->scope;
	foreach(cell, level->select->windowClause)
	{
		const WindowDef *window = lfirst_node(WindowDef, cell);
		if (window_named(level->select->windowClause, window, window->name))
			report_window(resolver, window, "a window of that name is defined already");
		resolve_window(resolver, scope, window);
	}
	for (size_t i = 0; i < scope->windows_count; i++)
		resolve_window(resolver, scope, scope->windows[i]);
}
