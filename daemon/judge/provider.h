/*
 * What differs between the kinds of language model servers: the path, the key's header, the body of a request
 * and the shape of an answer. Pure functions, safe in any thread.
 */
#pragma once

#include "common/buf.h"
#include "judge/judge.h"

/* How the form of the answer is asked for. A server that refuses one is asked with the next. */
enum structured_output { STRUCTURED_SCHEMA, STRUCTURED_OBJECT, STRUCTURED_NONE };

struct provider_request {
	const char *model;
	enum judge_question kind;
	enum structured_output structured;
	str_t system;
	str_t user;
};

struct provider_answer {
	str_t text; /* in the arena; absent when the model declined or the answer holds none */
	int64_t prompt_tokens;
	int64_t completion_tokens;
};

struct provider {
	const char *name;
	const char *path;	 /* behind the base URL */
	const char *key_header;	 /* what precedes the key */
	const char *more_header; /* that every request carries; or NULL */

	/* Appends the body; false when a text is not valid UTF-8. */
	bool (*write_request)(const struct provider_request *request, struct buf *body);

	/* Reads the body of a successful answer; ERR_JUDGE_REPLY when it has not the provider's shape. */
	err_t (*read_answer)(str_t body, struct arena *arena, struct provider_answer *ret_answer);

	/* The server's own sentence in the body of an error, in the arena; or absent. */
	str_t (*read_error)(str_t body, struct arena *arena);

	/* Whether the server's sentence is about the way in which the form of the answer was asked for. */
	bool (*refuses_structured)(str_t sentence);
};

/* The provider of that name, or NULL. */
const struct provider *provider_find(const char *name);
