#include "kafka/token.h"

#include "common/base64.h"
#include "common/cleanup.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

enum { CLAIMS_MAX = 24576 };

DEFINE_CLEANUP(json_t, json_cleanup, json_decref)

static json_t *read_json(str_t text)
{
	return json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, NULL);
}

/* Of foreign text; what is no printable ASCII becomes "?". */
static void copy_printable(const char *from, char *to, size_t size)
{
	snprintf(to, size, "%s", from ? from : "");
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || (unsigned char)*to >= 0x7f)
			*to = '?';
}

/* ---- a JSON web token's claims ---- */

/* They are in its second part (RFC 7519), in base 64 for URLs. NULL: there are none that can be read. Whether
 * they are true is for the broker to find out. */
static json_t *read_claims(const char *value)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	_cleanup_(cleanup_free) char *bytes = NULL;
	const char *from = strchr(value, '.');
	size_t len = from ? strcspn(from + 1, ".") : 0;
	if (len == 0 || len > CLAIMS_MAX || from[1 + len] != '.')
		return NULL;
	for (size_t i = 0; i < len; i++)
		buf_append_char(&text, from[1 + i] == '-' ? '+' : from[1 + i] == '_' ? '/' : from[1 + i]);
	while (text.len % 4)
		buf_append_char(&text, '=');
	bytes = malloc(text.len);
	if (!bytes)
		abort();
	size_t bytes_len;
	if (!base64_read(buf_str(&text), text.len, bytes, &bytes_len))
		return NULL;
	json_t *claims = read_json((str_t){ bytes, bytes_len });
	if (json_is_object(claims))
		return claims;
	json_decref(claims);
	return NULL;
}

/* A claim that is a text, or an array of texts. */
static void describe_claim(const json_t *claims, const char *name, const char *title, struct buf *out)
{
	char shown[64];
	const json_t *claim = json_object_get(claims, name);
	size_t count = json_is_array(claim) ? json_array_size(claim) : 1;
	for (size_t i = 0; i < count && i < 3; i++) {
		const char *text = json_string_value(json_is_array(claim) ? json_array_get(claim, i) : claim);
		if (!text)
			continue;
		copy_printable(text, shown, sizeof shown);
		buf_printf(out, "%s%s \"%s\"", out->len ? ", " : "", title, shown);
	}
}

static void take_claims(const json_t *claims, struct token *token)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	copy_printable(json_string_value(json_object_get(claims, "sub")), token->subject,
		       sizeof token->subject);
	describe_claim(claims, "sub", "subject", &text);
	describe_claim(claims, "aud", "audience", &text);
	describe_claim(claims, "scope", "scope", &text);
	describe_claim(claims, "scp", "scope", &text);
	describe_claim(claims, "iss", "issuer", &text);
	snprintf(token->description, sizeof token->description, "%s", text.data ? text.data : "");
}

/* ---- a success ---- */

/* RFC 6750, section 2.1. */
static bool is_bearer(const char *value, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/";
	size_t plain = strspn(value, letters);
	return plain > 0 && plain + strspn(value + plain, "=") == len;
}

/* Seconds: a number, or as some servers write it, a text of digits. False: something else. */
static bool read_seconds(const json_t *value, double *ret_seconds)
{
	const char *text = json_string_value(value);
	if (json_is_number(value)) {
		*ret_seconds = json_number_value(value);
		return isfinite(*ret_seconds);
	}
	if (!text || !*text || strlen(text) > 15 || text[strspn(text, "0123456789")])
		return false;
	*ret_seconds = (double)strtoll(text, NULL, 10);
	return true;
}

static err_t read_lifetime(const json_t *answer, const json_t *claims, int64_t now_ms,
			   int64_t *ret_lifetime_ms, struct err_detail *detail)
{
	const json_t *expires_in = json_object_get(answer, "expires_in"),
		     *end = json_object_get(claims, "exp");
	double lifetime_s = 0, end_s, left_s = 0;
	bool given = expires_in && !json_is_null(expires_in);
	if (given && !read_seconds(expires_in, &lifetime_s))
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"expires_in of the answer is no number of seconds");
	bool ends = json_is_number(end) && read_seconds(end, &end_s);
	if (ends)
		left_s = end_s - (double)now_ms / 1000;
	if (!given && !ends)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"the answer does not say how long the token lives (expires_in)");
	if (!given && left_s < 1)
		return err_fail(
			detail, ERR_KAFKA_UNAVAILABLE,
			"the token has expired already, by the clock of this machine; look at the clocks");
	if (given && lifetime_s < 1)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"the token lives less than a second (expires_in)");
	if (!given || (ends && left_s >= 1 && left_s < lifetime_s))
		lifetime_s = left_s;
	double most_s = TOKEN_LIFETIME_MAX_MS / 1000.0;
	*ret_lifetime_ms = (int64_t)((lifetime_s < most_s ? lifetime_s : most_s) * 1000);
	return ERR_OK;
}

err_t token_read(str_t answer, int64_t now_ms, struct token *ret_token, struct err_detail *detail)
{
	_cleanup_(json_cleanup) json_t *json = read_json(answer), *claims = NULL;
	const char *type = json_string_value(json_object_get(json, "token_type"));
	const json_t *access = json_object_get(json, "access_token");
	const char *value = json_string_value(access);
	struct token token = { .lifetime_ms = 0 };
	if (!json_is_object(json))
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"the answer is no JSON object: is this a token endpoint?");
	if (!value || !*value)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "the answer has no access_token");
	if (json_string_length(access) > TOKEN_VALUE_MAX)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "the access_token has more than %d bytes",
				TOKEN_VALUE_MAX);
	if (!is_bearer(value, json_string_length(access)))
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
				"the access_token has characters that no bearer token has");
	if (type && strcasecmp(type, "bearer") != 0)
		return err_fail(
			detail, ERR_KAFKA_UNAVAILABLE,
			"the answer's token_type is not Bearer, which Kafka's OAUTHBEARER takes alone");
	claims = read_claims(value);
	err_t err = read_lifetime(json, claims, now_ms, &token.lifetime_ms, detail);
	if (err)
		return err;
	take_claims(claims, &token);
	token.value = strdup(value);
	if (!token.value)
		abort();
	*ret_token = token;
	return ERR_OK;
}

void token_free(struct token *token)
{
	if (token->value)
		explicit_bzero(token->value, strlen(token->value));
	free(token->value);
	*token = (struct token){ .value = NULL };
}

/* ---- a refusal ---- */

void token_read_refusal(str_t answer, const char *secret, struct token_refusal *ret_refusal)
{
	_cleanup_(json_cleanup) json_t *json = read_json(answer);
	const char *code = json_string_value(json_object_get(json, "error"));
	const char *sentence = json_string_value(json_object_get(json, "error_description"));
	if (code && secret && strstr(code, secret))
		code = NULL;
	if (sentence && secret && strstr(sentence, secret))
		sentence = NULL;
	copy_printable(code, ret_refusal->code, sizeof ret_refusal->code);
	char shown[120];
	copy_printable(sentence, shown, sizeof shown);
	snprintf(ret_refusal->text, sizeof ret_refusal->text, "%s%s%s", ret_refusal->code,
		 *ret_refusal->code && *shown ? ": " : "", shown);
}
