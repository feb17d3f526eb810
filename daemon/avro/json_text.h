/*
 * JSON texts taken apart, in one pass and without a tree: all values in one array, in the order of the text.
 *
 * As strict as RFC 8259, and more: the text is UTF-8, surrogates come in pairs, an object has each name once,
 * no name holds a NUL, nesting is bounded, numbers fit (whole ones into 64 bits, others into a double). Time
 * and memory are linear in the text. Pure; does not depend on the locale.
 */
#pragma once

#include "common/arena.h"

enum json_kind {
	JSON_IS_NULL,
	JSON_IS_FALSE,
	JSON_IS_TRUE,
	JSON_IS_WHOLE, /* written without fraction and exponent */
	JSON_IS_REAL,
	JSON_IS_STRING,
	JSON_IS_ARRAY,
	JSON_IS_OBJECT,
};

/* A value. Behind an array are its items; behind an object its members, each a name (a string that is not
 * escaped) and a value. */
struct json_value {
	union {
		str_t text; /* strings: as written between the quotes; not followed by a NUL */
		int64_t whole;
		double real;
		size_t count; /* of items or members */
	};
	uint32_t span; /* how many values it takes, with itself */
	uint8_t kind;  /* enum json_kind */
	bool escaped;  /* the text has escapes: see json_value_text */
};

struct json_text {
	struct json_value *values; /* the first one is the whole */
	struct arena *arena;	   /* names that were escaped */
};

/* Takes the text apart, which has to outlive the result; json_text_free releases it. ERR_JSON_SYNTAX,
 * ERR_JSON_SHAPE (a number that does not fit) or ERR_TEXT_ENCODING, with the column and the line beyond the
 * first: there is nothing to free then. */
err_t json_text_parse(str_t json, struct json_text *ret_text, struct err_detail *detail);
void json_text_free(struct json_text *text);

/* What a string says: its own bytes, or where it has escapes a text in the arena. */
str_t json_value_text(const struct json_value *string, struct arena *arena);

/* The value behind this one and all that is in it. */
static inline const struct json_value *json_value_next(const struct json_value *value)
{
	return value + value->span;
}
