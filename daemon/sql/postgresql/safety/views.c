#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "sql/lex/gate.h"

static bool vetted_before(struct walk *walk, const struct catalog_relation *view)
{
	for (size_t i = 0; i < walk->views->count; i++)
		if (walk->views->items[i] == view)
			return true;
	return false;
}

static void check_definition(struct walk *outer, const struct parsed_statement *parsed, int location)
{
	struct diagnostics unused = { .arena = outer->list->arena };
	struct resolution resolution = { 0 };
	struct const_eval_memory memory = { .used = false };
	resolve_statement(parsed, outer->request->catalog, outer->list->arena, &unused, &resolution);
	struct walk inner = { .list = outer->list,
			      .request = outer->request,
			      .known = outer->known,
			      .resolution = &resolution,
			      .volatiles = outer->volatiles,
			      .views = outer->views,
			      .steps = outer->steps,
			      .memory = &memory,
			      .in_view = true,
			      .view_location = outer->in_view ? outer->view_location : location,
			      .text = parsed->text,
			      .depth = outer->depth,
			      .rows = 1 };
	if (resolution.too_deep)
		WALK_VIOLATION(&inner, VIOLATION_TOO_DEEP, 0, "a view is nested too deeply");
	walk_statement(&inner, parsed->statement, 0);
	safety_check_suspected_calls(&inner);
	safety_check_conversions(&inner);
}

/* The definition is parsed while the statement's own nodes are in use: libpg_query keeps each in memory of
 * its own, and the walk makes none. */
void safety_check_view(struct walk *walk, const struct catalog_relation *view, int location)
{
	struct checked_views *views = walk->views;
	if (vetted_before(walk, view))
		return;
	if (views->count >= SAFETY_MAX_VIEWS) {
		WALK_VIOLATION(walk, VIOLATION_TOO_DEEP, location, "views on views");
		return;
	}
	views->items[views->count++] = view;
	if (gate_check(view->definition).verdict != GATE_PASSED) {
		violations_doubt(walk->list, "view " STR_FMT " is too complex to be looked into",
				 STR_ARG(view->name));
		return;
	}
	struct parsed_statement parsed;
	parse_begin(arena_str(walk->list->arena, view->definition), walk->list->arena, &parsed);
	if (parsed.statement)
		check_definition(walk, &parsed, location);
	else
		violations_doubt(walk->list, "the definition of view " STR_FMT " cannot be read",
				 STR_ARG(view->name));
	parse_end(&parsed);
}
