/*
 * Extended JSON, canonical and relaxed: {"$oid": "…"}, {"$date": …}, {"$numberLong": "…"} and their like
 * stand for values of BSON's types. And those types' own texts. Pure; any thread.
 *
 * Source: the specification "Extended JSON v2" of MongoDB's drivers.
 */
#pragma once

#include "sql/mongodb/value.h"

/* Makes a document that is written so the value that it stands for; any other is left as it is. */
void mongodb_take_extended_json(struct mongodb_value *document, struct arena *arena);

/* Each sets kind and contents of `value` from a text. False: it is none of the type. `type`: see
 * mongodb_value. */
bool mongodb_number_of(str_t text, const char *type, struct mongodb_value *value, struct arena *arena);
bool mongodb_object_id_of(str_t text, struct mongodb_value *value, struct arena *arena);

/* Whether a date is written as ISO 8601 has it: day, or day and time, with a zone or without. */
bool mongodb_is_date(str_t text);

/* Whether such a text has a time and no zone. */
bool mongodb_is_local(str_t text);

/* What JavaScript's own dates are written like, "2024/1/31" or "2024/1/31 23:59:59", in that form, as local
 * times; absent: it is none such. */
str_t mongodb_date_of_slashes(str_t text, struct arena *arena);

/* The options of a regular expression in alphabetical order, each once; absent: one of them is none. */
str_t mongodb_regex_options(str_t options, struct arena *arena);
