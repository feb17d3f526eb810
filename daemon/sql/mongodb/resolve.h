/*
 * Names of a query against the catalog: collections and fields that are not there, literals that no value of
 * a field can equal. What documents have is followed through the stages (shape.h); where anything is not
 * known, nothing is said. Pure; any thread; work, depth and hints are bounded.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/mongodb/command.h"
#include "sql/mongodb/shape.h"

/* A variable, with what it stands for. */
struct mongodb_binding {
	str_t name;
	struct mongodb_shape *shape;
	const struct mongodb_binding *outer;
};

struct mongodb_resolver {
	struct arena *arena;
	struct diagnostics *diagnostics;
	const struct catalog *catalog;
	struct mongodb_shapes shapes;
	struct mongodb_shape *root;		 /* the documents at this place */
	const struct mongodb_binding *variables; /* in scope, the innermost first */
	struct hash_map
		absences; /* fields that it is asked of whether they are there: if not, it is no fault */
	unsigned hints;	  /* that were looked for: they are dear */
};

/* Reports what the catalog does not have of what the whole command names. */
void mongodb_resolve(const struct mongodb_command *command, const struct catalog *catalog,
		     struct arena *arena, struct diagnostics *diagnostics);

/* The documents of the collection of that name, which is named at `offset`; open where it is not known. */
struct mongodb_shape *mongodb_resolve_collection(struct mongodb_resolver *resolver, str_t name,
						 size_t offset);

/* The field at a dotted path of such documents; open where it is not known, which is reported. `ret_direct`,
 * or NULL: it is reached through documents alone, not through arrays. */
struct mongodb_shape *mongodb_resolve_path(struct mongodb_resolver *resolver,
					   const struct mongodb_shape *documents, str_t path, size_t offset,
					   bool *ret_direct);

/* resolve_filters.c: a filter of documents. */
void mongodb_resolve_filter(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			    const struct mongodb_value *filter);

/* A literal that is held against a value of that shape, called `name`, in a filter or an expression. */
void mongodb_resolve_comparison(struct mongodb_resolver *resolver, const struct mongodb_shape *shape,
				str_t name, const struct mongodb_value *literal, bool in_filter);

/* The same of a list, of which one is enough that can be met; the first is told of. */
void mongodb_resolve_list(struct mongodb_resolver *resolver, const struct mongodb_shape *shape, str_t name,
			  const struct mongodb_value *list, bool in_filter);

/* One side of a comparison of values that are no literals. */
struct mongodb_operand {
	const struct mongodb_shape *shape;
	str_t name;
	size_t offset;
};

/* The two of them; `in_filter`: the elements of arrays count, too. */
void mongodb_resolve_pair(struct mongodb_resolver *resolver, const struct mongodb_operand *left,
			  const struct mongodb_operand *right, bool in_filter);

/* resolve_expressions.c: an expression over the documents at this place, and what it makes. Never NULL. */
struct mongodb_shape *mongodb_resolve_expression(struct mongodb_resolver *resolver,
						 const struct mongodb_value *expression);

/* An accumulator or a function of a window, by the member that names it. */
struct mongodb_shape *mongodb_resolve_accumulator(struct mongodb_resolver *resolver,
						  const struct mongodb_value *operand);

/* Binds each member of {name: expression, …} as a variable; the former ones are then `variables` again. */
void mongodb_resolve_let(struct mongodb_resolver *resolver, const struct mongodb_value *let);

/* resolve_stages.c: what comes out of a pipeline that `documents` go into. */
struct mongodb_shape *mongodb_resolve_pipeline(struct mongodb_resolver *resolver,
					       struct mongodb_shape *documents,
					       const struct mongodb_value *pipeline);

/* The fields that are sorted by, and those that a projection names. What the projection leaves of the
 * documents. */
void mongodb_resolve_sort(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			  const struct mongodb_value *sort);
struct mongodb_shape *mongodb_resolve_projection(struct mongodb_resolver *resolver,
						 const struct mongodb_value *projection);
