/*
 * What the providers' bodies have in common: JSON of the same pieces. Pure.
 */
#pragma once

#include "judge/provider.h"

#include <jansson.h>

static inline void provider_json_cleanup(json_t **json)
{
	json_decref(*json);
}

/* JSON Schema of the verdict on that kind of question, as a static text. */
const char *provider_verdict_schema(enum judge_question kind);

/* Appends the JSON compactly; false when it cannot be written. */
bool provider_write_json(const json_t *json, struct buf *text);

/* Appends the text as a JSON string; false when it is not valid UTF-8. The prompts are the most of a request,
 * and this is many times faster on them than a general encoder. */
bool provider_write_text(str_t text, struct buf *json);

/* A count of tokens in `usage`; lies are bounded, so that they cannot spoil sums. */
int64_t provider_token_count(const json_t *usage, const char *name);

/* The server's own sentence in the body of an error: {"error": {"message": "…"}}, or, as some servers have
 * it,
 * {"error": "…"}, {"message": "…"}, {"detail": "…"}. In the arena; or absent. */
str_t provider_read_error(str_t body, struct arena *arena);
