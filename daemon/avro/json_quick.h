/*
 * JSON of programs, read in one pass straight into records, without a tree. A part of json.h, which reads
 * what this leaves: it is strict, and accepts nothing that jansson refuses. Pure; any thread.
 */
#pragma once

#include "avro/json.h"

/* Reads the object into the record, whose fields are at their defaults, as json_read does for
 * JSON_BY_PROGRAM. False: it is wrong, or has something rare that is not read here (escapes in names, very
 * long numbers, many unknown names); the record is half filled then, and json_read finds out which. */
bool json_read_quickly(const struct record_type *type, str_t json, const struct json_limits *limits,
		       struct arena *arena, void *record);

/* The other half of json_read: through a tree of jansson's, for whatever there is, with a message for what is
 * wrong. */
err_t json_read_slowly(const struct record_type *type, str_t json, const struct json_limits *limits,
		       struct arena *arena, void *record, struct err_detail *detail);
