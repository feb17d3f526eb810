/* What a schema registry answers, read: hostile JSON until checked. Pure. */
#pragma once

#include "common/arena.h"

/* A schema's text may refer to types that other subjects have. */
struct registry_reference {
	str_t subject;
	int64_t version;
};

struct registry_document {
	str_t schema; /* JSON text */
	struct registry_reference *references;
	size_t references_count;
};

/* References of one schema, at most. */
enum { REGISTRY_REFERENCES_MAX = 64 };

/* A schema by its id, GUID or version; texts live in the arena. ERR_JSON_SYNTAX, ERR_JSON_SHAPE: that is no
 * answer of a registry. ERR_SCHEMA_INCOMPATIBLE: the schema is none of Avro's, or has too many references. */
err_t registry_answer_schema(str_t body, struct arena *arena, struct registry_document *ret_document,
			     struct err_detail *detail);

/* `error_code` of an error, 0 where there is none; its message, in the arena and short, or an absent one. */
int64_t registry_answer_error(str_t body, struct arena *arena, str_t *ret_message);

/* A number that the answer has under that name, above 0; 0: it has none. */
int64_t registry_answer_number(str_t body, const char *name);

/* Whether the answer names that level of compatibility. */
bool registry_answer_level(str_t body, const char *level);

/* Whether the schema that was asked about is compatible; why not, in the arena and short, or an absent text.
 * ERR_JSON_SHAPE: that is no such answer. */
err_t registry_answer_compatible(str_t body, struct arena *arena, bool *ret_compatible, str_t *ret_why,
				 struct err_detail *detail);
