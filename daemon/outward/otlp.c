#include "outward/otlp.h"

#include "common/clock.h"
#include "common/secret.h"
#include "kafka/header.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

enum { ANSWER_BYTES_MAX = 1 << 20, REQUEST_BYTES = 4 << 20, TRACE_LEN = 55, INFO = 9 };

#define PATH	   "/v1/logs"
#define EVENT_NAME "gen_ai.evaluation.result"

struct otlp {
	struct otlp_options options;
	struct buf records; /* with commas between */
};

/* ---- attributes ---- */

static void add(json_t *list, const char *name, json_t *value)
{
	json_array_append_new(list, json_pack("{s:s, s:o}", "key", name, "value", value));
}

/* Texts of records are UTF-8; whatever else comes is left out. */
static void add_text(json_t *list, const char *name, str_t text)
{
	json_t *value = str_present(text) ? json_stringn(text.ptr, text.len) : NULL;
	if (value)
		add(list, name, json_pack("{s:o}", "stringValue", value));
}

static void add_number(json_t *list, const char *name, double number)
{
	if (isfinite(number))
		add(list, name, json_pack("{s:f}", "doubleValue", number));
}

/* ---- log records ---- */

struct evaluation {
	const char *name;
	opt_double_t score;
	str_t label, explanation, error; /* or absent */
};

/* Version 00 of W3C's form: ids of 32 and 16 digits, not all 0, and flags. */
static bool is_traceparent(str_t text)
{
	static const char digits[] = "0123456789abcdef";
	bool trace = false, span = false;
	if (text.len < TRACE_LEN || memcmp(text.ptr, "ff", 2) == 0 ||
	    (text.len > TRACE_LEN && (memcmp(text.ptr, "00", 2) == 0 || text.ptr[TRACE_LEN] != '-')))
		return false;
	for (size_t i = 0; i < TRACE_LEN; i++) {
		char c = text.ptr[i];
		if (i == 2 || i == 35 || i == 52) {
			if (c != '-')
				return false;
			continue;
		}
		if (!c || !strchr(digits, c))
			return false;
		trace |= i > 2 && i < 35 && c != '0';
		span |= i > 35 && i < 52 && c != '0';
	}
	return trace && span;
}

static void set_trace(json_t *record, str_t traceparent)
{
	char flags[3] = "";
	if (!str_present(traceparent) || !is_traceparent(traceparent))
		return;
	memcpy(flags, traceparent.ptr + 53, 2);
	json_object_set_new(record, "traceId", json_stringn(traceparent.ptr + 3, 32));
	json_object_set_new(record, "spanId", json_stringn(traceparent.ptr + 36, 16));
	json_object_set_new(record, "flags", json_integer((json_int_t)strtoul(flags, NULL, 16)));
}

static str_t response_id(const struct scored_query *scored)
{
	for (size_t i = 0; scored->input && i < scored->input->attributes_count; i++)
		if (str_equal(scored->input->attributes[i].key, STR("gen_ai.response.id")))
			return scored->input->attributes[i].value;
	return STR_NONE;
}

static json_t *attributes_of(const struct scored_query *scored, const struct evaluation *evaluation)
{
	json_t *list = json_array();
	add_text(list, "gen_ai.evaluation.name", str_from(evaluation->name));
	if (evaluation->score.set)
		add_number(list, "gen_ai.evaluation.score.value", evaluation->score.value);
	add_text(list, "gen_ai.evaluation.score.label", evaluation->label);
	add_text(list, "gen_ai.evaluation.explanation", evaluation->explanation);
	add_text(list, "gen_ai.response.id", response_id(scored));
	add_text(list, "error.type", evaluation->error);
	add_text(list, "assayd.event_id", scored->event_id);
	add_text(list, "assayd.application", scored->application);
	add_text(list, "assayd.model", scored->model);
	add_text(list, "assayd.prompt_version", scored->prompt_version);
	if (scored->disposition)
		add_text(list, "assayd.action",
			 str_from(advisory_action_name((enum record_action)scored->disposition->action)));
	return list;
}

static void append_json(json_t *value, struct buf *out)
{
	char *text = json_dumps(value, JSON_COMPACT);
	if (!text)
		abort();
	buf_append_text(out, text);
	free(text);
	json_decref(value);
}

static void append_record(const struct scored_query *scored, str_t traceparent,
			  const struct evaluation *evaluation, struct buf *out)
{
	char nanoseconds[32];
	snprintf(nanoseconds, sizeof nanoseconds, "%" PRId64 "000000",
		 scored->scored_at > 0 ? scored->scored_at : 0);
	json_t *record = json_pack("{s:s, s:s, s:i, s:s, s:o}", "timeUnixNano", nanoseconds,
				   "observedTimeUnixNano", nanoseconds, "severityNumber", (int)INFO,
				   "eventName", EVENT_NAME, "attributes", attributes_of(scored, evaluation));
	if (!record)
		abort();
	set_trace(record, traceparent);
	if (out->len)
		buf_append_char(out, ',');
	append_json(record, out);
}

static struct evaluation judged(const char *name, const struct record_judge_score *score)
{
	bool good = str_equal(score->status, STR("ok")) || str_equal(score->status, STR("identical"));
	return (struct evaluation){ .name = name,
				    .score = good ? opt_double(score->score) : (opt_double_t)OPT_NONE,
				    .label = STR_NONE,
				    .explanation = score->reason,
				    .error = good ? STR_NONE : score->status };
}

static size_t evaluations_of(const struct scored_query *scored, struct evaluation list[static 6])
{
	const struct record_confidence *confidence = &scored->confidence;
	const struct record_result_validation *result = scored->result_validation;
	const struct record_disposition *disposition = scored->disposition;
	size_t count = 0;
	if (confidence->overall.set)
		list[count++] = (struct evaluation){
			.name = "confidence",
			.score = confidence->overall,
			.label = confidence->level == ENUM_ABSENT
					 ? STR_NONE
					 : str_from(advisory_level_name(
						   (enum confidence_level)confidence->level)),
			.explanation = disposition && disposition->reasons_count
					       ? disposition->reasons[0].text
					       : STR_NONE,
		};
	if (confidence->probability)
		list[count++] = (struct evaluation){ .name = "probability",
						     .score = opt_double(confidence->probability->value) };
	if (scored->evaluation)
		list[count++] = (struct evaluation){
			.name = "evaluation",
			.score = opt_double(scored->evaluation->score),
			.label = scored->evaluation->passed ? STR("pass") : STR("fail"),
			.explanation = scored->evaluation->failed_by,
		};
	if (result)
		list[count++] = (struct evaluation){
			.name = "result",
			.score = opt_double(result->score),
			.label = result->status,
			.explanation = result->explanation ? result->explanation->summary : STR_NONE,
		};
	if (scored->judge.relevance)
		list[count++] = judged("relevance", scored->judge.relevance);
	if (scored->judge.correctness)
		list[count++] = judged("correctness", scored->judge.correctness);
	return count;
}

size_t otlp_append(const struct scored_query *scored, str_t traceparent, bool explanations, struct buf *out)
{
	struct evaluation list[6];
	size_t count = evaluations_of(scored, list);
	for (size_t i = 0; i < count; i++) {
		if (!explanations)
			list[i].explanation = STR_NONE;
		append_record(scored, traceparent, &list[i], out);
	}
	return count;
}

/* ---- requests ---- */

static void write_request(const struct otlp_options *options, str_t records, struct buf *out)
{
	json_t *attributes = json_array();
	add_text(attributes, "service.name", STR("assayd"));
	add_text(attributes, "service.version", STR(ASSAYD_VERSION));
	add_text(attributes, "service.instance.id", str_from(options->instance_id));
	buf_append_text(out, "{\"resourceLogs\":[{\"resource\":{\"attributes\":");
	append_json(attributes, out);
	buf_append_text(out, "},\"scopeLogs\":[{\"scope\":{\"name\":\"assayd\",\"version\":\"" ASSAYD_VERSION
			     "\"},\"logRecords\":[");
	buf_append_str(out, records);
	buf_append_text(out, "]}]}]}");
}

static err_t post(const struct otlp_options *options, struct fetcher *fetcher, str_t body,
		  struct fetch_answer *ret_answer, struct err_detail *detail)
{
	_cleanup_(secret_free) char *authorization = NULL;
	_cleanup_(buf_free) struct buf url = BUF_INIT;
	static const char *const headers[] = { "User-Agent: assayd/" ASSAYD_VERSION };
	size_t len = strlen(options->endpoint);
	err_t err = options->authorization_file
			    ? secret_read_line(options->authorization_file, &authorization, detail)
			    : ERR_OK;
	if (err)
		return err;
	while (len > 0 && options->endpoint[len - 1] == '/')
		len--;
	buf_printf(&url, "%.*s" PATH, (int)len, options->endpoint);
	const struct fetch_request request = {
		.url = url.data,
		.body = body,
		.content_type = "application/json",
		.authorization = authorization,
		.headers = headers,
		.headers_count = 1,
		.tls = { .ca_file = options->ca_file },
		.timeout_ms = options->timeout_ms,
		.max_bytes = ANSWER_BYTES_MAX,
	};
	fetch(fetcher, &request, ret_answer);
	return ERR_OK;
}

err_t otlp_check(const struct otlp_options *options, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT;
	struct fetch_answer answer;
	struct reception_answer reception;
	struct err_detail reason = { "" };
	struct fetcher *fetcher = fetcher_new();
	write_request(options, STR(""), &body);
	err_t err = post(options, fetcher, buf_str(&body), &answer, &reason);
	if (err) {
		fetcher_free(fetcher);
		return err_fail(detail, err, "otlp.authorization_file: %s", err_message(err, &reason));
	}
	reception_of(&answer, "otlp.endpoint", &reception);
	fetch_answer_free(&answer);
	fetcher_free(fetcher);
	return reception.reception == RECEPTION_TAKEN
		       ? ERR_OK
		       : err_fail(detail, ERR_RECEIVER_UNAVAILABLE,
				  "otlp.endpoint: the collector takes nothing: %s", reception.reason);
}

/* ---- the outlet ---- */

static str_t header_of(const rd_kafka_message_t *message, const char *name)
{
	rd_kafka_headers_t *headers = NULL;
	const void *value = NULL;
	size_t len = 0;
	if (rd_kafka_message_headers(message, &headers) ||
	    rd_kafka_header_get_last(headers, name, &value, &len) || !value)
		return STR_NONE;
	return (str_t){ value, len };
}

static enum outlet_take take(void *context, const rd_kafka_message_t *message, size_t *ret_items,
			     size_t *ret_bytes, struct err_detail *detail)
{
	struct otlp *otlp = context;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct scored_query *scored;
	size_t before = otlp->records.len;
	if (!message->payload)
		return outlet_empty(detail);
	err_t err = codec_decode_scored(otlp->options.codec, message->payload, message->len, arena, &scored,
					detail);
	if (err)
		return outlet_undecoded(err, detail);
	*ret_items = otlp_append(scored, header_of(message, header_name(HEADER_TRACEPARENT)),
				 otlp->options.explanations, &otlp->records);
	*ret_bytes = otlp->records.len - before;
	return *ret_items ? OUTLET_TAKEN : OUTLET_PASSED;
}

/* How many records the collector did not take of a request that it took. */
static size_t rejected(str_t body)
{
	json_t *root = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *count = json_object_get(json_object_get(root, "partialSuccess"), "rejectedLogRecords");
	long long found = json_is_string(count) ? strtoll(json_string_value(count), NULL, 10)
						: json_integer_value(count);
	json_decref(root);
	return found > 0 ? (size_t)found : 0;
}

static void send_records(void *context, struct fetcher *fetcher, struct reception_answer *ret_answer,
			 size_t *ret_refused)
{
	struct otlp *otlp = context;
	_cleanup_(buf_free) struct buf body = BUF_INIT;
	struct fetch_answer answer;
	struct err_detail detail = { "" };
	write_request(&otlp->options, buf_str(&otlp->records), &body);
	err_t err = post(&otlp->options, fetcher, buf_str(&body), &answer, &detail);
	if (err) {
		*ret_answer = (struct reception_answer){ .reception = RECEPTION_LATER, .after_ms = -1 };
		snprintf(ret_answer->reason, sizeof ret_answer->reason, "otlp.authorization_file: %s",
			 err_message(err, &detail));
		return;
	}
	reception_of(&answer, "otlp.endpoint", ret_answer);
	if (ret_answer->reception == RECEPTION_GONE) /* a collector is a matter of configuration */
		ret_answer->reception = RECEPTION_LATER;
	if (ret_answer->reception == RECEPTION_TAKEN)
		*ret_refused = rejected(buf_str(&answer.body));
	fetch_answer_free(&answer);
}

static void reset(void *context)
{
	struct otlp *otlp = context;
	buf_reset(&otlp->records);
}

static void release(void *context)
{
	struct otlp *otlp = context;
	buf_free(&otlp->records);
	free(otlp);
}

struct outlet otlp_outlet(const struct otlp_options *options)
{
	struct otlp *otlp = calloc(1, sizeof *otlp);
	if (!otlp)
		abort();
	otlp->options = *options;
	otlp->records = (struct buf)BUF_INIT;
	return (struct outlet){
		.name = "otlp",
		.title = "the export of evaluation results",
		.dependency = "OTLP collector",
		.most_messages = options->max_records,
		.most_bytes = REQUEST_BYTES,
		.linger_ms = options->linger_ms,
		.give_up_after_ms = options->give_up_after_ms,
		.take = take,
		.send = send_records,
		.reset = reset,
		.release = release,
		.context = otlp,
	};
}
