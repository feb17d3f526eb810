#include "command/audit_recompute.h"

#include "audit/recompute/archive_reader.h"
#include "audit/recompute/stream.h"
#include "calibration/replay/replay_file.h"
#include "command/audit_database.h"
#include "command/settings.h"
#include "kafka/topic_reader.h"

enum { RECORD_BYTES = 16 << 20, THREADS_MAX = 32 };

static err_t read_file(struct recompute_stream *stream, struct codec *codec, const char *path,
		       struct err_detail *detail)
{
	_cleanup_(replay_file_cleanup) struct replay_file *file = NULL;
	bool end = false;
	err_t err = replay_file_open(path, codec, RECORD_BYTES, &file, detail);
	while (!err && !end) {
		struct err_detail reason = { "" };
		str_t message;
		err_t fault;
		err = replay_file_next_message(file, &message, &end, &fault, &reason);
		const struct recompute_place place = { .line = replay_file_place(file) };
		if (err)
			return err_fail(detail, err, "%s", err_message(err, &reason));
		if (fault)
			recompute_stream_add_fault(stream, err_message(fault, &reason), place);
		else if (!end)
			recompute_stream_add(stream, message, place);
	}
	return err;
}

static err_t take_message(size_t span, const rd_kafka_message_t *message, void *context,
			  struct err_detail *detail)
{
	const struct recompute_place place = { .partition = message->partition, .offset = message->offset };
	(void)span;
	(void)detail;
	recompute_stream_add(context, (str_t){ message->payload ? message->payload : "", message->len },
			     place);
	return ERR_OK;
}

static err_t read_topic(struct recompute_stream *stream, const struct config *config,
			struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(topic_reader_cleanup) struct topic_reader *reader = NULL;
	struct kafka_settings kafka;
	struct topic_span *spans;
	size_t count;
	err_t err = settings_kafka(config, arena, &kafka, detail);
	if (!err)
		err = topic_reader_new(&kafka, KAFKA_CALIBRATION_SUFFIX, &reader, detail);
	if (!err)
		err = topic_reader_spans(reader, config->kafka.scored_topic, 0, arena, &spans, &count,
					 detail);
	return err ? err : topic_reader_read(reader, spans, count, take_message, stream, detail);
}

/* ---- targets of the configuration, for analysing again ---- */

struct analysed_target {
	const char *name;
	struct recompute_target target;
};

struct analysed_targets {
	struct analysed_target *items;
	size_t count;
};

static enum sql_dialect dialect_of(enum target_engine engine)
{
	switch (engine) {
	case TARGET_SQLITE:
		return SQL_SQLITE;
	case TARGET_MARIADB:
		return SQL_MYSQL;
	case TARGET_MONGODB:
		return SQL_MONGODB;
	case TARGET_POSTGRESQL:
		break;
	}
	return SQL_POSTGRESQL;
}

static struct analysed_targets targets_of(const struct config *config, struct arena *arena)
{
	struct analysed_targets targets = {
		.items = ARENA_ARRAY(arena, struct analysed_target, config->targets_count),
		.count = config->targets_count,
	};
	for (size_t i = 0; i < targets.count; i++) {
		struct target_settings settings;
		settings_target(config, i, arena, &settings);
		targets.items[i] =
			(struct analysed_target){ settings.name,
						  { dialect_of(settings.engine), settings.policy } };
	}
	return targets;
}

static const struct recompute_target *find_target(void *context, str_t name)
{
	const struct analysed_targets *targets = context;
	for (size_t i = 0; i < targets->count; i++)
		if (str_is(name, targets->items[i].name))
			return &targets->items[i].target;
	return NULL;
}

static unsigned count_threads(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (processors < 1)
		return 1;
	return processors < THREADS_MAX ? (unsigned)processors : THREADS_MAX;
}

/* What it amounts to for whoever asks by the exit status. */
static err_t conclude(const struct recompute_totals *totals, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf unavailable = BUF_INIT;
	buf_printf(&unavailable, "%lld messages cannot be read now: %s", (long long)totals->unavailable,
		   totals->why.message);
	const char *besides = totals->unavailable ? unavailable.data : "",
		   *joint = totals->unavailable ? "; " : "";
	if (totals->differing)
		return err_fail(detail, ERR_AUDIT_DIFFERS,
				"%lld of %lld records differ from what follows from them%s%s",
				(long long)totals->differing, (long long)totals->records, joint, besides);
	if (totals->unreadable)
		return err_fail(detail, ERR_AUDIT_DIFFERS, "%lld messages are no scored records%s%s",
				(long long)totals->unreadable, joint, besides);
	if (totals->unavailable)
		return err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "%s", besides);
	if (!totals->records)
		return err_fail(detail, ERR_AUDIT_DIFFERS, "there is no record");
	if (!totals->recomputed)
		return err_fail(detail, ERR_AUDIT_DIFFERS,
				"of %lld records not one value could be computed again",
				(long long)totals->records);
	return ERR_OK;
}

static err_t recompute(const struct audit_recompute_options *options, const struct config *config,
		       struct archive_reader *archive, struct err_detail *detail)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct analysed_targets analysed = targets_of(config, arena);
	const struct recompute_targets targets = { config_digest(config), find_target, &analysed };
	const struct recompute_archive source = { archive_reader_model, archive_reader_settings,
						  archive_reader_has, archive_reader_catalog, archive };
	struct recompute_totals totals;
	err_t err = settings_codec(config, RECORD_BYTES, false, &codec, detail);
	if (err)
		return err;
	struct recompute_stream *stream = recompute_stream_start(
		&(const struct recompute_stream_options){ .codec = codec,
							  .archive = archive ? &source : NULL,
							  .targets = options->analyse ? &targets : NULL,
							  .release = ASSAYD_VERSION,
							  .threads = count_threads(),
							  .json = options->json,
							  .out = stdout });
	err = options->records ? read_file(stream, codec, options->records, detail)
			       : read_topic(stream, config, detail);
	recompute_stream_end(stream, &totals);
	if (!err && archive)
		err = archive_reader_error(archive, detail);
	return err ? err : conclude(&totals, detail);
}

err_t audit_recompute_run(const struct audit_recompute_options *options, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(database_cleanup) struct database *database = NULL;
	struct config_database settings;
	err_t err = config_load(options->config_file, &config, detail);
	if (!err && config_audit_database(config, &settings))
		err = audit_database_open(config, &database, detail);
	if (err)
		return err;
	_cleanup_(archive_reader_cleanup) struct archive_reader *archive =
		database ? archive_reader_new(database) : NULL;
	return recompute(options, config, archive, detail);
}
