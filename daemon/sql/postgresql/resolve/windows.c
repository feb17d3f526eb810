#include "sql/postgresql/resolve/internal.h"

#include "common/hash.h"

#include "catalog/pg_type_d.h"

/* The first window of that name in the clause; for one of the clause itself: if it stands before that. */
static const WindowDef *window_named(const struct scope *scope, const WindowDef *before, const char *name)
{
	const ListCell *cell;
	const WindowDef *named =
		scope->window_names ? hash_map_get(scope->window_names, str_from(name)) : NULL;
	if (scope->window_names)
		return named && (!before || !before->name || named->location < before->location) ? named
												 : NULL;
	foreach(cell, scope->window_clause)
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
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_WINDOW, SUB_INVALID_WINDOW_UNKNOWN, "42704",
			      str_from(name), window->location, "window \"%s\" is not defined", name);
}

void resolve_over(struct resolver *resolver, struct scope *scope, const WindowDef *window)
{
	if (window->name) {
		if (!window_named(scope, NULL, window->name))
			report_unknown_window(resolver, window, window->name);
		return;
	}
	ARENA_PUSH(resolver->arena, scope->windows, scope->windows_count, scope->windows_capacity, window);
}

static void report_window(struct resolver *resolver, const WindowDef *window, const char *message)
{
	resolver_report_type(resolver, DIAG_INVALID_WINDOW, SUB_NONE, "42P20", window->location, "%s",
			     message);
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

static bool is_array_or_enum(const struct catalog *catalog, type_id type)
{
	const struct catalog_type *base = catalog_type(catalog, catalog_type_base(catalog, type));
	return base && (base->kind == 'e' || base->element != TYPE_UNSURE);
}

/* What can be added to and taken from a value by RANGE; TYPE_UNSURE: not known, ANYOID: nothing. */
static type_id range_offset_type(const struct catalog *catalog, type_id order)
{
	switch (catalog_type_base(catalog, order)) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
	case NUMERICOID:
		return order;
	case FLOAT4OID:
	case FLOAT8OID:
		return FLOAT8OID;
	case DATEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
	case TIMEOID:
	case TIMETZOID:
	case INTERVALOID:
		return INTERVALOID;
	case TEXTOID:
	case VARCHAROID:
	case BPCHAROID:
	case NAMEOID:
	case BOOLOID:
	case UUIDOID:
	case JSONBOID:
	case BYTEAOID:
		return ANYOID;
	default:
		return is_array_or_enum(catalog, order) ? ANYOID : TYPE_UNSURE;
	}
}

static void check_range_offset(struct resolver *resolver, const Node *offset, type_id type, type_id order)
{
	type_id wanted =
		resolver_knows_types(resolver) ? range_offset_type(resolver->catalog, order) : TYPE_UNSURE;
	if (wanted == TYPE_UNSURE)
		return;
	bool integer = type_category_of(resolver->catalog, wanted) == TYPE_INTEGER;
	bool fits = wanted != ANYOID;
	if (fits && type == UNKNOWNOID)
		(void)resolver_coerce_value(resolver, offset, type, wanted, CAST_IMPLICIT);
	else if (fits)
		fits = type_can_coerce(resolver->catalog, type, integer ? INT8OID : wanted, CAST_IMPLICIT) !=
		       SURELY_NOT;
	if (fits)
		return;
	str_t one = type_text(resolver->catalog, order), other = type_text(resolver->catalog, type);
	resolver_report_type(resolver, DIAG_INVALID_WINDOW, SUB_INVALID_WINDOW_RANGE, "0A000",
			     resolver_node_location(resolver, offset),
			     "RANGE cannot go from a value of type " STR_FMT " by one of type " STR_FMT,
			     STR_ARG(one), STR_ARG(other));
}

static void check_offset(struct resolver *resolver, struct scope *scope, const WindowDef *window,
			 const Node *offset, type_id order)
{
	struct marks marks = { 0 };
	int options = window->frameOptions;
	if (!offset)
		return;
	type_id type = resolve_in_place(resolver, scope, offset, PLACE_WINDOW_FRAME, &marks);
	if (options & FRAMEOPTION_RANGE)
		check_range_offset(resolver, offset, type, order);
	else
		resolver_coerce_or_report(resolver, offset, type, INT8OID,
					  options & FRAMEOPTION_GROUPS ? "GROUPS" : "ROWS");
	if (marks.columns & level_bit(scope->level))
		resolver_report_type(resolver, DIAG_INVALID_WINDOW, SUB_NONE, "42P10",
				     resolver_node_location(resolver, offset),
				     "the offset of a window frame cannot depend on columns");
}

static void check_frame(struct resolver *resolver, struct scope *scope, const WindowDef *window,
			const List *order)
{
	bool offsets = window->startOffset || window->endOffset;
	if ((window->frameOptions & FRAMEOPTION_RANGE) && offsets && list_length(order) != 1)
		report_window(resolver, window, "RANGE with an offset needs exactly one ORDER BY column");
	if ((window->frameOptions & FRAMEOPTION_GROUPS) && list_length(order) == 0)
		report_window(resolver, window, "GROUPS needs ORDER BY");
	type_id type = TYPE_UNSURE;
	if (list_length(order) == 1)
		type = resolution_type(resolver->resolution, linitial_node(SortBy, order)->node);
	if (type == UNKNOWNOID) /* a quoted literal */
		type = TEXTOID;
	check_offset(resolver, scope, window, window->startOffset, type);
	check_offset(resolver, scope, window, window->endOffset, type);
}

static void resolve_window_key(struct resolver *resolver, struct scope *scope, const Node *key,
			       enum place place)
{
	resolve_check_key(resolver, key, resolve_in_place(resolver, scope, key, place, NULL),
			  place == PLACE_WINDOW_ORDER);
}

static void resolve_window(struct resolver *resolver, struct scope *scope, const WindowDef *window)
{
	const List *order = window->orderClause;
	const ListCell *cell;
	if (window->refname) {
		const WindowDef *from = window_named(scope, window, window->refname);
		if (!from)
			report_unknown_window(resolver, window, window->refname);
		else
			check_copied(resolver, window, from);
		if (from && !order)
			order = from->orderClause;
	}
	foreach(cell, window->orderClause)
		resolve_window_key(resolver, scope, lfirst_node(SortBy, cell)->node, PLACE_WINDOW_ORDER);
	foreach(cell, window->partitionClause)
		resolve_window_key(resolver, scope, lfirst(cell), PLACE_WINDOW_PARTITION);
	check_frame(resolver, scope, window, order);
}

void resolve_windows(struct resolver *resolver, struct level *level)
{
	const ListCell *cell;
	struct scope *scope = level->scope;
	foreach(cell, level->select->windowClause)
	{
		const WindowDef *window = lfirst_node(WindowDef, cell);
		if (window_named(scope, window, window->name))
			report_window(resolver, window, "a window of that name is defined already");
		resolve_window(resolver, scope, window);
	}
	for (size_t i = 0; i < scope->windows_count; i++)
		resolve_window(resolver, scope, scope->windows[i]);
}
