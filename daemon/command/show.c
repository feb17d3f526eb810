#include "command/show.h"

#include "command/id_time.h"
#include "command/key_finder.h"
#include "command/progress.h"
#include "command/remembered.h"
#include "command/score_view.h"
#include "command/settings.h"
#include "command/tail.h"
#include "command/topic_message.h"
#include "common/terminal.h"
#include "kafka/topic_reader.h"

#include <errno.h>
#include <zlib.h>

/* How far from its record an advisory is looked for, and how far first: both are of one transaction. */
#define NEAR_MS	   INT64_C(600000)
#define NEAREST_MS INT64_C(5000)

/* When a record may have been written whose id says when that was made. */
#define BEFORE_ID_MS INT64_C(60000)
#define AFTER_ID_MS  INT64_C(900000)

/* What is found of the key, as it is printed. */
struct show {
	const struct show_options *options;
	const struct config *config;
	struct arena *arena;
	const struct codec *codec;
	struct topic_reader *reader;
	struct key_finder *finder;
	struct progress progress;
	enum topic_kind kind;
	str_t key;
	int64_t since_ms;
	size_t found;	       /* in this topic */
	size_t unreadable;     /* of all: messages that are none of their topic */
	size_t unavailable;    /* of all: whose schema cannot be had now */
	struct err_detail why; /* of the first of these */
	size_t found_all;      /* in all */
	int64_t written_ms;    /* when the scored record was; 0: it was not found */
	struct buf out;
};

/* ---- printing ---- */

static void append_json(struct show *show, const struct topic_message *message)
{
	buf_printf(&show->out,
		   "{\"kind\":\"%s\",\"topic\":\"%s\",\"partition\":%d,\"offset\":%lld,\"message\":",
		   topic_message_word(message->kind), rd_kafka_topic_name(message->message->rkt),
		   (int)message->message->partition, (long long)message->message->offset);
	topic_message_json(message, &show->out);
	buf_append_text(&show->out, "}\n");
}

static void append_advisory(const struct advisory *advisory, struct buf *out)
{
	for (size_t i = 0; i < advisory->reasons_count; i++)
		terminal_append_line(out, "  because  " STR_FMT ": " STR_FMT,
				     STR_ARG(advisory->reasons[i].code), STR_ARG(advisory->reasons[i].text));
	if (str_present(advisory->remedy))
		terminal_append_line(out, "  remedy   " STR_FMT, STR_ARG(advisory->remedy));
}

static void append_dead_letter(const rd_kafka_message_t *message, struct buf *out)
{
	const str_t why = topic_message_header(message, "detail"),
		    value = { message->payload, message->payload ? message->len : 0 };
	terminal_append_line(out, "  because  " STR_FMT, STR_ARG(why));
	if (value.len > 0 && value.len <= 4096)
		terminal_append_line(out, "  bytes    " STR_FMT, STR_ARG(value));
	else
		terminal_append_line(out, "  bytes    %zu; --json has them", value.len);
}

static void append_text(struct show *show, const struct topic_message *message)
{
	terminal_append_line(&show->out, "%s  partition %d, offset %lld", topic_message_word(message->kind),
			     (int)message->message->partition, (long long)message->message->offset);
	if (message->scored) {
		const str_t question = message->scored->input ? message->scored->input->question : STR_NONE,
			    sql = message->scored->input ? message->scored->input->sql : STR_NONE;
		if (str_present(question))
			terminal_append_line(&show->out, "  asked    " STR_FMT, STR_ARG(question));
		if (str_present(sql))
			terminal_append_line(&show->out, "  SQL      " STR_FMT, STR_ARG(sql));
		score_view(message->scored, NULL, &show->out);
		return;
	}
	buf_append_text(&show->out, "  ");
	topic_message_line(message, false, &show->out);
	if (message->advisory)
		append_advisory(message->advisory, &show->out);
	else if (message->kind == TOPIC_DEAD_LETTERS)
		append_dead_letter(message->message, &show->out);
	buf_append_char(&show->out, '\n');
}

static err_t take(size_t span, const rd_kafka_message_t *message, void *context, struct err_detail *detail)
{
	struct show *show = context;
	const str_t key = { message->key, message->key_len };
	(void)span;
	(void)detail;
	if (!message->key || !str_equal(key, show->key))
		return ERR_OK;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct topic_message read;
	struct err_detail reason = { "" };
	err_t fault = topic_message_read(show->codec, show->kind, message, arena, &read, &reason);
	show->found++;
	if (show->kind == TOPIC_SCORED)
		show->written_ms = kafka_written_ms(message);
	if (codec_awaits_schema(fault)) {
		if (show->unavailable++ == 0)
			snprintf(show->why.message, sizeof show->why.message, "%s",
				 err_message(fault, &reason));
		return ERR_OK;
	}
	show->unreadable += fault != ERR_OK;
	if (fault)
		progress_clear(&show->progress);
	if (fault)
		terminal_print_line(stderr, "assayd: partition %d of %s, offset %lld is no such message: %s",
				    (int)message->partition, rd_kafka_topic_name(message->rkt),
				    (long long)message->offset, err_message(fault, &reason));
	else if (show->options->json)
		append_json(show, &read);
	else
		append_text(show, &read);
	return ERR_OK;
}

/* ---- searching ---- */

/* Java's default partitioner: Murmur2 with its seed, whose sign is dropped. */
static uint32_t murmur2(const unsigned char *data, size_t len)
{
	const uint32_t m = 0x5bd1e995;
	uint32_t hash = 0x9747b28c ^ (uint32_t)len;
	for (; len >= 4; data += 4, len -= 4) {
		uint32_t k = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
			     (uint32_t)data[3] << 24;
		k *= m;
		k ^= k >> 24;
		hash = hash * m ^ k * m;
	}
	for (size_t i = len; i > 0; i--)
		hash ^= (uint32_t)data[i - 1] << (8 * (i - 1));
	if (len > 0)
		hash *= m;
	hash = (hash ^ hash >> 13) * m;
	return (hash ^ hash >> 15) & 0x7fffffff;
}

/* What is looked through, in this order. */
struct places {
	struct topic_span *spans;
	size_t count, capacity;
};

static void add_span(struct show *show, struct places *places, struct topic_span span)
{
	if (span.from < span.until)
		ARENA_PUSH(show->arena, places->spans, places->count, places->capacity, span);
}

/* What was written in that time; `until_ms` 0: up to now. */
static err_t add_time(struct show *show, struct places *places, const char *topic, int32_t partition,
		      int64_t since_ms, int64_t until_ms, struct err_detail *detail)
{
	struct topic_span span, behind;
	err_t err =
		topic_reader_span(show->reader, topic, partition, since_ms > 0 ? since_ms : 0, &span, detail);
	if (!err && until_ms) {
		err = topic_reader_span(show->reader, topic, partition, until_ms, &behind, detail);
		span.until = err ? 0 : behind.from;
	}
	if (!err)
		add_span(show, places, span);
	return err;
}

/* All that may be there, the likeliest times first. */
static err_t add_partition(struct show *show, struct places *places, const char *topic, int32_t partition,
			   struct err_detail *detail)
{
	/* an advisory is published together with its record */
	const int64_t record_ms = show->kind == TOPIC_ADVISORIES ? show->written_ms : 0,
		      made_ms = show->kind == TOPIC_SCORED ? id_time_ms(show->key) : 0;
	err_t err = ERR_OK;
	if (record_ms > NEAR_MS) {
		err = add_time(show, places, topic, partition, record_ms - NEAREST_MS, record_ms + NEAREST_MS,
			       detail);
		return err ? err
			   : add_time(show, places, topic, partition, record_ms - NEAR_MS,
				      record_ms + NEAR_MS, detail);
	}
	if (made_ms > show->since_ms + BEFORE_ID_MS)
		err = add_time(show, places, topic, partition, made_ms - BEFORE_ID_MS, made_ms + AFTER_ID_MS,
			       detail);
	return err ? err : add_time(show, places, topic, partition, show->since_ms, 0, detail);
}

/* The offsets that the database knows, as far as the topic still has them. */
static err_t add_remembered(struct show *show, struct places *places, const char *topic, int partitions,
			    struct err_detail *detail)
{
	struct topic_span *spans, kept;
	size_t count;
	err_t err = ERR_OK;
	remembered_places(show->config, show->key, show->arena, &spans, &count);
	for (size_t i = 0; !err && i < count; i++) {
		if (spans[i].partition < 0 || spans[i].partition >= partitions)
			continue;
		err = topic_reader_span(show->reader, topic, spans[i].partition, show->since_ms, &kept,
					detail);
		if (!err && spans[i].from >= kept.from && spans[i].until <= kept.until)
			add_span(show, places, spans[i]);
	}
	return err;
}

/* The partitions that librdkafka's producers, us among them, and Java's put a key into, or all others. */
static err_t add_topic(struct show *show, struct places *places, const char *topic, bool others,
		       struct err_detail *detail)
{
	int count = 0;
	err_t err = topic_reader_partitions(show->reader, topic, &count, detail);
	if (err || count <= 0)
		return err;
	const unsigned char *key = (const unsigned char *)show->key.ptr;
	const int ours = (int)((uint32_t)crc32(0, key, (unsigned)show->key.len) % (unsigned)count),
		  javas = (int)(murmur2(key, show->key.len) % (unsigned)count);
	if (!others && show->kind == TOPIC_SCORED)
		err = add_remembered(show, places, topic, count, detail);
	if (!err && !others)
		err = add_partition(show, places, topic, ours, detail);
	if (!err && !others && javas != ours)
		err = add_partition(show, places, topic, javas, detail);
	for (int i = 0; !err && others && i < count; i++)
		if (i != ours && i != javas)
			err = add_partition(show, places, topic, i, detail);
	return err;
}

static err_t search_topic(struct show *show, bool others, struct err_detail *detail)
{
	const char *topic = topic_message_topic(show->kind, show->config);
	struct places places = { NULL, 0, 0 };
	struct topic_span found;
	err_t err = add_topic(show, &places, topic, others, detail);
	if (!err)
		err = key_finder_run(show->finder, show->key, places.spans, places.count, &show->progress,
				     &found, detail);
	show->found = 0;
	if (!err && found.from < found.until)
		err = topic_reader_read(show->reader, &found, 1, take, show, detail);
	show->found_all += show->found;
	return err;
}

static err_t search_topics(struct show *show, bool others, struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (enum topic_kind kind = 0; !err && kind < TOPIC_KINDS_; kind++) {
		show->kind = kind;
		/* a topic that nobody reads need not be there */
		if (kind != TOPIC_FEEDBACK || show->config->calibration.feedback_horizon_s != 0)
			err = search_topic(show, others, detail);
	}
	return err;
}

static err_t search(struct show *show, struct err_detail *detail)
{
	int64_t span_ms = 0;
	err_t err = show->options->since ? tail_parse_span(show->options->since, &span_ms, detail) : ERR_OK;
	show->since_ms = tail_since_ms(span_ms);
	if (!err)
		err = search_topics(show, false, detail);
	if (!err && show->found_all == 0)
		err = search_topics(show, true, detail);
	if (!err && show->found_all == 0)
		err = err_fail(detail, ERR_NOT_FOUND,
			       "no message has the key \"" STR_FMT
			       "\": %llu were looked at%s; the record of an "
			       "event that was just published comes after some seconds: ask again",
			       STR_ARG(show->key), (unsigned long long)key_finder_looked_at(show->finder),
			       show->options->since ? "; --since leaves older ones out" : "");
	progress_clear(&show->progress);
	return err;
}

static err_t print_found(const struct show *show, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	bool escapes = show->options->json && show->options->to_terminal;
	if (escapes)
		terminal_append_lines(&shown, buf_str(&show->out));
	const struct buf *out = escapes ? &shown : &show->out;
	if (out->len > 0 && fwrite(out->data, 1, out->len, stdout) != out->len)
		return err_fail(detail, ERR_IO, "standard output cannot be written: %s", strerror(errno));
	return ERR_OK;
}

err_t show_run(const struct show_options *options, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	_cleanup_(topic_reader_cleanup) struct topic_reader *reader = NULL;
	_cleanup_(key_finder_cleanup) struct key_finder *finder = NULL;
	struct kafka_settings kafka;
	err_t err = config_load(options->config_file, &config, detail);
	if (!err)
		err = settings_kafka(config, arena, &kafka, detail);
	if (!err)
		err = topic_message_codec(config, &codec, detail);
	if (!err)
		err = topic_reader_new_searching(&kafka, KAFKA_CALIBRATION_SUFFIX, &reader, detail);
	if (!err)
		err = key_finder_new(&kafka, &finder, detail);
	if (err)
		return err;
	struct show show = { .options = options,
			     .config = config,
			     .arena = arena,
			     .codec = codec,
			     .reader = reader,
			     .finder = finder,
			     .key = str_from(options->event_id) };
	progress_init(&show.progress);
	err = search(&show, detail);
	if (!err)
		err = print_found(&show, detail);
	if (!err && show.unavailable)
		err = err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
			       "%zu of %zu messages with that key cannot be read now: %s", show.unavailable,
			       show.found_all, show.why.message);
	else if (!err && show.unreadable)
		err = err_fail(detail, ERR_FRAME_UNKNOWN, "%zu of %zu messages with that key cannot be read",
			       show.unreadable, show.found_all);
	buf_free(&show.out);
	return err;
}
