#include "outward/webhook.h"

#include "common/base64.h"
#include "common/clock.h"
#include "common/secret.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>

#define SECRET_PREFIX "whsec_"

enum { SECRET_BYTES_MIN = 24, ANSWER_BYTES_MAX = 65536 };

struct webhook {
	struct webhook_options options;
	char id[WEBHOOK_ID_MAX + 1]; /* of the advisory in `body` */
	struct buf body;
};

/* ---- secrets and signatures ---- */

static err_t parse_secret(str_t line, struct webhook_secrets *secrets, struct err_detail *detail)
{
	size_t prefix = strlen(SECRET_PREFIX), len;
	if (secrets->count == WEBHOOK_SECRETS_MAX)
		return err_fail(detail, ERR_CONFIG_RANGE, "more than %d secrets; leave out the oldest",
				WEBHOOK_SECRETS_MAX);
	unsigned char *bytes = secrets->items[secrets->count].bytes;
	if (line.len <= prefix || memcmp(line.ptr, SECRET_PREFIX, prefix) != 0 ||
	    !base64_read((str_t){ line.ptr + prefix, line.len - prefix }, WEBHOOK_SECRET_BYTES, bytes,
			 &len) ||
	    len < SECRET_BYTES_MIN)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"line %zu is no secret: " SECRET_PREFIX
				" and %d to %d bytes in base 64; make one with \"echo " SECRET_PREFIX
				"$(openssl rand -base64 32)\"",
				secrets->count + 1, SECRET_BYTES_MIN, WEBHOOK_SECRET_BYTES);
	secrets->items[secrets->count++].len = len;
	return ERR_OK;
}

err_t webhook_parse_secrets(str_t text, struct webhook_secrets *ret_secrets, struct err_detail *detail)
{
	err_t err = ERR_OK;
	*ret_secrets = (struct webhook_secrets){ .count = 0 };
	while (!err && text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;
		err = parse_secret((str_t){ text.ptr, len }, ret_secrets, detail);
		len += end != NULL;
		text = (str_t){ text.ptr + len, text.len - len };
	}
	if (!err && ret_secrets->count == 0)
		err = err_fail(detail, ERR_CONFIG_MISSING, "there is no secret in it");
	if (err)
		explicit_bzero(ret_secrets, sizeof *ret_secrets);
	return err;
}

err_t webhook_read_secrets(const char *file, struct webhook_secrets *ret_secrets, struct err_detail *detail)
{
	_cleanup_(secret_free) char *text = NULL;
	struct err_detail reason = { "" };
	err_t err = secret_read(file, &text, detail);
	if (err)
		return err;
	err = webhook_parse_secrets(str_from(text), ret_secrets, &reason);
	return err ? err_fail(detail, err, "%s: %s", file, reason.message) : ERR_OK;
}

void webhook_sign(const struct webhook_secrets *secrets, const char *id, int64_t timestamp_s, str_t body,
		  struct buf *out)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	buf_printf(&text, "%s.%" PRId64 ".", id, timestamp_s);
	buf_append_str(&text, body);
	for (size_t i = 0; i < secrets->count; i++) {
		unsigned char mac[EVP_MAX_MD_SIZE];
		unsigned len = 0;
		if (!HMAC(EVP_sha256(), secrets->items[i].bytes, (int)secrets->items[i].len,
			  (const unsigned char *)text.data, text.len, mac, &len))
			abort(); /* out of memory */
		buf_append_text(out, i ? " v1," : "v1,");
		base64_append(out, mac, len);
	}
}

/* ---- bodies ---- */

static str_t gravest(const struct advisory *advisory)
{
	return advisory->kinds_count ? advisory->kinds[0]
				     : str_from(advisory_kind_name((enum advisory_kind)advisory->kind));
}

void webhook_body(const struct advisory *advisory, struct buf *out)
{
	str_t kind = gravest(advisory);
	char at[sizeof "2026-01-01T00:00:00"] = "1970-01-01T00:00:00";
	time_t seconds = (time_t)(advisory->raised_at / 1000);
	struct tm utc;
	if (advisory->raised_at >= 0 && gmtime_r(&seconds, &utc))
		strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &utc);
	buf_append_text(out, "{\"type\":\"advisory.");
	for (size_t i = 0; i < kind.len; i++) /* of a symbol; anything else may come from anybody */
		if (isalnum((unsigned char)kind.ptr[i]) || kind.ptr[i] == '_')
			buf_append_char(out, (char)tolower((unsigned char)kind.ptr[i]));
	buf_printf(out, "\",\"timestamp\":\"%s.%03dZ\",\"data\":", at,
		   advisory->raised_at >= 0 ? (int)(advisory->raised_at % 1000) : 0);
	codec_json_advisory(advisory, out);
	buf_append_char(out, '}');
}

static bool has_kind(const struct advisory *advisory, enum advisory_kind kind)
{
	for (size_t i = 0; i < advisory->kinds_count; i++)
		if (str_equal(advisory->kinds[i], str_from(advisory_kind_name(kind))))
			return true;
	return advisory->kinds_count == 0 && advisory->kind == (int)kind;
}

bool webhook_selects(const struct advisory *advisory, unsigned kinds, unsigned levels)
{
	bool kind = kinds == 0;
	for (enum advisory_kind i = 0; i < ADVISORY_KIND_COUNT_ && !kind; i++)
		kind = (kinds & 1U << i) && has_kind(advisory, i);
	return kind && (levels == 0 || advisory->level == ENUM_ABSENT || (levels & 1U << advisory->level));
}

/* ---- the outlet ---- */

/* A header's value: whoever wrote the message may have written anything. */
static bool is_plain(str_t id)
{
	static const char also[] = "-_.:";
	for (size_t i = 0; i < id.len; i++)
		if (!isalnum((unsigned char)id.ptr[i]) && (!id.ptr[i] || !strchr(also, id.ptr[i])))
			return false;
	return id.len > 0 && id.len <= WEBHOOK_ID_MAX;
}

static enum outlet_take take(void *context, const rd_kafka_message_t *message, size_t *ret_items,
			     size_t *ret_bytes, struct err_detail *detail)
{
	struct webhook *webhook = context;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct advisory *advisory;
	if (!message->payload)
		return outlet_empty(detail);
	err_t err = codec_decode_advisory(webhook->options.codec, message->payload, message->len, arena,
					  &advisory, detail);
	if (err)
		return outlet_undecoded(err, detail);
	if (!webhook_selects(advisory, webhook->options.kinds, webhook->options.levels))
		return OUTLET_PASSED;
	if (is_plain(advisory->advisory_id))
		snprintf(webhook->id, sizeof webhook->id, "%.*s", (int)advisory->advisory_id.len,
			 advisory->advisory_id.ptr);
	else
		snprintf(webhook->id, sizeof webhook->id, "%s-%d-%" PRId64, rd_kafka_topic_name(message->rkt),
			 (int)message->partition, message->offset);
	webhook_body(advisory, &webhook->body);
	*ret_items = 1;
	*ret_bytes = webhook->body.len;
	return OUTLET_TAKEN;
}

static void send_signed(struct webhook *webhook, struct fetcher *fetcher,
			const struct webhook_secrets *secrets, struct fetch_answer *ret_answer)
{
	_cleanup_(buf_free) struct buf id = BUF_INIT, timestamp = BUF_INIT, signature = BUF_INIT;
	int64_t now_s = clock_wall_ms() / 1000;
	buf_printf(&id, "webhook-id: %s", webhook->id);
	buf_printf(&timestamp, "webhook-timestamp: %" PRId64, now_s);
	buf_append_text(&signature, "webhook-signature: ");
	webhook_sign(secrets, webhook->id, now_s, buf_str(&webhook->body), &signature);
	const char *const headers[] = { id.data, timestamp.data, signature.data,
					"User-Agent: assayd/" ASSAYD_VERSION };
	const struct fetch_request request = {
		.url = webhook->options.url,
		.body = buf_str(&webhook->body),
		.content_type = "application/json",
		.headers = headers,
		.headers_count = sizeof headers / sizeof *headers,
		.tls = { .ca_file = webhook->options.ca_file },
		.timeout_ms = webhook->options.timeout_ms,
		.max_bytes = ANSWER_BYTES_MAX,
	};
	fetch(fetcher, &request, ret_answer);
}

static void post(void *context, struct fetcher *fetcher, struct reception_answer *ret_answer,
		 size_t *ret_refused)
{
	struct webhook *webhook = context;
	struct webhook_secrets secrets;
	struct fetch_answer answer;
	struct err_detail detail = { "" };
	(void)ret_refused;
	err_t err = webhook_read_secrets(webhook->options.secret_file, &secrets, &detail);
	if (err) {
		*ret_answer = (struct reception_answer){ .reception = RECEPTION_LATER, .after_ms = -1 };
		snprintf(ret_answer->reason, sizeof ret_answer->reason, "webhook.secret_file: %s",
			 err_message(err, &detail));
		return;
	}
	send_signed(webhook, fetcher, &secrets, &answer);
	explicit_bzero(&secrets, sizeof secrets);
	reception_of(&answer, "webhook.url", ret_answer);
	fetch_answer_free(&answer);
}

static void reset(void *context)
{
	struct webhook *webhook = context;
	buf_reset(&webhook->body);
}

static void release(void *context)
{
	struct webhook *webhook = context;
	buf_free(&webhook->body);
	free(webhook);
}

struct outlet webhook_outlet(const struct webhook_options *options)
{
	struct webhook *webhook = calloc(1, sizeof *webhook);
	if (!webhook)
		abort();
	webhook->options = *options;
	webhook->body = (struct buf)BUF_INIT;
	return (struct outlet){
		.name = "webhook",
		.title = "the advisory webhook",
		.dependency = "webhook receiver",
		.most_messages = 1,
		.most_bytes = SIZE_MAX,
		.give_up_after_ms = options->give_up_after_ms,
		.take = take,
		.send = post,
		.reset = reset,
		.release = release,
		.context = webhook,
	};
}
