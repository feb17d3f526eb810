/*
 * Answers of a schema registry, separated by NULs: each begins with a byte that chooses the status of HTTP.
 * Whatever they are, a fetch comes to an end that says why it failed or has a schema, of which the codec says
 * whether it can be read; what subjects are asked about is answered, too.
 */
#include "avro/codec.h"
#include "avro/registry/registry_fetch.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	ANSWERS_MAX = 64, /* schemas of one fetch, so as many answers */
	NAMES_MAX = 500
};

/* A codec, which is expensive to make, learns some hundreds. */
static void learn(const struct registry_fetch *fetch)
{
	static struct codec *codec;
	struct schema_name name = { 0 };
	struct err_detail detail = { "" };
	if (codec && codec_named_count(codec) == NAMES_MAX)
		codec_free(TAKE_PTR(codec));
	if (!codec && codec_new(&(const struct codec_options){ .max_named = NAMES_MAX }, &codec, &detail))
		abort();
	name.id = 1 + (uint32_t)codec_named_count(codec);
	err_t err = codec_learn_named(codec, &name, registry_fetch_schema(fetch), &detail);
	assert(codec_knows_named(codec, &name) == !err);
	assert(!err || detail.message[0]);
}

static void ask_about_subject(str_t body)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	bool compatible;
	str_t why;
	assert(registry_answer_number(body, "id") >= 0);
	if (registry_answer_compatible(body, arena, &compatible, &why, &detail))
		assert(detail.message[0]);
}

/* The next answer, and what is behind it. */
static str_t take_answer(str_t *rest)
{
	const char *end = memchr(rest->ptr, '\0', rest->len);
	str_t answer = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };
	size_t taken = answer.len + (end != NULL);
	*rest = (str_t){ rest->ptr + taken, rest->len - taken };
	return answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const long statuses[] = { 200, 404, 401, 302, 503, 0 };
	const struct schema_name name = { .id = 7 };
	str_t rest = { (const char *)data, size };
	struct registry_fetch *fetch = registry_fetch_new(&name);
	enum registry_outcome outcome = REGISTRY_MORE;
	for (int asked = 0; outcome == REGISTRY_MORE; asked++) {
		struct err_detail detail = { "" };
		struct registry_request request = { .fault = "none" };
		assert(asked < ANSWERS_MAX && registry_fetch_path(fetch)[0] == '/');
		str_t answer = rest.len > 0 ? take_answer(&rest) : STR("");
		if (answer.len > 0) {
			request.status =
				statuses[(unsigned char)answer.ptr[0] % (sizeof statuses / sizeof *statuses)];
			buf_append(&request.answer, answer.ptr + 1, answer.len - 1);
			ask_about_subject((str_t){ answer.ptr + 1, answer.len - 1 });
		}
		outcome = registry_fetch_take(fetch, &request, &detail);
		registry_request_free(&request);
		assert(outcome == REGISTRY_MORE || outcome == REGISTRY_COMPLETE || detail.message[0]);
	}
	if (outcome == REGISTRY_COMPLETE)
		learn(fetch);
	registry_fetch_free(fetch);
	return 0;
}
