/*
 * One schema on its way from the registry: the schema itself, then those that it refers to, one request after
 * the other, and what the answers amount to. No I/O.
 */
#pragma once

#include "avro/framing.h"
#include "avro/registry/registry_answer.h"
#include "avro/registry/registry_http.h"

struct registry_fetch;

/* The caller owns it. */
struct registry_fetch *registry_fetch_new(const struct schema_name *name);

/* The same of the newest version of a subject. */
struct registry_fetch *registry_fetch_new_latest(const char *subject);
void registry_fetch_free(struct registry_fetch *fetch);

/* Bytes of schemas that it has so far. */
size_t registry_fetch_bytes(const struct registry_fetch *fetch);

/* What is to be asked for next. */
const char *registry_fetch_path(const struct registry_fetch *fetch);

enum registry_outcome {
	REGISTRY_MORE,	      /* something else is to be asked for */
	REGISTRY_COMPLETE,    /* the schema is there, see registry_fetch_schema */
	REGISTRY_ABSENT,      /* the registry does not have it */
	REGISTRY_REFUSED,     /* it has something that cannot be read */
	REGISTRY_UNAVAILABLE, /* nobody gets an answer now */
	REGISTRY_ODD,	      /* this request was not answered as it should be; others may be */
};

/* Takes what became of the request for that path. The detail says what is wrong, unless it is COMPLETE or
 * MORE. */
enum registry_outcome registry_fetch_take(struct registry_fetch *fetch,
					  const struct registry_request *request, struct err_detail *detail);

/* The same of any answer that is no success: ABSENT, UNAVAILABLE or ODD. */
enum registry_outcome registry_failure(const struct registry_request *request, struct err_detail *detail);

/* Appends to what is said of an answer that it is none of a schema registry, with its status and type, and
 * how to mend it. */
void registry_say_foreign(const struct registry_request *request, struct err_detail *detail);

/* The text of the schema, with all that it refers to in it; lives as long as the fetch. */
str_t registry_fetch_schema(const struct registry_fetch *fetch);

/* Appends the text as a part of an URL's path. */
void registry_escape(const char *text, size_t len, struct buf *out);
