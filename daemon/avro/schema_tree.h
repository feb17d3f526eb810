/*
 * Avro schemas as a tree, parsed from JSON: what the canonical form, the bounds check and the decoding plans
 * walk. Defaults of fields, docs and logical types are left out, as they do not change what the bytes mean,
 * but for the units of timestamps.
 *
 * (Not named schema.h: the Avro library has an avro/schema.h.) A recursive schema is a graph: a reference to
 * a named type is the node of its definition. Immutable once parsed, and then safe in any thread.
 */
#pragma once

#include "common/str.h"

enum schema_type {
	SCHEMA_NULL,
	SCHEMA_BOOLEAN,
	SCHEMA_INT,
	SCHEMA_LONG,
	SCHEMA_FLOAT,
	SCHEMA_DOUBLE,
	SCHEMA_BYTES,
	SCHEMA_STRING,
	SCHEMA_RECORD,
	SCHEMA_ENUM,
	SCHEMA_ARRAY,
	SCHEMA_MAP,
	SCHEMA_UNION,
	SCHEMA_FIXED,
	SCHEMA_TYPE_COUNT_
};

struct schema_aliases {
	str_t *names;
	size_t count;
};

struct schema_node {
	enum schema_type type;
	str_t name;		       /* full name of a record, enum or fixed */
	struct schema_aliases aliases; /* of the same: full names */
	size_t count;		       /* fields, branches or symbols; 1 for an array or map */
	struct schema_node **children; /* of each field or branch; items or values; NULL for an enum */
	str_t *labels;		       /* names of fields or symbols */
	struct schema_aliases *others; /* aliases of each field of a record */
	str_t instead;	   /* the symbol that an enum has for those that it does not know; or absent */
	size_t size_bytes; /* of a fixed */
	int64_t per_ms;	   /* of a long that is a timestamp: so many of its units, 1000 or 1000000, are a
			      millisecond; 0: that is its unit, or it is no timestamp */
	size_t number;	   /* 0, 1, … in order of definition, over the whole schema */
	bool empty;	   /* its values take no bytes at all */
};

struct schema {
	struct arena *arena; /* owned */
	struct schema_node *root;
	size_t nodes_count;
	bool unusual; /* its text has forms that other parsers may not know, though they are valid */
};

/* Parses the JSON text of one schema; the caller owns the result. ERR_JSON_SYNTAX when it is not JSON,
 * ERR_SCHEMA_INCOMPATIBLE (with what is wrong) when it is not a schema, nested deeper than 64 or of more
 * than 10,000 types, or when Avro's own library reads another one in it (second_opinion.h). */
err_t schema_parse(str_t json, struct schema **ret_schema, struct err_detail *detail);

/* The same of a text that is compiled in: the library was asked when the program was tested. */
err_t schema_parse_own(str_t json, struct schema **ret_schema, struct err_detail *detail);
void schema_free(struct schema *schema);

/* "record", "null", …: the name of a type in JSON. */
const char *schema_type_name(enum schema_type type);
