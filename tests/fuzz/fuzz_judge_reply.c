#include "judge/reply.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads any text as a reply of both kinds: a verdict must be in its range and its reason bounded. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t text = arena_text(arena, size ? (const char *)data : "", size);
	struct reply reply;
	struct err_detail detail = { "" };
	if (reply_read_relevance(text, arena, &reply, &detail) == ERR_OK &&
	    (!(reply.score >= 0 && reply.score <= 100) || reply.score != floor(reply.score) ||
	     reply.reason.len > REPLY_REASON_MAX))
		abort();
	if (reply_read_correctness(text, arena, &reply, &detail) == ERR_OK &&
	    ((reply.score != 0.0 && reply.score != 0.5 && reply.score != 1.0) ||
	     reply.reason.len > REPLY_REASON_MAX))
		abort();
	return 0;
}
