#include "event/encode.h"

#include "common/clock.h"
#include "common/hash.h"
#include "event/advisories.h"
#include "event/context.h"
#include "event/incidents.h"
#include "kafka/cloud_event.h"
#include "kafka/dead_letter.h"
#include "kafka/header.h"

#include <inttypes.h>

enum {
	OUTPUTS_MAX = 2,
	HEADERS_MAX = 10 + CLOUD_EVENT_HEADERS,
	SHORTENED_VALUE_BYTES = 64 * 1024,
	SHORTENED_KEY_BYTES = 1024,
	TRACE_VALUE_BYTES = 1024,
	ENCODED_BYTES = 4000 /* that a record most often takes less than */
};

/* Where an output's value lies in the event's buffer, until the buffer grows no more. */
struct encode_piece {
	size_t from, to;
};

static bool is_trace(const char *name)
{
	return strcmp(name, header_name(HEADER_TRACEPARENT)) == 0 ||
	       strcmp(name, header_name(HEADER_TRACESTATE)) == 0;
}

/* The message's trace context (W3C), each name once. */
static size_t trace_headers(const struct event *event, struct output_header *headers)
{
	size_t count = 0;
	for (size_t i = 0; i < event->headers_count && count < 2; i++)
		if (is_trace(event->headers[i].name) && event->headers[i].value.len <= TRACE_VALUE_BYTES &&
		    (count == 0 || strcmp(headers[0].name, event->headers[i].name) != 0))
			headers[count++] = event->headers[i];
	return count;
}

static void set_outputs(struct event *event, struct output *outputs, const struct encode_piece *pieces,
			size_t count)
{
	struct publication *publication = &event->publication;
	buf_trim(&event->encoded); /* it may wait for its transaction for a while, with thousands of others */
	publication->outputs = outputs;
	publication->outputs_count = count;
	publication->bytes = event->encoded.len;
	for (size_t i = 0; i < count; i++)
		outputs[i].value =
			(str_t){ event->encoded.data + pieces[i].from, pieces[i].to - pieces[i].from };
}

/* Where outputs of this topic are to have them: adds headers of CloudEvents to an output of which the value
 * was encoded. */
static size_t cloud_headers(struct event *event, const struct cloud_event *cloud_event,
			    const struct encode_piece *piece, struct output_header *headers)
{
	struct cloud_event made = *cloud_event;
	if (!made.topic)
		return 0;
	made.value = (str_t){ event->encoded.data + piece->from, piece->to - piece->from };
	return cloud_event_headers(&made, event->arena, headers);
}

/* ---- scored ---- */

/* "A,B" */
static str_t joined(struct arena *arena, const str_t *texts, size_t count)
{
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "%s" STR_FMT, i ? "," : "", STR_ARG(texts[i]));
	str_t list = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return list;
}

static err_t encode_advisory(struct event *event, const struct advisory *advisory, struct output *output,
			     struct encode_piece *piece)
{
	struct output_header *headers = ARENA_ARRAY(event->arena, struct output_header, HEADERS_MAX);
	size_t count = trace_headers(event, headers);
	headers[count++] = (struct output_header){ header_name(HEADER_KIND), advisory->kinds[0] };
	headers[count++] =
		(struct output_header){ header_name(HEADER_KINDS),
					joined(event->arena, advisory->kinds, advisory->kinds_count) };
	headers[count++] = (struct output_header){ header_name(HEADER_ACTION),
						   str_from(advisory_action_name(
							   (enum record_action)advisory->action)) };
	headers[count++] = (struct output_header){ header_name(HEADER_APPLICATION), advisory->application };
	if (advisory->level != ENUM_ABSENT)
		headers[count++] = (struct output_header){ header_name(HEADER_LEVEL),
							   str_from(advisory_level_name(
								   (enum confidence_level)advisory->level)) };
	piece->from = event->encoded.len;
	err_t err = codec_encode_advisory(event->context->codec, advisory, &event->encoded);
	piece->to = event->encoded.len;
	const struct cloud_event cloud_event = { .id = advisory->advisory_id,
						 .topic = event->context->cloud_events.advisory,
						 .type = "io.assayd.Advisory",
						 .subject = advisory->event_id,
						 .time_ms = advisory->raised_at };
	count += cloud_headers(event, &cloud_event, piece, &headers[count]);
	*output = (struct output){ .topic = OUTPUT_ADVISORY,
				   .key = advisory->event_id,
				   .headers = headers,
				   .headers_count = count };
	return err;
}

/* Where the event lies in the input: its identity. */
static str_t coordinates(const struct event *event)
{
	return arena_printf(event->arena, STR_FMT "-%" PRId32 "-%" PRId64, STR_ARG(event->origin.topic),
			    event->origin.partition, event->origin.offset);
}

/* Once: an event that is encoded again, because an output was refused, raises the same one. */
static void raise_advisory(struct event *event)
{
	if (event->advised)
		return;
	event->advised = true;
	event->advisory = advisories_of(event, &event->advisory_kinds);
}

static err_t encode_scored(struct event *event, struct err_detail *detail)
{
	struct output *outputs = ARENA_ARRAY(event->arena, struct output, OUTPUTS_MAX);
	struct encode_piece pieces[OUTPUTS_MAX];
	struct output_header *headers = ARENA_ARRAY(event->arena, struct output_header, HEADERS_MAX);
	buf_reset(&event->encoded);
	buf_reserve(&event->encoded, ENCODED_BYTES);
	err_t err = codec_encode_scored(event->context->codec, event->scored, &event->encoded);
	pieces[0] = (struct encode_piece){ 0, event->encoded.len };
	size_t headers_count = trace_headers(event, headers);
	const struct cloud_event cloud_event = { .id = coordinates(event),
						 .topic = event->context->cloud_events.scored,
						 .type = "io.assayd.ScoredQuery",
						 .subject = event->scored->event_id,
						 .time_ms = event->scored->scored_at };
	headers_count += cloud_headers(event, &cloud_event, &pieces[0], &headers[headers_count]);
	outputs[0] = (struct output){ .topic = OUTPUT_SCORED,
				      .key = event->scored->event_id,
				      .headers = headers,
				      .headers_count = headers_count };
	size_t count = 1;
	raise_advisory(event);
	if (!err && event->advisory) {
		err = encode_advisory(event, event->advisory, &outputs[count], &pieces[count]);
		count++;
	}
	if (err)
		return err_fail(detail, err, "the record cannot be encoded: %s", err_text(err));
	set_outputs(event, outputs, pieces, count);
	return ERR_OK;
}

/* ---- dead letters ---- */

/* The headers that the message had, but for those of an earlier stay among the dead letters. */
static size_t original_headers(const struct event *event, struct output_header *headers)
{
	size_t count = 0;
	for (size_t i = 0; i < event->headers_count; i++)
		if (!dead_letter_is_own(event->headers[i].name))
			headers[count++] = event->headers[i];
	return count;
}

/* What stands for the bytes, and whether the event was put back before. */
static size_t add_size_headers(const struct event *event, struct output_header *headers)
{
	size_t count = 0;
	char *digest = arena_alloc(event->arena, DIGEST_HEX_SIZE);
	hash_sha256_hex(event->raw.ptr, event->raw.len, digest);
	headers[count++] = (struct output_header){ header_name(HEADER_LENGTH),
						   arena_printf(event->arena, "%zu", event->raw.len) };
	headers[count++] = (struct output_header){ header_name(HEADER_SHA256), str_from(digest) };
	for (size_t i = 0; i < event->headers_count && count < 2 + DEAD_LETTER_MARKS; i++)
		if (dead_letter_is_mark(event->headers[i].name) &&
		    event->headers[i].value.len <= TRACE_VALUE_BYTES)
			headers[count++] = event->headers[i];
	return count;
}

/* The untouched bytes, key and headers; shortened, where the topic cannot take them, the beginning of bytes
 * and key alone, with the length and the digest of the bytes. */
static void encode_dead_letter(struct event *event, bool shortened)
{
	struct arena *arena = event->arena;
	struct output *output = ARENA_NEW(arena, struct output);
	struct output_header *headers =
		ARENA_ARRAY(arena, struct output_header, event->headers_count + HEADERS_MAX);
	str_t value = event->raw, key = event->key;
	size_t count = shortened ? add_size_headers(event, headers) : original_headers(event, headers);
	if (shortened && value.len > SHORTENED_VALUE_BYTES)
		value.len = SHORTENED_VALUE_BYTES;
	if (shortened && key.len > SHORTENED_KEY_BYTES)
		key.len = SHORTENED_KEY_BYTES;
	headers[count++] =
		(struct output_header){ header_name(HEADER_REASON), str_from(err_name(event->dead_reason)) };
	headers[count++] = (struct output_header){ header_name(HEADER_DETAIL), event->dead_detail };
	headers[count++] = (struct output_header){ header_name(HEADER_TOPIC), event->origin.topic };
	headers[count++] = (struct output_header){ header_name(HEADER_PARTITION),
						   arena_printf(arena, "%" PRId32, event->origin.partition) };
	headers[count++] = (struct output_header){ header_name(HEADER_OFFSET),
						   arena_printf(arena, "%" PRId64, event->origin.offset) };
	event->dead_shortened = shortened;
	buf_reset(&event->encoded);
	buf_append_str(&event->encoded, value);
	*output = (struct output){
		.topic = OUTPUT_DEAD_LETTER, .key = key, .headers = headers, .headers_count = count
	};
	set_outputs(event, output, &(struct encode_piece){ 0, event->encoded.len }, 1);
	if (event->tombstone)
		output->value = STR_NONE;
}

/* ---- refusals ---- */

static bool drop_output(struct event *event, size_t index, const char *reason)
{
	struct publication *publication = &event->publication;
	incidents_note(event->context->incidents, INCIDENT_ADVISORY_REFUSED, 0, &event->origin,
		       str_from(reason), clock_monotonic_us());
	publication->outputs_count--;
	memmove(&publication->outputs[index], &publication->outputs[index + 1],
		(publication->outputs_count - index) * sizeof publication->outputs[0]);
	return true;
}

static bool shorten_scored(struct event *event)
{
	struct err_detail detail;
	event->scored->input = NULL;
	event->scored->input_shortened = true;
	return event_encode(event, &detail) == ERR_OK;
}

static bool refused(struct publication *publication, size_t index, bool too_large, const char *reason)
{
	struct event *event = container_of(publication, struct event, publication);
	struct output *output = &publication->outputs[index];
	if (output->topic == OUTPUT_ADVISORY)
		return drop_output(event, index, reason);
	if (output->topic == OUTPUT_SCORED && too_large && event->scored->input && shorten_scored(event))
		return true;
	if (output->topic == OUTPUT_SCORED) {
		struct err_detail detail;
		err_fail(&detail, ERR_OUTPUT_REFUSED, "the scored record was refused by its topic: %s",
			 reason);
		event_kill(event, ERR_OUTPUT_REFUSED, detail.message);
		encode_dead_letter(event, false);
		event_set_step(event, STEP_READY);
		return true;
	}
	if (!too_large || event->dead_shortened)
		return false;
	encode_dead_letter(event, true);
	return true;
}

err_t event_encode(struct event *event, struct err_detail *detail)
{
	struct publication *publication = &event->publication;
	err_t err = ERR_OK;
	publication->assignment = event->origin.assignment;
	publication->partition = event->origin.partition;
	publication->offset = event->origin.offset;
	publication->refused = refused;
	if (event->dead_reason)
		encode_dead_letter(event, false);
	else
		err = encode_scored(event, detail);
	return err;
}
