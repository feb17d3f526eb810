#include "judge/exchange.h"

#include "common/log.h"
#include "common/utf8.h"
#include "judge/reply.h"

#define BACKOFF_BASE_MS 250
#define BACKOFF_CAP_MS	8000

/* What a request mostly has around its texts, with what is escaped in them. */
#define FRAME_BYTES 1024

/* More or less; and of a reply. */
#define BYTES_A_TOKEN 4
#define REPLY_TOKENS  100

static const struct judge_call *first_call(const struct exchange *exchange)
{
	return container_of(exchange->calls.head.next, const struct judge_call, node);
}

static struct prompt_values values_of(const struct judge_call *call)
{
	return (struct prompt_values){ call->question, call->sql, call->truth_sql, call->schema,
				       call->dialect };
}

static void append_counted(struct buf *buf, const char *text)
{
	buf_append_u64(buf, strlen(text));
	buf_append_text(buf, text);
}

void exchange_key(const struct endpoint *endpoint, const struct prompts *prompts,
		  const struct judge_call *call, unsigned char ret_key[DIGEST_BYTES])
{
	_cleanup_(buf_free) struct buf image = BUF_INIT;
	struct prompt_values values = values_of(call);
	buf_reserve(&image, FRAME_BYTES);
	append_counted(&image, endpoint->provider->name);
	append_counted(&image, endpoint->model);
	append_counted(&image, "temperature=0");
	if (endpoint->name) { /* members of one model and prompt are different judges all the same */
		append_counted(&image, "judge");
		append_counted(&image, endpoint->name);
	}
	buf_append_u32(&image, (uint32_t)call->kind);
	prompt_image(prompts, call->kind, &values, &image);
	hash_sha256(image.data, image.len, ret_key);
}

int64_t exchange_expected_tokens(const struct exchange *exchange)
{
	const struct judge_call *call = first_call(exchange);
	size_t template = prompts_text(exchange->prompts).len / JUDGE_QUESTIONS;
	size_t values = call->question.len + call->sql.len + call->truth_sql.len + call->schema.len;
	return (int64_t)(template + values) / BYTES_A_TOKEN + REPLY_TOKENS;
}

int64_t exchange_tokens(const struct exchange *exchange, int64_t reported)
{
	long status = exchange->transfer.status;
	if (reported > 0 || status < 200 || status > 299)
		return reported;
	return (int64_t)(exchange->request.len + exchange->transfer.response.len) / BYTES_A_TOKEN;
}

static void set_error(struct exchange *exchange, err_t err, str_t message)
{
	exchange->verdict.error = err;
	exchange->verdict.message = message;
}

void exchange_fail(struct exchange *exchange, err_t err)
{
	set_error(exchange, err, str_from(err_text(err)));
}

struct exchange *exchange_new(const struct endpoint *endpoint, const unsigned char key[DIGEST_BYTES],
			      unsigned max_attempts)
{
	struct exchange *exchange = calloc(1, sizeof *exchange);
	if (!exchange)
		abort();
	memcpy(exchange->by_key.key, key, DIGEST_BYTES);
	list_init(&exchange->calls);
	exchange->prompts = prompts_share(endpoint->prompts);
	exchange->max_attempts = max_attempts;
	exchange->backoff = (struct backoff){ .base_ms = BACKOFF_BASE_MS, .cap_ms = BACKOFF_CAP_MS };
	exchange_fail(exchange, ERR_JUDGE_UNAVAILABLE); /* as long as nobody has said anything */
	return exchange;
}

void exchange_free(struct exchange *exchange)
{
	buf_free(&exchange->request);
	buf_free(&exchange->transfer.response);
	prompts_free(exchange->prompts);
	arena_free(exchange->arena);
	free(exchange);
}

int64_t exchange_deadline_us(const struct exchange *exchange, const struct judge_call *call)
{
	int64_t from_us = call->submitted_us > exchange->sent_us ? call->submitted_us : exchange->sent_us;
	return from_us + exchange->timeout_us;
}

err_t exchange_write(struct exchange *exchange, struct endpoint *endpoint)
{
	struct buf *system = &endpoint->scratch[0], *user = &endpoint->scratch[1];
	const struct judge_call *call = first_call(exchange);
	struct prompt_values values = values_of(call);
	prompt_draw_nonce(&values, NULL, exchange->nonce);
	buf_reset(system);
	buf_reset(user);
	prompt_render(exchange->prompts, call->kind, &values, exchange->nonce, system, user);
	buf_reset(&exchange->request);
	buf_reserve(&exchange->request, system->len + user->len + FRAME_BYTES);
	exchange->structured = endpoint->structured;
	exchange->key_generation = endpoint->key_generation;
	struct provider_request request = { endpoint->model, call->kind, exchange->structured,
					    buf_str(system), buf_str(user) };
	if (!endpoint->provider->write_request(&request, &exchange->request)) {
		set_error(exchange, ERR_JUDGE_REFUSED, STR("the question or the SQL is not valid UTF-8"));
		return ERR_JUDGE_REFUSED;
	}
	exchange->transfer.body = buf_str(&exchange->request);
	return ERR_OK;
}

static enum exchange_step begin_again(struct exchange *exchange)
{
	exchange->attempts = 1;
	exchange->resampled = false;
	backoff_reset(&exchange->backoff);
	return EXCHANGE_AGAIN;
}

/* Notes the error, and tries again after a pause where that may help and tries and time are left for it. */
static enum exchange_step fail_transfer(struct exchange *exchange, str_t message, int64_t now_us)
{
	set_error(exchange, exchange->fault.err, message);
	if (exchange->fault.err == ERR_JUDGE_TIMEOUT &&
	    exchange->deadline_us - now_us >= exchange->timeout_us / 2)
		return begin_again(exchange);
	if (!exchange->fault.retry || exchange->attempts >= exchange->max_attempts)
		return EXCHANGE_DONE;
	int64_t pause_ms = backoff_next_ms(&exchange->backoff);
	if (exchange->transfer.retry_after_ms > 0)
		pause_ms += exchange->transfer.retry_after_ms;
	exchange->due_us = now_us + pause_ms * 1000;
	return exchange->due_us < exchange->deadline_us ? EXCHANGE_LATER : EXCHANGE_DONE;
}

/* The reply is no verdict: one more sample, with a new nonce. */
static enum exchange_step resample(struct exchange *exchange, str_t message)
{
	set_error(exchange, ERR_JUDGE_REPLY, message);
	if (exchange->resampled)
		return EXCHANGE_DONE;
	exchange->resampled = true;
	return EXCHANGE_AGAIN;
}

static err_t read_verdict(struct exchange *exchange, const struct endpoint *endpoint, str_t text,
			  struct err_detail *detail)
{
	struct reply reply;
	enum judge_question kind = first_call(exchange)->kind;
	if (!str_present(text))
		return err_fail(detail, ERR_JUDGE_REPLY, "the judge's answer holds no text");
	if (strstr(text.ptr, exchange->nonce))
		return err_fail(detail, ERR_JUDGE_REPLY, "the judge's reply repeats the nonce of the prompt");
	err_t err = kind == JUDGE_RELEVANCE ? reply_read_relevance(text, exchange->arena, &reply, detail)
					    : reply_read_correctness(text, exchange->arena, &reply, detail);
	if (err != ERR_OK)
		return err;
	exchange->verdict.score = reply.score;
	/* who sees the key may tell it */
	exchange->verdict.reason = endpoint_redact(endpoint, reply.reason, exchange->arena);
	set_error(exchange, ERR_OK, STR_NONE);
	return ERR_OK;
}

/* As much of the reply as records may take; who sees the key may tell it. */
static str_t keep_reply(struct exchange *exchange, const struct endpoint *endpoint, str_t text)
{
	if (!str_present(text))
		return STR_NONE;
	text = endpoint_redact(endpoint, text, exchange->arena);
	if (text.len <= JUDGE_RAW_MAX)
		return text;
	return arena_printf(exchange->arena, "%.*s…", (int)utf8_valid_prefix(text.ptr, JUDGE_RAW_MAX),
			    text.ptr);
}

static enum exchange_step read_success(struct exchange *exchange, const struct endpoint *endpoint)
{
	struct provider_answer answer;
	struct err_detail detail = { "" };
	str_t body = buf_str(&exchange->transfer.response);
	if (endpoint->provider->read_answer(body, exchange->arena, &answer) != ERR_OK)
		return resample(exchange, STR("the judge's answer is not a completion"));
	exchange->verdict.prompt_tokens += answer.prompt_tokens;
	exchange->verdict.completion_tokens += answer.completion_tokens;
	exchange->verdict.raw = keep_reply(exchange, endpoint, answer.text);
	if (read_verdict(exchange, endpoint, answer.text, &detail) != ERR_OK)
		return resample(exchange,
				arena_text(exchange->arena, detail.message, strlen(detail.message)));
	return EXCHANGE_DONE;
}

/* The server does not take the way in which the form of the answer was asked for: ask in a plainer way, and
 * keep to it. */
static bool ask_plainer(const struct exchange *exchange, struct endpoint *endpoint, str_t sentence)
{
	long status = exchange->transfer.status;
	if ((status != 400 && status != 422) || exchange->structured == STRUCTURED_NONE ||
	    !endpoint->provider->refuses_structured(sentence))
		return false;
	if (endpoint->structured == exchange->structured) {
		endpoint->structured++;
		log_notice("%s does not accept this form of structured output: using a simpler request",
			   endpoint->who);
	}
	return true;
}

/* The key was changed, and this request still had the former one. */
static bool has_newer_key(const struct exchange *exchange, struct endpoint *endpoint, int64_t now_us)
{
	return exchange->key_generation != endpoint->key_generation ||
	       endpoint_renew_refused_key(endpoint, now_us);
}

static enum exchange_step read_failure(struct exchange *exchange, struct endpoint *endpoint, int64_t now_us)
{
	long status = exchange->transfer.status;
	str_t body = buf_str(&exchange->transfer.response);
	str_t sentence = endpoint->provider->read_error(body, exchange->arena);
	struct fault fault = fault_of_status(status);
	str_t quote = endpoint_quote(endpoint, sentence, exchange->arena);
	str_t message = arena_printf(exchange->arena, "the judge answered HTTP %ld%s" STR_FMT, status,
				     quote.len ? ": " : "", STR_ARG(quote));
	if (ask_plainer(exchange, endpoint, sentence) ||
	    (fault.unauthorized && has_newer_key(exchange, endpoint, now_us))) {
		set_error(exchange, fault.err, message); /* unless there is time to ask again */
		return EXCHANGE_AGAIN;
	}
	exchange->fault = fault;
	return fail_transfer(exchange, message, now_us);
}

static str_t fault_message(const struct exchange *exchange)
{
	switch (exchange->transfer.outcome) {
	case TRANSFER_TOO_LARGE:
		return STR("the judge's answer is larger than 1 MiB");
	case TRANSFER_TIMED_OUT:
		return str_from(err_text(ERR_JUDGE_TIMEOUT));
	default:
		return arena_printf(exchange->arena, "the judge cannot be reached: %s",
				    exchange->transfer.fault);
	}
}

enum exchange_step exchange_read(struct exchange *exchange, struct endpoint *endpoint, int64_t now_us)
{
	long status = exchange->transfer.status;
	if (!exchange->arena)
		exchange->arena = arena_new();
	exchange->fault = fault_of_outcome(exchange->transfer.outcome);
	if (exchange->fault.err == ERR_OK)
		return status >= 200 && status < 300 ? read_success(exchange, endpoint)
						     : read_failure(exchange, endpoint, now_us);
	if (exchange->fault.err == ERR_JUDGE_REPLY)
		return resample(exchange, fault_message(exchange));
	return fail_transfer(exchange, fault_message(exchange), now_us);
}
