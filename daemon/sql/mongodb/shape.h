/*
 * What is known of the documents at one place of a query: which fields they have, those within them
 * included, and the types of their values. From the catalog at first, then changed by each stage. A shape
 * that is open may have any field. Paths go through arrays as those of the server do: the shape of an array
 * of documents is that of its documents.
 *
 * Shapes live in the arena of their workshop and belong to one thread. Work and depth are bounded: beyond,
 * what is asked for is open.
 */
#pragma once

#include "common/hash.h"
#include "sql/catalog/content.h"

struct mongodb_shape {
	bool open;
	bool owned;	   /* by the shape that it is a field of, or by the pipeline: it may be changed */
	unsigned depth;	   /* of shapes that it stands on */
	unsigned types;	   /* of the value, a set of enum catalog_bson; 0: not known */
	unsigned elements; /* likewise, of those in arrays */
	bool only;	   /* … and no others */
	const struct catalog_relation
		*relation;		     /* whose documents, or those within them, these are, or NULL */
	const struct catalog_column *column; /* where these are; NULL: the documents themselves */
	const struct mongodb_shape *base;    /* has what is not among the fields of its own, or NULL */
	const struct mongodb_shape *other;   /* what it may be instead, or NULL */
	struct hash_map fields;		     /* of its own, by name; some of them removed */
	str_t *names;			     /* of these, as they came */
	size_t names_count, names_capacity;
};

struct mongodb_shapes {
	struct arena *arena;
	size_t steps;
	struct mongodb_shape open, removed;
};

void mongodb_shapes_init(struct mongodb_shapes *shapes, struct arena *arena);

/* The documents of a collection; NULL: one of which nothing is known. */
struct mongodb_shape *mongodb_shape_of(struct mongodb_shapes *shapes,
				       const struct catalog_relation *relation);

/* A value of those types, which has no fields; of 0 it may be of any. */
struct mongodb_shape *mongodb_shape_value(struct mongodb_shapes *shapes, unsigned types);

/* A document that has the fields of `base` (NULL: none), to be changed. */
struct mongodb_shape *mongodb_shape_on(struct mongodb_shapes *shapes, struct mongodb_shape *base);

/* The same fields, of which it is not known in what they stand; an array of such; what is in such an array.
 */
struct mongodb_shape *mongodb_shape_loose(struct mongodb_shapes *shapes, struct mongodb_shape *shape);
struct mongodb_shape *mongodb_shape_array(struct mongodb_shapes *shapes, struct mongodb_shape *shape);
struct mongodb_shape *mongodb_shape_element(struct mongodb_shapes *shapes, struct mongodb_shape *shape);

/* The one or the other; NULL stands for none. */
struct mongodb_shape *mongodb_shape_either(struct mongodb_shapes *shapes, struct mongodb_shape *a,
					   struct mongodb_shape *b);

/* The field of that name; NULL: there is none, for all that is known. */
struct mongodb_shape *mongodb_shape_field(struct mongodb_shapes *shapes, const struct mongodb_shape *shape,
					  str_t name);

/* Whether the server lets no field in that the shape does not have. */
bool mongodb_shape_is_closed(const struct mongodb_shape *shape);

/* Makes the field at a dotted path what it is said to be, or takes it away, in a shape that is owned. */
void mongodb_shape_set(struct mongodb_shapes *shapes, struct mongodb_shape *shape, str_t path,
		       struct mongodb_shape *value);
void mongodb_shape_remove(struct mongodb_shapes *shapes, struct mongodb_shape *shape, str_t path);

/* Calls `visit` for the paths of fields that are known, at most `max` of them. */
void mongodb_shape_each(struct mongodb_shapes *shapes, const struct mongodb_shape *shape, size_t max,
			void (*visit)(str_t path, void *context), void *context);

/* The first part of a dotted path, and what is behind it: absent where it is the last. */
str_t mongodb_path_part(str_t *path);
