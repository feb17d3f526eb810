/*
 * Literal values of a query (sql/mongodb/value.h) as BSON. Any thread; one value is one thread's at a time.
 */
#pragma once

#include <bson/bson.h> // first: it calls what banned.h forbids

#include "sql/mongodb/value.h"

/* Appends the fields of a document, or the elements of an array as fields 0, 1, 2, …, to `to`. `now_ms`: what
 * stands for the present, by the wall clock. False: a value cannot be written as BSON; `ret_wrong` then says
 * which. */
bool mongodb_values_append(bson_t *to, const struct mongodb_value *values, int64_t now_ms,
			   const struct mongodb_value **ret_wrong);

/* The name of a field, at any depth, by which a server would write, run code or tell of itself, or NULL; it
 * lives as long as the document. The last look at what is sent, which does not rely on who has read the text.
 */
const char *mongodb_values_refused(const bson_t *document);

/* Appends one value under a name. False: as above. */
bool mongodb_values_append_as(bson_t *to, const char *name, const struct mongodb_value *value, int64_t now_ms,
			      const struct mongodb_value **ret_wrong);
