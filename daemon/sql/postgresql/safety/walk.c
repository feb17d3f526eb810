#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

struct const_eval walk_const_eval(const struct walk *walk)
{
	return (struct const_eval){ .resolution = walk->resolution,
				    .steps = walk->steps,
				    .memory = walk->memory };
}

void safety_multiply_rows(struct walk *walk, double rows, int location)
{
	bool below = walk->rows < BOMB_QUERY_ROWS && rows < BOMB_QUERY_ROWS;
	walk->rows *= rows;
	walk->rows_location = location;
	if (below && walk->rows >= BOMB_QUERY_ROWS && !walk->in_view)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, location, "%.0f rows by multiplication",
			       walk->rows);
}

/* Calls */

void safety_add_bytes(struct walk *walk, str_t name, double bytes, int location)
{
	double all = bytes * walk->rows;
	bool below = walk->bytes < BOMB_QUERY_BYTES;
	if (walk->in_view || bytes <= 1)
		return;
	if (bytes >= BOMB_SMALL_BYTES)
		walk->bytes += all;
	bool each_row = walk->reads.user_relations > 0 || walk->reads.system_relations > 0;
	if (bytes >= (each_row ? BOMB_ROW_BYTES : BOMB_CALL_BYTES) || all >= BOMB_QUERY_BYTES ||
	    (below && walk->bytes >= BOMB_QUERY_BYTES))
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, location, STR_FMT " of %.0f bytes",
			       STR_ARG(name), bytes);
}

/* Names */

void safety_doubt_name(struct walk *walk, const char *what, struct qualified_name name)
{
	violations_doubt(walk->list, "%s " STR_FMT "%s" STR_FMT " is not known: " STR_FMT, what,
			 STR_ARG(name.schema), str_present(name.schema) ? "." : "", STR_ARG(name.name),
			 STR_ARG(walk->known.gap));
}

const struct catalog_type *safety_type_written(const struct walk *walk, const TypeName *type)
{
	struct qualified_name name = names_qualified(type->names);
	return str_present(name.name) ? catalog_type_named(walk->known.catalog, name.schema, name.name)
				      : NULL;
}
