#include "command/tail.h"

#include "command/interruption.h"
#include "command/settings.h"
#include "command/topic_message.h"
#include "common/clock.h"
#include "common/terminal.h"
#include "kafka/topic_reader.h"

#include <errno.h>
#include <time.h>

enum {
	LATEST = 10,
	LOOKED_AT = 20000, /* of all partitions, for the latest of those that are chosen */
	GATHERED = 1000,   /* lines, before older ones are dropped */
	PAUSE_MS = 300,
	PARTITIONS_MS = 10000,
};

/* What is not looked for is ENUM_ABSENT or NULL. */
struct filter {
	int level, action;
	const char *application;
};

struct line {
	int64_t time_ms;
	int64_t number; /* orders those of one time */
	char *text;
	size_t len;
};

struct tail {
	const struct tail_options *options;
	enum topic_kind kind;
	struct filter filter;
	struct codec *codec;
	bool gathers; /* lines of several partitions, to be printed in the order of their times */
	struct line *lines;
	size_t lines_count;
	size_t unavailable;    /* messages whose schema cannot be had now */
	struct err_detail why; /* of the first of them */
};

/* ---- options ---- */

err_t tail_parse_span(const char *text, int64_t *ret_ms, struct err_detail *detail)
{
	static const struct {
		char unit;
		int64_t ms;
	} units[] = { { 's', 1000 }, { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 } };
	char *end;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!errno && text[0] >= '0' && text[0] <= '9' && number > 0 && number <= 1000000 &&
		    *end == units[i].unit && !end[1]) {
			*ret_ms = number * units[i].ms;
			return ERR_OK;
		}
	return err_fail(detail, ERR_USAGE,
			"--since \"%s\" is no time span; write for example 90s, 15m, 24h or 7d", text);
}

int64_t tail_since_ms(int64_t span_ms)
{
	int64_t now_ms = clock_wall_ms();
	return span_ms > 0 && span_ms < now_ms ? now_ms - span_ms : 0;
}

/* HIGH stands for HIGH_CONFIDENCE. */
static err_t parse_level(const char *text, int *ret_level, struct err_detail *detail)
{
	size_t len = strlen(text);
	for (int level = 0; level <= LEVEL_HIGH; level++) {
		const char *name = advisory_level_name((enum confidence_level)level);
		if (strncasecmp(name, text, len) == 0 &&
		    (!name[len] || strcmp(name + len, "_CONFIDENCE") == 0)) {
			*ret_level = level;
			return ERR_OK;
		}
	}
	return err_fail(detail, ERR_USAGE, "--level \"%s\" is none of HIGH, MEDIUM, LOW and VERY_LOW", text);
}

static err_t parse_action(const char *text, int *ret_action, struct err_detail *detail)
{
	for (int action = 0; action <= RECORD_ACTION_USE; action++)
		if (strcasecmp(advisory_action_name((enum record_action)action), text) == 0) {
			*ret_action = action;
			return ERR_OK;
		}
	return err_fail(detail, ERR_USAGE,
			"--action \"%s\" is none of USE, USE_WITH_CAUTION, VERIFY and WITHHOLD", text);
}

static err_t parse_filter(const struct tail_options *options, enum topic_kind kind, struct filter *ret_filter,
			  struct err_detail *detail)
{
	struct filter filter = { ENUM_ABSENT, ENUM_ABSENT, options->application };
	bool has_them = kind == TOPIC_SCORED || kind == TOPIC_ADVISORIES;
	if (!has_them && (options->level || options->action || options->application))
		return err_fail(detail, ERR_USAGE,
				"messages of %s have no level, action or application to choose them by",
				topic_message_word(kind));
	err_t err = options->level ? parse_level(options->level, &filter.level, detail) : ERR_OK;
	if (!err && options->action)
		err = parse_action(options->action, &filter.action, detail);
	if (!err)
		*ret_filter = filter;
	return err;
}

/* ---- messages ---- */

static bool passes(const struct filter *filter, const struct topic_message *message)
{
	int level = ENUM_ABSENT, action = ENUM_ABSENT;
	str_t application = STR_NONE;
	if (message->scored) {
		level = message->scored->confidence.level;
		action = message->scored->disposition ? message->scored->disposition->action : ENUM_ABSENT;
		application = message->scored->application;
	} else if (message->advisory) {
		level = message->advisory->level;
		action = message->advisory->action;
		application = message->advisory->application;
	}
	return (filter->level == ENUM_ABSENT || filter->level == level) &&
	       (filter->action == ENUM_ABSENT || filter->action == action) &&
	       (!filter->application || str_is(application, filter->application));
}

/* Whoever closes the output has seen enough: nothing is left to be said of it. */
static err_t print(const char *text, size_t len, struct err_detail *detail)
{
	if (fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0)
		return ERR_OK;
	if (errno == EPIPE && freopen("/dev/null", "we", stdout))
		return ERR_SHUTTING_DOWN;
	return err_fail(detail, ERR_IO, "standard output cannot be written: %s", strerror(errno));
}

static void render(const struct tail *tail, const struct topic_message *message, struct buf *out)
{
	if (!tail->options->json) {
		topic_message_line(message, tail->options->colours, out);
		return;
	}
	_cleanup_(buf_free) struct buf plain = BUF_INIT;
	topic_message_json(message, &plain);
	buf_append_char(&plain, '\n');
	if (tail->options->to_terminal)
		terminal_append_lines(out, buf_str(&plain));
	else
		buf_append(out, plain.data, plain.len);
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	if (a->time_ms != b->time_ms)
		return (a->time_ms > b->time_ms) - (a->time_ms < b->time_ms);
	return (a->number > b->number) - (a->number < b->number);
}

/* In their order, without those before the latest. */
static void keep_latest(struct tail *tail)
{
	size_t former = tail->lines_count > LATEST ? tail->lines_count - LATEST : 0;
	if (tail->lines_count > 0)
		qsort(tail->lines, tail->lines_count, sizeof *tail->lines, compare_lines);
	for (size_t i = 0; i < former; i++)
		free(tail->lines[i].text);
	tail->lines_count -= former;
	if (former > 0)
		memmove(tail->lines, tail->lines + former, tail->lines_count * sizeof *tail->lines);
}

static void gather(struct tail *tail, const rd_kafka_message_t *message, struct buf *text)
{
	if (!tail->lines && !(tail->lines = calloc(GATHERED, sizeof *tail->lines)))
		abort();
	if (tail->lines_count == GATHERED)
		keep_latest(tail);
	tail->lines[tail->lines_count++] = (struct line){ .time_ms = kafka_written_ms(message),
							  .number = message->offset,
							  .text = TAKE_PTR(text->data),
							  .len = text->len };
}

static err_t print_gathered(struct tail *tail, struct err_detail *detail)
{
	err_t err = ERR_OK;
	keep_latest(tail);
	for (size_t i = 0; i < tail->lines_count; i++) {
		if (!err)
			err = print(tail->lines[i].text, tail->lines[i].len, detail);
		free(tail->lines[i].text);
	}
	tail->lines_count = 0;
	return err;
}

/* Said once: with `once` at the end. */
static void note_unavailable(struct tail *tail, const rd_kafka_message_t *message, const char *why)
{
	if (tail->unavailable++ > 0)
		return;
	snprintf(tail->why.message, sizeof tail->why.message, "%s", why);
	if (!tail->options->once)
		terminal_print_line(stderr,
				    "assayd: partition %d of %s, offset %lld cannot be read now, and others "
				    "like it are left out: %s",
				    (int)message->partition, rd_kafka_topic_name(message->rkt),
				    (long long)message->offset, why);
}

static err_t take(size_t span, const rd_kafka_message_t *message, void *context, struct err_detail *detail)
{
	struct tail *tail = context;
	struct topic_message read;
	struct err_detail reason = { "" };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	(void)span;
	if (interruption_came())
		return ERR_SHUTTING_DOWN;
	err_t fault = topic_message_read(tail->codec, tail->kind, message, arena, &read, &reason);
	if (codec_awaits_schema(fault)) {
		note_unavailable(tail, message, err_message(fault, &reason));
		return ERR_OK;
	}
	if (fault) {
		terminal_print_line(stderr, "assayd: partition %d of %s, offset %lld is no such message: %s",
				    (int)message->partition, rd_kafka_topic_name(message->rkt),
				    (long long)message->offset, err_message(fault, &reason));
		return ERR_OK;
	}
	if (!passes(&tail->filter, &read))
		return ERR_OK;
	render(tail, &read, &text);
	if (!tail->gathers)
		return print(text.data, text.len, detail);
	gather(tail, message, &text);
	return ERR_OK;
}

/* ---- the topic ---- */

/* Where each partition is begun with. */
static err_t find_begin(struct topic_reader *reader, const struct tail_options *options, const char *topic,
			struct arena *arena, struct topic_span **ret_spans, size_t *ret_count,
			struct err_detail *detail)
{
	int64_t span_ms = 0;
	err_t err = options->since ? tail_parse_span(options->since, &span_ms, detail) : ERR_OK;
	if (!err)
		err = topic_reader_spans(reader, topic, tail_since_ms(span_ms), arena, ret_spans, ret_count,
					 detail);
	bool chooses = options->level || options->action || options->application;
	for (size_t i = 0; !err && !options->since && i < *ret_count; i++) {
		struct topic_span *span = &(*ret_spans)[i];
		/* behind each transaction lies its end, which is no record */
		int64_t back = chooses ? LOOKED_AT / (int64_t)*ret_count : 0;
		back = back > 2 * LATEST ? back : 2 * LATEST;
		if (span->from < span->until - back)
			span->from = span->until - back;
	}
	return err;
}

static void wait_a_moment(void)
{
	const struct timespec moment = { 0, PAUSE_MS * 1000000L };
	nanosleep(&moment, NULL); /* an interruption ends it */
}

/* What is new in the partitions that are known, and in those that were not. */
static err_t move_on(struct topic_reader *reader, const char *topic, struct arena *arena, bool looks,
		     struct topic_span **spans, size_t *count, struct err_detail *detail)
{
	struct topic_span *all;
	size_t all_count;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < *count; i++) {
		struct topic_span *span = &(*spans)[i];
		int64_t low, high;
		err = topic_reader_bounds(reader, topic, span->partition, &low, &high, detail);
		if (!err && (high < span->from || low > span->from)) /* made again, or deleted meanwhile */
			span->from = low;
		if (!err)
			span->until = high;
	}
	if (err || !looks)
		return err;
	err = topic_reader_spans(reader, topic, 0, arena, &all, &all_count, detail);
	if (err || all_count <= *count)
		return err;
	memcpy(all, *spans, *count * sizeof *all);
	*spans = all;
	*count = all_count;
	return ERR_OK;
}

static err_t follow(struct tail *tail, struct topic_reader *reader, const char *topic, struct arena *arena,
		    struct err_detail *detail)
{
	struct topic_span *spans;
	size_t count;
	int64_t looked_us = clock_monotonic_us();
	err_t err = find_begin(reader, tail->options, topic, arena, &spans, &count, detail);
	tail->gathers = !tail->options->since;
	while (!err && !interruption_came()) {
		err = topic_reader_read(reader, spans, count, take, tail, detail);
		if (err == ERR_CONFLICT) { /* what is deleted meanwhile is not shown */
			err = topic_reader_pass_deleted(reader, spans, count, detail);
			continue;
		}
		if (!err)
			err = print_gathered(tail, detail);
		tail->gathers = false;
		if (err || tail->options->once)
			break;
		wait_a_moment();
		bool looks = clock_monotonic_us() - looked_us > INT64_C(1000) * PARTITIONS_MS;
		if (looks)
			looked_us = clock_monotonic_us();
		if (!interruption_came())
			err = move_on(reader, topic, arena, looks, &spans, &count, detail);
	}
	return err;
}

err_t tail_run(const struct tail_options *options, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	_cleanup_(topic_reader_cleanup) struct topic_reader *reader = NULL;
	struct tail tail = { .options = options, .kind = TOPIC_SCORED };
	struct kafka_settings kafka;
	err_t err = config_load(options->config_file, &config, detail);
	if (!err && options->topic)
		err = topic_message_kind(options->topic, config, &tail.kind, detail);
	if (!err)
		err = parse_filter(options, tail.kind, &tail.filter, detail);
	if (!err)
		err = settings_kafka(config, arena, &kafka, detail);
	if (!err)
		err = topic_message_codec(config, &codec, detail);
	if (!err)
		err = topic_reader_new_searching(&kafka, KAFKA_CALIBRATION_SUFFIX, &reader, detail);
	if (err)
		return err;
	tail.codec = codec;
	interruption_catch();
	err = follow(&tail, reader, topic_message_topic(tail.kind, config), arena, detail);
	for (size_t i = 0; i < tail.lines_count; i++)
		free(tail.lines[i].text);
	free(tail.lines);
	if (!err && options->once && tail.unavailable)
		return err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "%zu messages of %s cannot be read now: %s",
				tail.unavailable, topic_message_topic(tail.kind, config), tail.why.message);
	return err == ERR_SHUTTING_DOWN ? ERR_OK : err;
}
