/* What token endpoints answer, from hostile bytes: a token that is taken is fit for a request and lives for a
 * while, and what is shown of it and of a refusal is printable. */
#include "kafka/token.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_printable(const char *text)
{
	for (; *text; text++)
		assert((unsigned char)*text >= ' ' && (unsigned char)*text < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const str_t answer = { (const char *)data, size };
	struct token token;
	struct token_refusal refusal;
	struct err_detail detail = { "" };
	if (token_read(answer, INT64_C(1800000000000), &token, &detail) == ERR_OK) {
		assert(*token.value && strlen(token.value) <= TOKEN_VALUE_MAX);
		for (const char *at = token.value; *at; at++)
			assert(*at > ' ' && *at < 0x7f);
		assert(token.lifetime_ms >= 1000 && token.lifetime_ms <= TOKEN_LIFETIME_MAX_MS);
		assert_printable(token.subject);
		assert_printable(token.description);
		token_free(&token);
	}
	token_read_refusal(answer, "secret", &refusal);
	assert_printable(refusal.code);
	assert_printable(refusal.text);
	assert(!strstr(refusal.text, "secret"));
	return 0;
}
