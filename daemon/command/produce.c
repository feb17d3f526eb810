#include "command/produce.h"

#include "avro/codec.h"
#include "command/interruption.h"
#include "command/json_output.h"
#include "command/line_reader.h"
#include "command/progress.h"
#include "command/settings.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/terminal.h"
#include "kafka/feeder.h"
#include "kafka/permissions.h"
#include "kafka/topics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>

enum {
	CONNECT_MS = 10000,
	RIGHTS_MS = 3000,
	PATIENCE_MS = 60000,   /* for which an event waits for the broker */
	INTERRUPTED_MS = 5000, /* the same after an interruption */
	ESCAPES = 6,	       /* bytes of JSON that a byte may take: \u0001 */
	REFUSALS_LISTED = 100, /* in the summary as JSON */
};

/* ---- state ---- */

/* Of the lines, none of which is counted twice but in `read`. */
struct produce_counts {
	uint64_t read;	   /* lines that are not empty */
	uint64_t produced; /* the broker has them */
	uint64_t refused, lost, doubtful;
	uint64_t first_failed; /* number of the first line that is lost or doubtful */
};

struct produce {
	const struct produce_options *options;
	const struct config *config;
	struct codec *reading, *writing; /* of lines, and of the messages as the daemon reads them */
	struct feeder *feeder;		 /* NULL: nothing is sent */
	struct produce_counts counts;
	const char **files; /* "-" is standard input */
	uint64_t *firsts;   /* of each file that was begun: the number of its first line */
	size_t file;	    /* the one that is read */
	uint64_t next;	    /* number of the next line, through all files */
	struct progress progress;
	json_t *refusals;
};

static const char *file_name(const char *file)
{
	return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* Which line of which file it was. */
static const char *find_line(const struct produce *produce, uint64_t number, uint64_t *ret_line)
{
	size_t file = produce->file;
	while (file > 0 && produce->firsts[file] > number)
		file--;
	*ret_line = number - produce->firsts[file] + 1;
	return file_name(produce->files[file]);
}

/* ---- what is not sent ---- */

static json_t *place_json(const struct produce *produce, uint64_t number)
{
	uint64_t line;
	const char *file = find_line(produce, number, &line);
	return json_pack("{s:o, s:I}", "file", json_output_text(file), "line", (json_int_t)line);
}

static void list_refusal(struct produce *produce, uint64_t number, const char *code, const char *reason)
{
	json_t *object = place_json(produce, number);
	json_object_set_new(object, "code", json_string(code));
	json_object_set_new(object, "message", json_output_text(reason));
	json_array_append_new(produce->refusals, object);
}

static void refuse(struct produce *produce, uint64_t number, err_t err, const struct err_detail *detail)
{
	uint64_t line;
	const char *file = find_line(produce, number, &line);
	progress_clear(&produce->progress);
	terminal_print_line(stderr, "assayd: %s, line %" PRIu64 ": %s", file, line, err_message(err, detail));
	if (produce->counts.refused++ < REFUSALS_LISTED)
		list_refusal(produce, number, err_name(err), err_message(err, detail));
}

static void on_report(uint64_t number, enum feeder_outcome outcome, const char *reason, void *context)
{
	struct produce *produce = context;
	struct err_detail detail = { "" };
	switch (outcome) {
	case FEEDER_DELIVERED:
		produce->counts.produced++;
		break;
	case FEEDER_REFUSED:
		err_fail(&detail, ERR_OUTPUT_REFUSED, "the topic \"%s\" does not take it: %s",
			 produce->config->kafka.input_topic, reason);
		refuse(produce, number, ERR_OUTPUT_REFUSED, &detail);
		break;
	case FEEDER_LOST:
	case FEEDER_DOUBTFUL:
		if (number < produce->counts.first_failed)
			produce->counts.first_failed = number;
		produce->counts.lost += outcome == FEEDER_LOST;
		produce->counts.doubtful += outcome == FEEDER_DOUBTFUL;
		break;
	}
}

/* ---- lines ---- */

/* A random UUID (RFC 9562, version 4). */
static str_t new_id(struct arena *arena)
{
	uint8_t b[16];
	if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
		abort();
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	return arena_printf(arena, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
			    b[13], b[14], b[15]);
}

/* Of an event that names a target which the daemon does not have, little would be known. A configuration
 * without targets is none of the daemon's. */
static err_t check_target(const struct config *config, str_t name, struct arena *arena,
			  struct err_detail *detail)
{
	struct nearest nearest;
	bool known = !str_present(name) || config->targets_count == 0;
	nearest_init(&nearest, name);
	for (size_t i = 0; i < config->targets_count; i++) {
		known |= str_is(name, config->targets[i].name);
		nearest_offer(&nearest, str_from(config->targets[i].name));
	}
	if (known)
		return ERR_OK;
	str_t hint = nearest_hint(&nearest, '"', arena);
	return err_fail(detail, ERR_TARGET_UNKNOWN, "target: no target \"" STR_FMT "\" is configured" STR_FMT,
			STR_ARG(name), STR_ARG(hint.len ? hint : STR("; correct it, or add it to targets")));
}

/* From a line to the message, which the daemon can read. */
static err_t convert(const struct produce *produce, str_t line, struct arena *arena, str_t *ret_key,
		     struct buf *out, struct err_detail *detail)
{
	struct generated_query *query, *read_back;
	err_t err = codec_decode_query_json_lenient(produce->reading, line, clock_wall_ms(), arena, &query,
						    detail);
	if (!err)
		err = check_target(produce->config, query->target, arena, detail);
	if (err)
		return err;
	if (query->event_id.len == 0)
		query->event_id = new_id(arena);
	err = codec_encode_query(produce->writing, query, out);
	if (err)
		return err;
	*ret_key = query->event_id;
	return codec_decode_query(produce->writing, out->data, out->len, arena, &read_back, detail);
}

static err_t take_line(struct produce *produce, str_t line, uint64_t number, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	struct err_detail reason = { "" };
	str_t key;
	err_t err = convert(produce, line, arena, &key, &message, &reason);
	if (err) {
		refuse(produce, number, err, &reason);
		return ERR_OK;
	}
	if (!produce->feeder)
		return ERR_OK;
	return feeder_send(produce->feeder, key, buf_str(&message), number, detail);
}

static bool is_blank(str_t line)
{
	size_t i = 0;
	while (i < line.len && strchr(" \t\r", line.ptr[i]) && line.ptr[i])
		i++;
	return i == line.len;
}

static void show_progress(struct produce *produce)
{
	const struct produce_counts *counts = &produce->counts;
	if (produce->feeder)
		progress_show(&produce->progress,
			      "%" PRIu64 " lines read, %" PRIu64 " produced, %" PRIu64 " refused",
			      counts->read, counts->produced, counts->refused);
	else
		progress_show(&produce->progress, "%" PRIu64 " lines read, %" PRIu64 " refused", counts->read,
			      counts->refused);
}

static size_t line_limit(const struct produce *produce)
{
	return ESCAPES * (size_t)produce->config->kafka.max_message_bytes;
}

static err_t take_lines(struct produce *produce, int fd, const char *name, struct err_detail *detail)
{
	struct line_reader reader;
	struct err_detail too_long;
	enum line_reading reading = LINE_TAKEN;
	err_t err = ERR_OK;
	str_t line;
	line_reader_init(&reader, fd, line_limit(produce), interruption_came);
	while (!err && !interruption_came() &&
	       (reading = line_reader_next(&reader, &line)) <= LINE_TOO_LONG) {
		uint64_t number = produce->next++;
		if (reading == LINE_TAKEN && is_blank(line))
			continue;
		produce->counts.read++;
		show_progress(produce);
		if (reading == LINE_TAKEN) {
			err = take_line(produce, line, number, detail);
			if (err) { /* it is as if it had not been read */
				produce->counts.read--;
				produce->next--;
			}
			continue;
		}
		err_fail(&too_long, ERR_EVENT_TOO_LARGE,
			 "the line is longer than %zu bytes; an event has kafka.max_message_bytes (%" PRId64
			 ") at most",
			 reader.max_bytes, produce->config->kafka.max_message_bytes);
		refuse(produce, number, ERR_EVENT_TOO_LARGE, &too_long);
	}
	if (!err && reading == LINE_FAILED)
		err = err_fail(detail, ERR_FILE_UNREADABLE, "%s cannot be read: %s", name, strerror(errno));
	line_reader_end(&reader);
	return err;
}

static err_t take_file(struct produce *produce, const char *file, struct err_detail *detail)
{
	bool standard = strcmp(file, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", file, strerror(errno));
	if (standard)
		terminal_tell_waiting();
	err_t err = take_lines(produce, fd, file_name(file), detail);
	if (!standard)
		close(fd);
	return err;
}

static err_t take_files(struct produce *produce, struct err_detail *detail)
{
	size_t count = produce->options->files_count ? produce->options->files_count : 1;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < count && !interruption_came(); i++) {
		produce->file = i;
		produce->firsts[i] = produce->next;
		err = take_file(produce, produce->files[i], detail);
	}
	return err;
}

/* ---- summary ---- */

static void print_text(const struct produce *produce)
{
	const struct produce_counts *counts = &produce->counts;
	const char *topic = produce->config->kafka.input_topic;
	uint64_t line;
	if (produce->options->dry_run)
		printf("%" PRIu64 " lines read: %" PRIu64 " can be sent to %s, %" PRIu64 " cannot\n",
		       counts->read, counts->read - counts->refused, topic, counts->refused);
	else
		printf("%" PRIu64 " lines read: %" PRIu64 " produced to %s, %" PRIu64 " not\n", counts->read,
		       counts->produced, topic, counts->read - counts->produced);
	if (counts->doubtful)
		printf("of those that were not, %" PRIu64 " may have been written: the broker did not say\n",
		       counts->doubtful);
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	const char *file;
	if (counts->first_failed != UINT64_MAX) {
		file = find_line(produce, counts->first_failed, &line);
		terminal_append_line(&text, "the first that failed is line %" PRIu64 " of %s", line, file);
	}
	if (interruption_came()) {
		file = find_line(produce, produce->next, &line);
		terminal_append_line(&text, "read up to line %" PRIu64 " of %s", line - 1, file);
	}
	fwrite(buf_str(&text).ptr, 1, text.len, stdout);
}

static void print_json(const struct produce *produce)
{
	const struct produce_counts *counts = &produce->counts;
	bool failed = counts->first_failed != UINT64_MAX;
	json_t *object =
		json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:O}", "topic",
			  produce->config->kafka.input_topic, "dry_run", produce->options->dry_run, "read",
			  (json_int_t)counts->read, "produced", (json_int_t)counts->produced, "refused",
			  (json_int_t)counts->refused, "lost", (json_int_t)counts->lost, "doubtful",
			  (json_int_t)counts->doubtful, "interrupted", interruption_came(), "next",
			  place_json(produce, produce->next), "first_failed",
			  failed ? place_json(produce, counts->first_failed) : json_null(), "refusals",
			  produce->refusals);
	json_output_print(object, produce->options->to_terminal);
}

/* Of a run whose end is no error of its own. */
static err_t conclude(const struct produce *produce, err_t err, struct err_detail *detail)
{
	const struct produce_counts *counts = &produce->counts;
	if (err && err != ERR_SHUTTING_DOWN)
		return err;
	if (interruption_came())
		return err_fail(detail, ERR_SHUTTING_DOWN, "interrupted");
	if (counts->refused)
		return err_fail(detail, ERR_INCOMPLETE, "%" PRIu64 " of %" PRIu64 " lines %s",
				counts->refused, counts->read,
				produce->options->dry_run ? "cannot be sent" : "were not sent");
	return ERR_OK;
}

/* ---- life ---- */

static err_t open_codecs(struct produce *produce, struct err_detail *detail)
{
	const struct codec_options reading = { .output = WIRE_JSON, .max_event_bytes = line_limit(produce) };
	err_t err = codec_new(&reading, &produce->reading, detail);
	return err ? err
		   : settings_codec(produce->config, (size_t)produce->config->kafka.max_message_bytes, true,
				    &produce->writing, detail);
}

static err_t open_feeder(struct produce *produce, const struct kafka_settings *kafka,
			 struct err_detail *detail)
{
	const struct feeder_options options = { .settings = kafka,
						.patience_ms = PATIENCE_MS,
						.report = on_report,
						.stopping = interruption_came,
						.context = produce };
	err_t err = topics_check_input(kafka, CONNECT_MS, detail);
	return err ? err : feeder_new(&options, &produce->feeder, detail);
}

/* librdkafka does not always tell when it is the want of a right that nothing is taken. */
static err_t explain(const struct kafka_settings *kafka, err_t err, struct err_detail *detail)
{
	struct err_detail right = { "" };
	if (err != ERR_KAFKA_UNAVAILABLE ||
	    permissions_check_input(kafka, false, RIGHTS_MS, &right) != ERR_KAFKA_TOPIC)
		return err;
	return err_fail(detail, ERR_KAFKA_TOPIC, "%s", right.message);
}

/* All that was read reaches the broker, or it is known that it does not. */
static err_t finish(struct produce *produce, err_t err, struct err_detail *detail)
{
	struct err_detail flush_detail = { "" };
	if (!produce->feeder)
		return err;
	err_t flush_err =
		feeder_flush(produce->feeder, interruption_came() ? INTERRUPTED_MS : 0, &flush_detail);
	if (!flush_err && interruption_came()) /* while it was waited for */
		flush_err = feeder_flush(produce->feeder, INTERRUPTED_MS, &flush_detail);
	feeder_give_up(produce->feeder);
	if (flush_err && (!err || err == ERR_SHUTTING_DOWN))
		return err_fail(detail, flush_err, "%s", flush_detail.message);
	return err;
}

err_t produce_run(const struct produce_options *options, struct err_detail *detail)
{
	static const char *standard_input[] = { "-" };
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct kafka_settings kafka;
	struct produce produce = { .options = options, .counts.first_failed = UINT64_MAX };
	log_set_level(LOG_LEVEL_WARNING);
	err_t err = config_load(options->config_file, &config, detail);
	if (!err)
		err = settings_kafka(config, arena, &kafka, detail);
	if (err)
		return err;
	produce.config = config;
	produce.files = options->files_count ? (const char **)(uintptr_t)options->files : standard_input;
	produce.firsts = ARENA_ARRAY(arena, uint64_t, options->files_count + 1);
	produce.refusals = json_array();
	interruption_catch();
	err = open_codecs(&produce, detail);
	if (!err && !options->dry_run)
		err = open_feeder(&produce, &kafka, detail);
	if (!err) {
		progress_init(&produce.progress);
		err = finish(&produce, take_files(&produce, detail), detail);
		progress_clear(&produce.progress);
		if (options->json)
			print_json(&produce);
		else
			print_text(&produce);
		err = conclude(&produce, explain(&kafka, err, detail), detail);
	}
	feeder_free(produce.feeder);
	codec_free(produce.reading);
	codec_free(produce.writing);
	json_decref(produce.refusals);
	return err;
}
