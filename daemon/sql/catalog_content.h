/*
 * What a catalog knows, for the front ends of this room. Everything is immutable and lives as long as the
 * catalog; names are exact (folding is the caller's, by the dialect's rules).
 */
#pragma once

#include "common/arena.h"
#include "sql/catalog.h"

/* Broad kind of a type, where comparisons are surely wrong or right; OTHER claims nothing. */
enum type_category { TYPE_OTHER, TYPE_INTEGER, TYPE_NUMERIC, TYPE_TEXT, TYPE_BOOLEAN, TYPE_TEMPORAL };

struct catalog_column {
	str_t name;
	str_t type; /* as the engine writes it, e.g. "integer", "character varying", "text[]" */
	enum type_category category;
	bool not_null;
	bool is_key; /* of the primary key */
};

struct catalog_relation {
	str_t schema;
	str_t name;
	bool is_view;
	bool is_system;	  /* of pg_catalog or information_schema (PostgreSQL) */
	bool is_open;	  /* its columns are not (all) known */
	str_t definition; /* query of a user's view, or absent */
	const struct catalog_column *columns;
	size_t columns_count;
};

struct catalog_function {
	str_t schema;
	str_t name;
	char volatility; /* 'i' immutable, 's' stable, 'v' volatile */
	char kind;	 /* 'f' function, 'a' aggregate, 'w' window function, 'p' procedure */
	bool is_public;	 /* PUBLIC may execute it */
	bool is_system;	 /* built in: of pg_catalog or information_schema */
	bool returns_set;
	bool is_variadic;
	bool takes_row;	    /* its first argument may be a row of some relation */
	unsigned arguments; /* declared input arguments */
	unsigned defaults;  /* how many of them may be left out */
	str_t result;	    /* type as the engine writes it */
	enum type_category category;
	const str_t *outputs; /* names of OUT and TABLE parameters ("": none); none: see `result` */
	size_t outputs_count;
};

/* The relation of exactly that schema, or NULL. */
const struct catalog_relation *catalog_relation(const struct catalog *catalog, str_t schema, str_t name);

/* The relation that an unqualified name means by the search path, or NULL. */
const struct catalog_relation *catalog_relation_on_path(const struct catalog *catalog, str_t name);

/* All relations in order of schema and name, for hints. */
const struct catalog_relation *catalog_relations(const struct catalog *catalog, size_t *ret_count);

/* Category of a type as the engine writes it. */
enum type_category catalog_type_category(str_t type);

bool catalog_has_schema(const struct catalog *catalog, str_t schema);
bool catalog_on_path(const struct catalog *catalog, str_t schema);

/* All overloads of the name: of `schema`, or of every schema on the search path when it is absent. NULL and 0
 * where there is none. */
const struct catalog_function *const *catalog_functions(const struct catalog *catalog, str_t schema,
							str_t name, size_t *ret_count);

/* "; did you mean …?" with the function on the search path whose name is nearest, or "". */
str_t catalog_function_hint(const struct catalog *catalog, str_t name, struct arena *arena);

/* Whether a call with that many arguments can mean the function. */
bool catalog_function_accepts(const struct catalog_function *function, size_t arguments);

/* Whether a type of that name exists that f(x) may cast to (no array, no row). Schema absent: anywhere on the path. */
bool catalog_has_type(const struct catalog *catalog, str_t schema, str_t name);
