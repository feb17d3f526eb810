#include "command/redrive.h"

#include "avro/timestamp.h"
#include "command/interruption.h"
#include "command/json_output.h"
#include "command/progress.h"
#include "command/redrive_plan.h"
#include "command/settings.h"
#include "command/tail.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/terminal.h"
#include "kafka/log_ends.h"
#include "kafka/permissions.h"
#include "kafka/redriver.h"
#include "kafka/topic_reader.h"
#include "kafka/topics.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

enum {
	CONNECT_MS = 10000,
	RIGHTS_MS = 3000,
	CLAIM_MS = 30000, /* an owner before may have a transaction open */
	PATIENCE_MS = 60000,
	MAX_REDRIVES = 3,
};

struct redrive {
	const struct redrive_options *options;
	const struct config *config;
	struct kafka_settings kafka;
	struct redrive_choice choice;
	struct topic_reader *reader;
	struct redriver *redriver; /* NULL: nothing is done */
	struct redrive_plan *plan;
	struct progress progress;
	int partitions;
	uint64_t read, to_read; /* offsets of the dead-letter topic */
	uint64_t put_back, refused;
};

/* ---- options ---- */

static err_t parse_moment(const char *name, const char *text, int64_t *ret_ms, struct err_detail *detail)
{
	int64_t span_ms;
	if (!text)
		return ERR_OK;
	if (timestamp_parse(str_from(text), ret_ms) && *ret_ms > 0)
		return ERR_OK;
	if (tail_parse_span(text, &span_ms, NULL))
		return err_fail(detail, ERR_USAGE,
				"--%s \"%s\" is neither a time span, as 90s, 15m, 24h or 7d, nor a time, as "
				"2026-01-31T12:00:00Z",
				name, text);
	*ret_ms = tail_since_ms(span_ms);
	return ERR_OK;
}

static err_t parse_count(const char *name, const char *text, uint64_t *ret_count, struct err_detail *detail)
{
	char *end;
	if (!text)
		return ERR_OK;
	errno = 0;
	long long count = strtoll(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || count < 1 || count > 1000000000)
		return err_fail(detail, ERR_USAGE, "--%s \"%s\" is no number from 1 to 1000000000", name,
				text);
	*ret_count = (uint64_t)count;
	return ERR_OK;
}

static err_t parse_options(struct redrive *redrive, struct err_detail *detail)
{
	const struct redrive_options *options = redrive->options;
	struct redrive_choice *choice = &redrive->choice;
	uint64_t max_redrives = MAX_REDRIVES;
	*choice = (struct redrive_choice){ .reasons = options->reasons,
					   .reasons_count = options->reasons_count,
					   .event_ids = options->event_ids,
					   .event_ids_count = options->event_ids_count };
	err_t err = parse_moment("since", options->since, &choice->since_ms, detail);
	if (!err)
		err = parse_moment("until", options->until, &choice->until_ms, detail);
	if (!err)
		err = parse_count("limit", options->limit, &choice->limit, detail);
	if (!err)
		err = parse_count("max-redrives", options->max_redrives, &max_redrives, detail);
	choice->max_redrives = (uint32_t)max_redrives;
	if (!err && options->all && options->reasons_count)
		err = err_fail(detail, ERR_USAGE, "--all goes without --reason; see assayd --help");
	if (!err && choice->until_ms && choice->since_ms >= choice->until_ms)
		err = err_fail(detail, ERR_USAGE, "--since is not before --until: no dead letter is chosen");
	return err;
}

static bool is_chosen(const struct redrive_options *options)
{
	return options->all || options->reasons_count > 0 || options->event_ids_count > 0;
}

/* ---- reading ---- */

static struct redrive_message message_of(const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers;
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		headers = NULL;
	return (struct redrive_message){ .partition = message->partition,
					 .offset = message->offset,
					 .written_ms = rd_kafka_message_timestamp(message, NULL),
					 .key = { message->key, message->key_len },
					 .value = { message->payload, message->len },
					 .headers = headers };
}

static err_t take_into_plan(size_t span, const rd_kafka_message_t *message, void *context,
			    struct err_detail *detail)
{
	struct redrive *redrive = context;
	struct err_detail reason = { "" };
	const struct redrive_message read = message_of(message);
	(void)span;
	if (interruption_came())
		return ERR_SHUTTING_DOWN;
	redrive->read++;
	progress_show(&redrive->progress, "%" PRIu64 " dead letters read, of %" PRIu64 " at most",
		      redrive->read, redrive->to_read);
	err_t err = redrive_plan_add(redrive->plan, &read, &reason);
	if (err == ERR_OFFSETS_METADATA)
		return err_fail(detail, err, "partition %d of %s, offset %lld: %s", (int)message->partition,
				redrive->kafka.dead_letter_topic, (long long)message->offset, reason.message);
	return err ? err_fail(detail, err, "%s", reason.message) : ERR_OK;
}

/* All that is committed in the topic now, whatever others have open: receipts above all. */
static err_t make_plan(struct redrive *redrive, struct arena *arena, struct err_detail *detail)
{
	const char *topic = redrive->kafka.dead_letter_topic;
	struct topic_span *spans;
	size_t count;
	err_t err = topic_reader_spans(redrive->reader, topic, redrive->choice.since_ms, arena, &spans,
				       &count, detail);
	if (err)
		return err;
	int64_t *ends = ARENA_ARRAY(arena, int64_t, count);
	err = log_ends_ask(&redrive->kafka, topic, (int)count, CONNECT_MS, ends, detail);
	for (size_t i = 0; !err && i < count; i++) {
		spans[i].until = ends[i];
		redrive->to_read += ends[i] > spans[i].from ? (uint64_t)(ends[i] - spans[i].from) : 0;
	}
	redrive->partitions = (int)count;
	redrive->plan = redrive_plan_new(&redrive->choice, (int)count);
	if (!err)
		err = topic_reader_read(redrive->reader, spans, count, take_into_plan, redrive, detail);
	if (!err)
		redrive_plan_settle(redrive->plan);
	return err;
}

static bool is_known_reason(const char *name)
{
	for (err_t err = 0; err < ERR_COUNT_; err++)
		if (err_disposition(err) == ERR_DISPOSITION_DEAD_LETTER && strcmp(err_name(err), name) == 0)
			return true;
	return false;
}

/* A slip is not to pass for "there are none". */
static err_t check_reasons(const struct redrive *redrive, struct err_detail *detail)
{
	size_t count;
	const struct redrive_reason *reasons = redrive_plan_reasons(redrive->plan, &count);
	for (size_t i = 0; i < redrive->choice.reasons_count; i++) {
		const char *name = redrive->choice.reasons[i];
		bool found = is_known_reason(name);
		for (size_t j = 0; j < count && !found; j++)
			found = strcmp(reasons[j].name, name) == 0;
		if (!found)
			return err_fail(
				detail, ERR_USAGE,
				"--reason \"%s\" is no reason of a dead letter; see what there are with "
				"assayd redrive --dry-run",
				name);
	}
	return ERR_OK;
}

/* ---- putting back ---- */

static void on_report(int32_t partition, int64_t offset, const char *refused, void *context)
{
	struct redrive *redrive = context;
	if (!refused) {
		redrive->put_back++;
		return;
	}
	redrive->refused++;
	progress_clear(&redrive->progress);
	terminal_print_line(stderr,
			    "assayd: partition %" PRId32 " of %s, offset %" PRId64
			    " stays a dead letter: the topic \"%s\" does not take it: %s",
			    partition, redrive->kafka.dead_letter_topic, offset, redrive->kafka.input_topic,
			    refused);
}

static err_t take_back(size_t span, const rd_kafka_message_t *message, void *context,
		       struct err_detail *detail)
{
	struct redrive *redrive = context;
	const struct redrive_message read = message_of(message);
	struct dead_letter letter;
	(void)span;
	if (interruption_came())
		return ERR_SHUTTING_DOWN;
	progress_show(&redrive->progress, "%" PRIu64 " of %" PRIu64 " put back", redrive->put_back,
		      redrive_plan_count(redrive->plan, REDRIVE_CHOSEN));
	if (redrive_plan_fate(redrive->plan, &read) != REDRIVE_CHOSEN ||
	    !dead_letter_read(read.headers, &letter))
		return ERR_OK;
	return redriver_add(redrive->redriver, message, &letter, detail);
}

/* librdkafka does not always tell when it is the want of a right that a transaction fails. */
static err_t explain(const struct redrive *redrive, err_t err, struct err_detail *detail)
{
	struct err_detail right = { "" };
	if ((err != ERR_KAFKA_UNAVAILABLE && err != ERR_KAFKA_FATAL) ||
	    permissions_check_input(&redrive->kafka, true, RIGHTS_MS, &right) != ERR_KAFKA_TOPIC)
		return err;
	return err_fail(detail, ERR_KAFKA_TOPIC, "%s", right.message);
}

static err_t put_back(struct redrive *redrive, struct arena *arena, struct err_detail *detail)
{
	struct topic_span *spans = ARENA_ARRAY(arena, struct topic_span, (size_t)redrive->partitions);
	size_t count = 0;
	for (int32_t partition = 0; partition < redrive->partitions; partition++) {
		struct topic_span span = { .topic = redrive->kafka.dead_letter_topic,
					   .partition = partition };
		if (redrive_plan_span(redrive->plan, partition, &span.from, &span.until))
			spans[count++] = span;
	}
	err_t err = topic_reader_read(redrive->reader, spans, count, take_back, redrive, detail);
	if (!err)
		err = redriver_commit(redrive->redriver, detail);
	return explain(redrive, err, detail);
}

/* ---- what is printed ---- */

static void append_time(int64_t time_ms, struct buf *out)
{
	const time_t seconds = (time_t)(time_ms / 1000);
	struct tm parts;
	char text[32] = "-";
	if (time_ms > 0 && gmtime_r(&seconds, &parts))
		strftime(text, sizeof text, "%FT%TZ", &parts);
	buf_printf(out, "  %-20s", text);
}

static uint64_t open_letters(const struct redrive_reason *reason)
{
	uint64_t count = 0;
	for (enum redrive_fate fate = 0; fate < REDRIVE_FATES_; fate++)
		count += fate == REDRIVE_DONE ? 0 : reason->counts[fate];
	return count;
}

static void append_reason(const struct redrive_reason *reason, struct buf *out)
{
	const struct redrive_example *example = &reason->example;
	buf_printf(out, "%-24s %10" PRIu64 " %10" PRIu64, reason->name, open_letters(reason),
		   reason->counts[REDRIVE_CHOSEN]);
	append_time(reason->oldest_ms, out);
	append_time(reason->newest_ms, out);
	buf_append_char(out, '\n');
	if (example->partition < 0)
		return;
	terminal_append_line(out, "    as partition %" PRId32 ", offset %" PRId64 "%s%s%s%s",
			     example->partition, example->offset, example->key[0] ? ", key " : "",
			     example->key, example->detail[0] ? ": " : "", example->detail);
}

static void append_count(struct buf *out, uint64_t count, const char *what)
{
	if (count > 0)
		buf_printf(out, "%" PRIu64 " %s\n", count, what);
}

static uint64_t planned(const struct redrive *redrive, enum redrive_fate fate)
{
	return redrive_plan_count(redrive->plan, fate);
}

static void print_text(const struct redrive *redrive)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	size_t count;
	const struct redrive_reason *reasons = redrive_plan_reasons(redrive->plan, &count);
	if (count > 0)
		buf_printf(&out, "%-24s %10s %10s  %-20s  %-20s\n", "reason", "letters", "chosen", "oldest",
			   "newest");
	for (size_t i = 0; i < count; i++)
		append_reason(&reasons[i], &out);
	append_count(&out, planned(redrive, REDRIVE_DONE), "were put back before");
	append_count(&out, planned(redrive, REDRIVE_CUT),
		     "are left: they have only the first part of their event");
	append_count(&out, planned(redrive, REDRIVE_TOO_OFTEN),
		     "are left: they were put back too often (--max-redrives)");
	append_count(&out, planned(redrive, REDRIVE_BEYOND), "are left for another time (--limit)");
	append_count(&out, planned(redrive, REDRIVE_ELSEWHERE), "are of another input topic");
	append_count(&out, redrive_plan_foreign(redrive->plan), "messages are no dead letters of assayd");
	append_count(&out, redrive->refused, "are left: the topic does not take them");
	if (redrive->redriver)
		buf_printf(&out, "%" PRIu64 " of %" PRIu64 " put back into %s%s\n", redrive->put_back,
			   planned(redrive, REDRIVE_CHOSEN), redrive->kafka.input_topic,
			   redriver_is_in_doubt(redrive->redriver)
				   ? "; of the last transaction the next run finds out if it was committed"
				   : "");
	else
		buf_printf(&out, "%" PRIu64 " would be put back into %s\n", planned(redrive, REDRIVE_CHOSEN),
			   redrive->kafka.input_topic);
	fwrite(out.data, 1, out.len, stdout);
}

static json_t *time_json(int64_t time_ms)
{
	return time_ms > 0 ? json_integer((json_int_t)time_ms) : json_null();
}

static json_t *reason_json(const struct redrive_reason *reason)
{
	const struct redrive_example *example = &reason->example;
	json_t *object = json_pack("{s:s, s:I, s:o, s:o}", "reason", reason->name, "letters",
				   (json_int_t)open_letters(reason), "oldest", time_json(reason->oldest_ms),
				   "newest", time_json(reason->newest_ms));
	for (enum redrive_fate fate = 0; fate < REDRIVE_FATES_; fate++)
		json_object_set_new(object, redrive_fate_name(fate),
				    json_integer((json_int_t)reason->counts[fate]));
	json_object_set_new(object, "example",
			    example->partition < 0
				    ? json_null()
				    : json_pack("{s:i, s:I, s:o, s:o}", "partition", (int)example->partition,
						"offset", (json_int_t)example->offset, "key",
						json_output_text(example->key), "detail",
						json_output_text(example->detail)));
	return object;
}

static void print_json(const struct redrive *redrive, err_t err)
{
	size_t count;
	const struct redrive_reason *reasons = redrive_plan_reasons(redrive->plan, &count);
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, reason_json(&reasons[i]));
	json_t *object =
		json_pack("{s:s, s:s, s:b, s:I, s:I, s:b, s:b, s:o}", "dead_letter_topic",
			  redrive->kafka.dead_letter_topic, "input_topic", redrive->kafka.input_topic,
			  "dry_run", redrive->options->dry_run, "put_back", (json_int_t)redrive->put_back,
			  "refused", (json_int_t)redrive->refused, "complete", err == ERR_OK, "in_doubt",
			  redrive->redriver && redriver_is_in_doubt(redrive->redriver), "reasons", list);
	for (enum redrive_fate fate = 0; fate < REDRIVE_FATES_; fate++)
		json_object_set_new(object, redrive_fate_name(fate),
				    json_integer((json_int_t)planned(redrive, fate)));
	json_object_set_new(object, "foreign", json_integer((json_int_t)redrive_plan_foreign(redrive->plan)));
	json_output_print(object, redrive->options->to_terminal);
}

/* Of a run whose end is no error of its own. */
static err_t conclude(const struct redrive *redrive, err_t err, struct err_detail *detail)
{
	uint64_t left =
		redrive->refused + planned(redrive, REDRIVE_CUT) + planned(redrive, REDRIVE_TOO_OFTEN);
	if (err == ERR_SHUTTING_DOWN)
		return err_fail(detail, err, "interrupted; run it again for those that are left");
	if (err)
		return err;
	if (!redrive->options->dry_run && !is_chosen(redrive->options))
		return err_fail(
			detail, ERR_USAGE,
			"nothing was done: choose what is to be put back with --reason, --event-id or "
			"--all");
	return left ? err_fail(detail, ERR_INCOMPLETE,
			       "%" PRIu64 " dead letters that were chosen cannot be put back", left)
		    : ERR_OK;
}

/* ---- life ---- */

/* Before anything is read: see redriver.h. */
static err_t open_redriver(struct redrive *redrive, struct err_detail *detail)
{
	const struct redriver_options options = { .settings = &redrive->kafka,
						  .patience_ms = PATIENCE_MS,
						  .stopping = interruption_came,
						  .report = on_report,
						  .context = redrive };
	err_t err = topics_check_input(&redrive->kafka, CONNECT_MS, detail);
	if (redrive->options->dry_run || !is_chosen(redrive->options))
		return err;
	return err ? err : redriver_new(&options, CLAIM_MS, &redrive->redriver, detail);
}

static err_t run(struct redrive *redrive, struct arena *arena, struct err_detail *detail)
{
	err_t err = open_redriver(redrive, detail);
	if (!err)
		err = topic_reader_new(&redrive->kafka, KAFKA_CALIBRATION_SUFFIX, &redrive->reader, detail);
	if (!err)
		err = make_plan(redrive, arena, detail);
	if (!err)
		err = check_reasons(redrive, detail);
	if (err) {
		progress_clear(&redrive->progress);
		return err == ERR_SHUTTING_DOWN ? err_fail(detail, err, "interrupted; nothing was put back")
						: err;
	}
	if (redrive->redriver)
		err = put_back(redrive, arena, detail);
	progress_clear(&redrive->progress);
	if (redrive->options->json)
		print_json(redrive, err);
	else
		print_text(redrive);
	return conclude(redrive, err, detail);
}

err_t redrive_run(const struct redrive_options *options, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct redrive redrive = { .options = options };
	log_set_level(LOG_LEVEL_WARNING);
	err_t err = parse_options(&redrive, detail);
	if (!err)
		err = config_load(options->config_file, &config, detail);
	if (!err)
		err = settings_kafka(config, arena, &redrive.kafka, detail);
	if (err)
		return err;
	redrive.config = config;
	redrive.choice.input_topic = redrive.kafka.input_topic;
	interruption_catch();
	progress_init(&redrive.progress);
	err = run(&redrive, arena, detail);
	redrive_plan_free(redrive.plan);
	redriver_free(redrive.redriver);
	topic_reader_free(redrive.reader);
	return err;
}
