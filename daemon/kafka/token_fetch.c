#include "kafka/token_fetch.h"

#include "common/base64.h"
#include "common/clock.h"
#include "common/secret.h"

enum { ANSWER_MAX = 65536, URL_SHOWN = 100 };

static void append_field(struct buf *form, const char *name, size_t name_len, const char *value)
{
	if (form->len)
		buf_append_char(form, '&');
	fetch_append_encoded(form, (str_t){ name, name_len });
	buf_append_char(form, '=');
	fetch_append_encoded(form, str_from(value));
}

static void wipe(struct buf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->capacity);
	buf_free(text);
}

static void write_form(const struct kafka_oauth_settings *settings, const char *secret, struct buf *form)
{
	append_field(form, "grant_type", 10, "client_credentials");
	if (settings->secret_in_form) {
		append_field(form, "client_id", 9, settings->client_id);
		append_field(form, "client_secret", 13, secret);
	}
	if (settings->scope)
		append_field(form, "scope", 5, settings->scope);
	for (size_t i = 0; i < settings->parameters_count; i++) {
		const char *parameter = settings->parameters[i];
		size_t len = strcspn(parameter, "=");
		append_field(form, parameter, len, parameter + len + 1);
	}
}

/* Both are encoded as in a form before they become those of HTTP (RFC 6749, section 2.3.1). */
static void write_authorization(const struct kafka_oauth_settings *settings, const char *secret,
				struct buf *out)
{
	_cleanup_(wipe) struct buf pair = BUF_INIT;
	fetch_append_encoded(&pair, str_from(settings->client_id));
	buf_append_char(&pair, ':');
	fetch_append_encoded(&pair, str_from(secret));
	buf_append_text(out, "Basic ");
	base64_append(out, pair.data, pair.len);
}

/* ---- what went wrong ---- */

static const char *mend_of_refusal(long status, const char *code)
{
	static const struct {
		const char *code, *mend;
	} mends[] = {
		{ "invalid_client",
		  "mend kafka.oauth.client_id or the secret in kafka.oauth.client_secret_file" },
		{ "invalid_scope", "mend kafka.oauth.scope" },
		{ "unauthorized_client", "let this client use the grant client_credentials at the server" },
		{ "unsupported_grant_type",
		  "let this client use the grant client_credentials at the server" },
		{ "invalid_request", "look at kafka.oauth.parameters and kafka.oauth.client_authentication" },
	};
	for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
		if (strcmp(code, mends[i].code) == 0)
			return mends[i].mend;
	if (status == 401 || status == 403)
		return mends[0].mend;
	if (status == 429 || status >= 500)
		return "see what the server is at; it is asked again";
	return "mend kafka.oauth.token_url";
}

static const char *mend_of_fault(const struct fetch_answer *answer)
{
	static const struct {
		const char *part, *mend;
	} mends[] = {
		{ "certificate has expired", "have the server's certificate renewed" },
		{ "certificate subject name",
		  "write the name that its certificate is for in kafka.oauth.token_url" },
		{ "error setting certificate", "mend kafka.oauth.ca_file" },
		{ "certificate",
		  "set kafka.oauth.ca_file to the authority that issued the server's certificate" },
		{ "wrong version number", "this server has no TLS: write http:// in kafka.oauth.token_url" },
		{ "HTTP/0.9", "this is no HTTP server, or it wants https://: mend kafka.oauth.token_url" },
		{ "resolve", "mend the name in kafka.oauth.token_url, or the name service" },
	};
	for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
		if (strstr(answer->fault, mends[i].part))
			return mends[i].mend;
	return answer->outcome == FETCH_TOO_LARGE ? "mend kafka.oauth.token_url"
						  : "start the server, or mend kafka.oauth.token_url";
}

static err_t fail(const struct kafka_oauth_settings *settings, const char *what, const char *mend,
		  struct err_detail *detail)
{
	size_t shown = strcspn(settings->token_url, "?#");
	return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "no token from %.*s: %s; %s",
			(int)(shown < URL_SHOWN ? shown : URL_SHOWN), settings->token_url, what, mend);
}

static err_t read_answer(const struct kafka_oauth_settings *settings, const struct fetch_answer *answer,
			 const char *secret, struct token *ret_token, struct err_detail *detail)
{
	char what[256];
	struct err_detail reason = { "" };
	struct token_refusal refusal;
	if (answer->status == 200) {
		err_t err = token_read(buf_str(&answer->body), clock_wall_ms(), ret_token, &reason);
		return err ? fail(settings, reason.message,
				  "mend kafka.oauth.token_url, or what the server answers", detail)
			   : ERR_OK;
	}
	token_read_refusal(buf_str(&answer->body), secret, &refusal);
	snprintf(what, sizeof what, "HTTP %ld%s%s", answer->status, *refusal.text ? ", " : "", refusal.text);
	return fail(settings, what, mend_of_refusal(answer->status, refusal.code), detail);
}

err_t token_fetch(struct fetcher *fetcher, const struct kafka_oauth_settings *settings,
		  struct token *ret_token, int64_t *ret_retry_after_ms, struct err_detail *detail)
{
	_cleanup_(secret_free) char *secret = NULL;
	_cleanup_(wipe) struct buf form = BUF_INIT, authorization = BUF_INIT;
	struct err_detail reason = { "" };
	struct fetch_answer answer;
	*ret_retry_after_ms = -1;
	err_t err = secret_read_password(settings->client_secret_file, &secret, &reason);
	if (err)
		return err_fail(detail, err, "kafka.oauth.client_secret_file: %s", reason.message);
	write_form(settings, secret, &form);
	if (!settings->secret_in_form)
		write_authorization(settings, secret, &authorization);
	const struct fetch_request request = {
		.url = settings->token_url,
		.body = buf_str(&form),
		.content_type = "application/x-www-form-urlencoded",
		.accept = "application/json",
		.authorization = authorization.data,
		.tls = { .ca_file = settings->ca_file },
		.timeout_ms = settings->timeout_ms,
		.max_bytes = ANSWER_MAX,
	};
	bool answered = fetch(fetcher, &request, &answer);
	*ret_retry_after_ms = answer.retry_after_ms;
	err = answered ? read_answer(settings, &answer, secret, ret_token, detail)
		       : fail(settings, answer.fault, mend_of_fault(&answer), detail);
	fetch_answer_free(&answer);
	return err;
}
