/*
 * Building a catalog: add everything, then finish once. For the compilers of this room; one thread.
 */
#pragma once

#include "sql/catalog_content.h"

struct catalog_builder {
	struct catalog *catalog; /* being built; owned until catalog_finish */
	struct arena *arena;	 /* the catalog's */
	size_t relations_capacity;
	size_t functions_capacity;
	size_t types_capacity;
	size_t schemas_capacity;
	size_t path_capacity;
};

/* Texts handed to the functions below are copied, the arrays that structs point at are not: they have to be
 * in the builder's arena. */
void catalog_begin(struct catalog_builder *builder, enum sql_dialect dialect);
void catalog_add_schema(struct catalog_builder *builder, str_t schema);
void catalog_add_path(struct catalog_builder *builder, str_t schema);
void catalog_add_relation(struct catalog_builder *builder, struct catalog_relation relation);
void catalog_add_function(struct catalog_builder *builder, struct catalog_function function);
void catalog_add_type(struct catalog_builder *builder, str_t schema, str_t name);

/* The system's own schemas, relations, functions and types of PostgreSQL 15 (catalog_builtin.def). */
void catalog_add_builtins(struct catalog_builder *builder);

/* Only the relations; what catalog_index does for all. */
void catalog_index_relations(struct catalog_builder *builder);

/* A relation that was added, to be changed before catalog_finish; NULL when there is none. The pointer is
 * good until the next addition. */
struct catalog_relation *catalog_added_relation(struct catalog_builder *builder, str_t schema, str_t name);

/* Makes what was added so far visible to the lookups; may be called again after adding more. */
void catalog_index(struct catalog_builder *builder);

/* Indexes, computes the digest and hands the catalog over with one reference. `source` is copied. */
struct catalog *catalog_finish(struct catalog_builder *builder, str_t source);

/* Releases a builder that was not finished; also fine afterwards. */
void catalog_abandon(struct catalog_builder *builder);
