/*
 * Documents that a query of MongoDB returns, as rows that can be compared: each field of the top level is a
 * column, in the order in which they come; a field that a document does not have is NULL in it; a document or
 * an array is a JSON text, compared by value. What a value is written as:
 *
 *   numbers      as decimal digits; NaN and infinities as such words
 *   strings, ObjectId (24 digits), regular expressions (/…/i)   as text
 *   dates        as 2024-01-31T23:59:59.123Z
 *   binary data  as hexadecimal digits
 *   timestamps   as their two numbers
 *
 * Within JSON, dates and what else it has no kind for are strings. What comes is foreign: fields are read
 * with bounds, and texts made valid UTF-8. One thread.
 */
#pragma once

#include <bson/bson.h> // first: it calls what banned.h forbids

#include "target/result.h"

struct mongodb_documents;

/* For the rows of one query, which go to `builder`. Columns are known when `kept_rows` documents or
 * `kept_bytes` of them were seen, or all: so many are held until then. Columns whose names begin with
 * `last`, which may be NULL, stand behind all others. */
struct mongodb_documents *mongodb_documents_new(struct result_builder *builder, int64_t kept_rows,
						int64_t kept_bytes, const char *last);
void mongodb_documents_free(struct mongodb_documents *documents);

/* Takes one more. False: no more are wanted. */
bool mongodb_documents_take(struct mongodb_documents *documents, const bson_t *document);

/* There are no more. */
void mongodb_documents_finish(struct mongodb_documents *documents);

/* So many were taken. */
int64_t mongodb_documents_count(const struct mongodb_documents *documents);
