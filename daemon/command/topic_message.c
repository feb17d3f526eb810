#include "command/topic_message.h"

#include "command/settings.h"
#include "common/base64.h"
#include "common/terminal.h"
#include "common/utf8.h"
#include "kafka/dead_letter.h"
#include "kafka/header.h"
#include "kafka/receipts.h"

#include <jansson.h>
#include <time.h>

/* Of a reason or a detail, in a line. */
enum { TEXT_BYTES = 240 };

/* A record of a topic has its limit there. */
#define MESSAGE_BYTES ((size_t)64 << 20)

static const char *const words[] = { "scored", "advisories", "dead-letters", "feedback" };

const char *topic_message_word(enum topic_kind kind)
{
	return words[kind];
}

const char *topic_message_topic(enum topic_kind kind, const struct config *config)
{
	const char *const topics[] = { config->kafka.scored_topic, config->kafka.advisory_topic,
				       config->kafka.dead_letter_topic, config->kafka.feedback_topic };
	return topics[kind];
}

err_t topic_message_kind(const char *text, const struct config *config, enum topic_kind *ret_kind,
			 struct err_detail *detail)
{
	for (enum topic_kind kind = 0; kind < TOPIC_KINDS_; kind++)
		if (strcmp(text, words[kind]) == 0 || strcmp(text, topic_message_topic(kind, config)) == 0) {
			*ret_kind = kind;
			return ERR_OK;
		}
	return err_fail(detail, ERR_USAGE,
			"\"%s\" is none of the topics scored (%s), advisories (%s), dead-letters (%s) and "
			"feedback (%s)",
			text, config->kafka.scored_topic, config->kafka.advisory_topic,
			config->kafka.dead_letter_topic, config->kafka.feedback_topic);
}

err_t topic_message_codec(const struct config *config, struct codec **ret_codec, struct err_detail *detail)
{
	return settings_codec(config, MESSAGE_BYTES, false, ret_codec, detail);
}

err_t topic_message_read(const struct codec *codec, enum topic_kind kind, const rd_kafka_message_t *message,
			 struct arena *arena, struct topic_message *ret_message, struct err_detail *detail)
{
	struct topic_message read = { .kind = kind, .message = message };
	err_t err = ERR_OK;
	switch (kind) {
	case TOPIC_SCORED:
		err = codec_decode_scored(codec, message->payload, message->len, arena, &read.scored, detail);
		break;
	case TOPIC_ADVISORIES:
		err = codec_decode_advisory(codec, message->payload, message->len, arena, &read.advisory,
					    detail);
		break;
	case TOPIC_FEEDBACK:
		err = codec_decode_feedback_headed(codec, kafka_header(message, FRAMING_HEADER),
						   message->payload, message->len, arena, &read.feedback,
						   detail);
		break;
	case TOPIC_DEAD_LETTERS:
	case TOPIC_KINDS_:
		break;
	}
	if (!err)
		*ret_message = read;
	return err;
}

str_t topic_message_header(const rd_kafka_message_t *message, const char *name)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t len;
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    rd_kafka_header_get_last(headers, name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR || !value)
		return STR_NONE;
	return (str_t){ value, len };
}

/* ---- JSON ---- */

/* A text, or its bytes in base 64 under the other name; null where there are none. */
static void set_bytes(json_t *object, const char *name, const char *other_name, const void *data, size_t len)
{
	if (!data) {
		json_object_set_new(object, name, json_null());
	} else if (utf8_valid(data, len)) {
		json_object_set_new(object, name, json_stringn(data, len));
	} else {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		base64_append(&text, data, len);
		json_object_set_new(object, other_name, json_stringn(text.data, text.len));
	}
}

static json_t *headers_json(const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers;
	json_t *list = json_array();
	const char *name;
	const void *value;
	size_t len;
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return list;
	for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &len); i++) {
		json_t *header = json_object();
		set_bytes(header, "name", "name_base64", name, strlen(name));
		set_bytes(header, "value", "value_base64", value, len);
		json_array_append_new(list, header);
	}
	return list;
}

static void dead_letter_json(const rd_kafka_message_t *message, struct buf *out)
{
	json_t *object =
		json_pack("{s:s, s:i, s:I, s:I}", "topic", rd_kafka_topic_name(message->rkt), "partition",
			  (int)message->partition, "offset", (json_int_t)message->offset, "written_at",
			  (json_int_t)rd_kafka_message_timestamp(message, NULL));
	set_bytes(object, "key", "key_base64", message->key, message->key_len);
	json_object_set_new(object, "headers", headers_json(message));
	set_bytes(object, "value", "value_base64", message->payload, message->len);
	char *text = json_dumps(object, JSON_COMPACT);
	buf_append_text(out, text);
	free(text);
	json_decref(object);
}

static void feedback_json(const struct query_feedback *feedback, struct buf *out)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	if (codec_new(&(const struct codec_options){ .output = WIRE_JSON }, &codec, NULL) == ERR_OK)
		codec_encode_feedback(codec, feedback, out);
}

void topic_message_json(const struct topic_message *message, struct buf *out)
{
	if (message->scored)
		codec_json_scored(message->scored, out);
	else if (message->advisory)
		codec_json_advisory(message->advisory, out);
	else if (message->feedback)
		feedback_json(message->feedback, out);
	else
		dead_letter_json(message->message, out);
}

/* ---- lines ---- */

static const char *action_colour(int action)
{
	switch (action) {
	case RECORD_ACTION_USE:
		return "\033[32m";
	case RECORD_ACTION_USE_WITH_CAUTION:
		return "\033[36m";
	case RECORD_ACTION_VERIFY:
		return "\033[33m";
	default:
		return "\033[31m";
	}
}

static void append_time(int64_t time_ms, struct buf *out)
{
	const time_t seconds = (time_t)(time_ms / 1000);
	struct tm parts;
	char text[32] = "-";
	if (gmtime_r(&seconds, &parts))
		strftime(text, sizeof text, "%F %TZ", &parts);
	buf_append_text(out, text);
}

static str_t excerpt(str_t text)
{
	return text.len <= TEXT_BYTES ? text : (str_t){ text.ptr, utf8_valid_prefix(text.ptr, TEXT_BYTES) };
}

static str_t or_dash(str_t text)
{
	return text.len > 0 ? text : STR("-");
}

static void append_action(int action, bool colours, struct buf *out)
{
	const char *name = action == ENUM_ABSENT ? "-" : advisory_action_name((enum record_action)action);
	if (colours && action != ENUM_ABSENT)
		buf_printf(out, "  %s%-16s\033[0m", action_colour(action), name);
	else
		buf_printf(out, "  %-16s", name);
}

static const char *level_text(int level)
{
	return level == ENUM_ABSENT ? "-" : advisory_level_name((enum confidence_level)level);
}

static void scored_line(const struct scored_query *scored, bool colours, struct buf *out)
{
	const struct record_disposition *disposition = scored->disposition;
	append_time(scored->scored_at, out);
	append_action(disposition ? disposition->action : ENUM_ABSENT, colours, out);
	buf_printf(out, "  %-21s", level_text(scored->confidence.level));
	if (scored->confidence.overall.set)
		buf_printf(out, "%.2f  ", scored->confidence.overall.value);
	else
		buf_append_text(out, "-     ");
	const str_t application = or_dash(scored->application), id = or_dash(scored->event_id);
	const str_t because = disposition && disposition->reasons_count > 0
				      ? excerpt(disposition->reasons[0].text)
				      : STR("-");
	terminal_append_line(out, STR_FMT "  " STR_FMT "  " STR_FMT, STR_ARG(application), STR_ARG(id),
			     STR_ARG(because));
}

static void advisory_line(const struct advisory *advisory, bool colours, struct buf *out)
{
	const str_t application = or_dash(advisory->application),
		    id = or_dash(str_present(advisory->event_id) ? advisory->event_id : advisory->episode_id);
	const str_t summary = excerpt(advisory->summary);
	_cleanup_(buf_free) struct buf kinds = BUF_INIT;
	append_time(advisory->raised_at, out);
	append_action(advisory->action, colours, out);
	for (size_t i = 0; i < advisory->kinds_count; i++)
		buf_printf(&kinds, "%s" STR_FMT, i ? "," : "", STR_ARG(advisory->kinds[i]));
	buf_append_text(out, "  ");
	terminal_append_line(out, STR_FMT "  " STR_FMT "  " STR_FMT "  " STR_FMT, STR_ARG(buf_str(&kinds)),
			     STR_ARG(application), STR_ARG(id), STR_ARG(summary));
}

static void feedback_line(const struct topic_message *message, struct buf *out)
{
	const struct query_feedback *feedback = message->feedback;
	const str_t source = or_dash(feedback->source), note = excerpt(feedback->note);
	append_time(rd_kafka_message_timestamp(message->message, NULL), out);
	terminal_append_line(out, "  %-5s  " STR_FMT "  " STR_FMT "  " STR_FMT,
			     feedback->correct ? "right" : "wrong", STR_ARG(feedback->event_id),
			     STR_ARG(source), STR_ARG(note));
}

/* What a redrive has left: which dead letters of the partition were put back. */
static void receipt_line(const rd_kafka_message_t *message, struct buf *out)
{
	const str_t offsets = excerpt((str_t){ message->payload, message->payload ? message->len : 0 });
	append_time(rd_kafka_message_timestamp(message, NULL), out);
	terminal_append_line(out, "  put back by a redrive  partition %d, offsets " STR_FMT,
			     (int)message->partition, STR_ARG(offsets));
}

static void dead_letter_line(const rd_kafka_message_t *message, struct buf *out)
{
	const str_t redriven = topic_message_header(message, header_name(HEADER_REDRIVEN));
	const str_t reason = or_dash(topic_message_header(message, header_name(HEADER_REASON))),
		    topic = or_dash(topic_message_header(message, header_name(HEADER_TOPIC))),
		    partition = or_dash(topic_message_header(message, header_name(HEADER_PARTITION))),
		    offset = or_dash(topic_message_header(message, header_name(HEADER_OFFSET))),
		    why = excerpt(topic_message_header(message, header_name(HEADER_DETAIL)));
	append_time(rd_kafka_message_timestamp(message, NULL), out);
	terminal_append_line(out,
			     "  " STR_FMT "  " STR_FMT "/" STR_FMT "/" STR_FMT "%s" STR_FMT "%s  " STR_FMT,
			     STR_ARG(reason), STR_ARG(topic), STR_ARG(partition), STR_ARG(offset),
			     str_present(redriven) ? "  redriven " : "", STR_ARG(redriven),
			     str_present(redriven) ? " times before" : "", STR_ARG(why));
}

void topic_message_line(const struct topic_message *message, bool colours, struct buf *out)
{
	if (message->scored)
		scored_line(message->scored, colours, out);
	else if (message->advisory)
		advisory_line(message->advisory, colours, out);
	else if (message->feedback)
		feedback_line(message, out);
	else if (str_present(topic_message_header(message->message, header_name(HEADER_REDRIVE_RECEIPT))) &&
		 !str_present(topic_message_header(message->message, header_name(HEADER_REASON))))
		receipt_line(message->message, out);
	else
		dead_letter_line(message->message, out);
}
