#include "command/calibration.h"

#include "calibration/rebuild/rebuild_print.h"
#include "calibration/replay/replay_file.h"
#include "calibration/replay/replay_print.h"
#include "calibration/report/documents.h"
#include "calibration/report/print.h"
#include "calibration/report/print_models.h"
#include "calibration/report/reader.h"
#include "calibration/store/schema.h"
#include "command/settings.h"
#include "common/clock.h"
#include "common/output.h"
#include "event/overall.h"
#include "kafka/topic_reader.h"

static err_t parse_window(const char *text, int64_t *ret_window_s, struct err_detail *detail)
{
	const char *window = text ? text : "24h";
	if (calibration_parse_window(window, ret_window_s))
		return ERR_OK;
	return err_fail(detail, ERR_USAGE,
			"--window \"%s\" is no time span, or is longer than " CALIBRATION_LONGEST_WINDOW
			"; write for example 1h, 24h or 7d",
			window);
}

/* 1 itself cannot be had: no number of cases shows it. */
static err_t parse_accuracy(const char *text, double *ret_accuracy, struct err_detail *detail)
{
	char *end;
	double accuracy = strtod(text, &end);
	if (end == text || *end || !(accuracy > 0 && accuracy <= 0.999))
		return err_fail(
			detail, ERR_USAGE,
			"--accuracy \"%s\" is no share above 0 and up to 0.999; write for example 0.9", text);
	*ret_accuracy = accuracy;
	return ERR_OK;
}

/* A record of a topic has its limit there; one that is read from a file has this. */
#define REPLAY_RECORD_BYTES ((size_t)64 << 20)

static err_t report(const struct calibration_options *options, const struct config_calibration *calibration,
		    struct arena *arena, struct err_detail *detail)
{
	struct calibration_query query = { .application = options->application,
					   .bucket_s = calibration->bucket_s,
					   .min_cases = calibration->min_cases,
					   .label_source = ENUM_ABSENT };
	struct calibration_reports reports;
	err_t err = parse_window(options->window, &query.window_s, detail);
	if (err)
		return err;
	err = options->accuracy ? parse_accuracy(options->accuracy, &query.wish, detail) : ERR_OK;
	if (err)
		return err;
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	database_set_settings(database, "calibration.");
	err = calibration_read(database, &query, arena, &reports, detail);
	if (!err && !reports.tables)
		err = calibration_schema_mismatch(0, detail);
	if (err)
		return err;
	if (options->json)
		calibration_print_json(stdout, &reports);
	else
		calibration_print(stdout, &reports);
	return ERR_OK;
}

/* Of the models that the configuration asks for; NULL: it asks for none. */
static const char *kind_of(const struct config_calibration *calibration)
{
	if (calibration->model == CONFIG_MODEL_OFF)
		return NULL;
	return model_kind_name(calibration->model == CONFIG_MODEL_MAP ? MODEL_MAP : MODEL_FEATURES);
}

static err_t show_model(const struct calibration_options *options, const struct config *config,
			struct arena *arena, struct err_detail *detail)
{
	const struct config_calibration *calibration = &config->calibration;
	struct calibration_models models = { 0 };
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	database_set_settings(database, "calibration.");
	err_t err = calibration_models_read(database, kind_of(calibration), overall_rules(config), arena,
					    &models, detail);
	if (!err && !models.tables)
		err = calibration_schema_mismatch(0, detail);
	if (err)
		return err;
	if (options->json)
		print_models_json(stdout, &models);
	else
		print_models_text(stdout, &models);
	calibration_models_free(&models);
	return ERR_OK;
}

static err_t show_documents(const struct calibration_options *options,
			    const struct config_calibration *calibration, struct arena *arena,
			    struct err_detail *detail)
{
	struct calibration_documents documents;
	int64_t window_s = CALIBRATION_DOCUMENTS_WEEK_S;
	err_t err = options->window ? parse_window(options->window, &window_s, detail) : ERR_OK;
	if (err)
		return err;
	if (window_s != CALIBRATION_DOCUMENTS_DAY_S && window_s != CALIBRATION_DOCUMENTS_WEEK_S)
		return err_fail(detail, ERR_USAGE, "--documents has the windows 24h and 7d, not \"%s\"",
				options->window);
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	database_set_settings(database, "calibration.");
	err = calibration_documents_read(database, window_s, options->application, arena, &documents, detail);
	if (!err && !documents.tables)
		err = calibration_schema_mismatch(0, detail);
	if (err)
		return err;
	if (options->json)
		calibration_documents_print_json(stdout, &documents);
	else
		calibration_documents_print(stdout, &documents);
	return ERR_OK;
}

/* ---- replays ---- */

static err_t parse_version(const char *text, int64_t *ret_version, struct err_detail *detail)
{
	char *end;
	long long version = strtoll(text, &end, 10);
	if (end == text || *end || version <= 0)
		return err_fail(
			detail, ERR_USAGE,
			"--model-version \"%s\" is no number of a model; \"assayd calibration --model\" "
			"lists them",
			text);
	*ret_version = version;
	return ERR_OK;
}

/* The model of that number, or the one in use, if there is one; NULL: the records get no probability. */
static err_t load_model(const struct calibration_options *options, const struct config *config,
			struct model **ret_model, struct err_detail *detail)
{
	const struct config_calibration *calibration = &config->calibration;
	int64_t version = 0;
	err_t err = options->model_version ? parse_version(options->model_version, &version, detail) : ERR_OK;
	if (err || (!version && (!calibration->configured || calibration->model == CONFIG_MODEL_OFF)))
		return err;
	if (!calibration->configured)
		return err_fail(detail, ERR_CONFIG_MISSING,
				"%s has no group calibration, whose database has the models",
				options->config_file);
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	database_set_settings(database, "calibration.");
	return calibration_model_load(database, version, kind_of(calibration), overall_rules(config),
				      ret_model, detail);
}

static struct replay_rules make_rules(const struct config *config, const struct model *model)
{
	struct replay_rules rules = {
		.technical_alone =
			config->confidence.technical_alone == CONFIG_ALONE_HIGH ? SCORE_HIGH : SCORE_MEDIUM,
		.thresholds = overall_thresholds(&config->confidence_thresholds),
		.model = model,
	};
	enum config_level_by by = config->confidence.level_by;
	for (size_t i = 0; i < config->confidence.factors.count && i < FACTOR_COUNT_; i++)
		rules.factors[rules.factors_count++] =
			(enum overall_factor)config->confidence.factors.items[i];
	rules.level_follows = model && (by == CONFIG_LEVEL_BY_PROBABILITY ||
					(by == CONFIG_LEVEL_BY_AUTO && model_info(model)->proven));
	return rules;
}

struct replaying {
	struct codec *codec;
	struct replay *replay;
	struct replay_faults faults;
};

/* `place` is all that is known of the first one but why. */
static void note_fault(struct replaying *replaying, struct replay_faults place, err_t fault,
		       const struct err_detail *reason)
{
	struct replay_faults *faults = &replaying->faults;
	if (faults->count++ > 0)
		return;
	place.count = 1;
	place.unavailable = faults->unavailable;
	place.why = faults->why;
	*faults = place;
	snprintf(faults->first, sizeof faults->first, "%s", err_message(fault, reason));
}

static err_t replay_from_file(struct replaying *replaying, const char *path, struct err_detail *detail)
{
	_cleanup_(replay_file_cleanup) struct replay_file *file = NULL;
	bool end = false;
	err_t err = replay_file_open(path, replaying->codec, REPLAY_RECORD_BYTES, &file, detail);
	while (!err && !end) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct scored_query *scored;
		struct err_detail reason = { "" };
		err_t fault;
		err = replay_file_next(file, arena, &scored, &end, &fault, &reason);
		if (err)
			return err_fail(detail, err, "%s", err_message(err, &reason));
		if (!fault && !end)
			fault = replay_add(replaying->replay, scored, &reason);
		if (fault)
			note_fault(replaying,
				   (struct replay_faults){ .kind = replay_file_is_container(file)
									   ? REPLAY_RECORD
									   : REPLAY_LINE,
							   .place = replay_file_place(file) },
				   fault, &reason);
	}
	return err;
}

static err_t take_message(size_t span, const rd_kafka_message_t *message, void *context,
			  struct err_detail *detail)
{
	struct replaying *replaying = context;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail reason = { "" };
	struct scored_query *scored;
	(void)span;
	(void)detail;
	err_t fault = codec_decode_scored(replaying->codec, message->payload, message->len, arena, &scored,
					  &reason);
	if (codec_awaits_schema(fault)) {
		if (replaying->faults.unavailable++ == 0)
			snprintf(replaying->faults.why.message, sizeof replaying->faults.why.message, "%s",
				 err_message(fault, &reason));
		return ERR_OK;
	}
	if (!fault)
		fault = replay_add(replaying->replay, scored, &reason);
	if (fault)
		note_fault(replaying,
			   (struct replay_faults){ .kind = REPLAY_OFFSET,
						   .place = message->offset,
						   .partition = message->partition },
			   fault, &reason);
	return ERR_OK;
}

static err_t replay_from_topic(struct replaying *replaying, const struct config *config, const char *window,
			       struct arena *arena, struct err_detail *detail)
{
	_cleanup_(topic_reader_cleanup) struct topic_reader *reader = NULL;
	struct kafka_settings kafka;
	struct topic_span *spans;
	size_t count;
	int64_t window_s = 0;
	err_t err = parse_window(window, &window_s, detail);
	if (!err)
		err = settings_kafka(config, arena, &kafka, detail);
	if (!err)
		err = topic_reader_new(&kafka, KAFKA_CALIBRATION_SUFFIX, &reader, detail);
	if (!err)
		err = topic_reader_spans(reader, config->kafka.scored_topic,
					 clock_wall_ms() - window_s * 1000, arena, &spans, &count, detail);
	return err ? err : topic_reader_read(reader, spans, count, take_message, replaying, detail);
}

static err_t replay_records(const struct calibration_options *options, const struct config *config,
			    struct arena *arena, struct err_detail *detail)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	double wish = RANKING_WISH;
	struct replay_result result;
	err_t err = options->accuracy ? parse_accuracy(options->accuracy, &wish, detail) : ERR_OK;
	if (!err)
		err = settings_codec(config, REPLAY_RECORD_BYTES, false, &codec, detail);
	if (!err)
		err = load_model(options, config, &model, detail);
	if (err)
		return err;
	const struct replay_rules rules = make_rules(config, model);
	_cleanup_(replay_cleanup) struct replay *replay = replay_new(&rules);
	struct replaying replaying = { .codec = codec, .replay = replay };
	err = options->records ? replay_from_file(&replaying, options->records, detail)
			       : replay_from_topic(&replaying, config, options->window, arena, detail);
	if (err)
		return err;
	replay_finish(replay, wish, arena, &result);
	if (options->json)
		replay_print_json(stdout, &rules, &result, &replaying.faults);
	else
		replay_print_text(stdout, &rules, &result, &replaying.faults);
	if (replaying.faults.unavailable)
		return err_fail(detail, ERR_SCHEMA_UNAVAILABLE, "%lld records cannot be read now: %s",
				(long long)replaying.faults.unavailable, replaying.faults.why.message);
	if (result.records == 0 && replaying.faults.count)
		return err_fail(detail, ERR_AVRO_VALUE, "none of the %lld records can be read; the first: %s",
				(long long)replaying.faults.count, replaying.faults.first);
	return ERR_OK;
}

/* What a verification amounts to, besides what it printed. */
static err_t judge(const struct rebuild_outcome *summary, struct err_detail *detail)
{
	const struct rebuild_differences *differences = &summary->differences;
	int64_t others = differences->totals + differences->sequences + differences->examples +
			 differences->claims + differences->events + differences->feedback;
	if (differences->differing && !summary->trusted)
		return err_fail(
			detail, ERR_CALIBRATION_LOG,
			"%lld of %lld buckets differ from the log, which cannot be trusted (see the notes)",
			(long long)differences->differing,
			(long long)differences->compared + (long long)differences->days);
	if (differences->differing)
		return err_fail(detail, ERR_CALIBRATION_DIFFERS,
				"%lld of %lld buckets differ from the log; \"assayd calibration --rebuild\" "
				"rebuilds them",
				(long long)differences->differing,
				(long long)differences->compared + (long long)differences->days);
	if (others)
		return err_fail(detail, ERR_CALIBRATION_DIFFERS,
				"%lld totals, %lld tests for changes, %lld examples to learn from, %lld "
				"tested probabilities, %lld stored events and %lld stored feedback messages "
				"differ from the log; "
				"\"assayd calibration --rebuild\" rebuilds them",
				(long long)differences->totals, (long long)differences->sequences,
				(long long)differences->examples, (long long)differences->claims,
				(long long)differences->events, (long long)differences->feedback);
	if (!summary->complete && differences->compared == 0)
		return err_fail(detail, ERR_CALIBRATION_LOG, "no part of the calibration can be verified");
	return ERR_OK;
}

/* What is about to be replaced is said before it is: who cannot be told keeps what is there. */
static err_t announce(const struct rebuild_outcome *summary, void *context, struct err_detail *detail)
{
	const struct calibration_options *options = context;
	if (options->json)
		rebuild_print_json(stdout, summary, true);
	else
		rebuild_print(stdout, summary, true);
	return output_end(detail);
}

static err_t verify_or_rebuild(const struct calibration_options *options, const struct config *config,
			       struct arena *arena, struct err_detail *detail)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct kafka_settings kafka;
	struct rebuild_outcome summary;
	bool rebuild = options->action == CALIBRATION_REBUILD;
	err_t err = settings_kafka(config, arena, &kafka, detail);
	if (!err)
		err = settings_codec(config, (size_t)config->kafka.max_message_bytes, false, &codec, detail);
	if (err)
		return err;
	const struct rebuild_options request = {
		.kafka = &kafka,
		.codec = codec,
		.dsn = config->calibration.dsn,
		.password_file = config->calibration.password_file,
		.bucket_s = config->calibration.bucket_s,
		.max_segments = config->calibration.max_segments,
		.retention_days = config->calibration.retention_days,
		.feedback_topic = config->kafka.feedback_topic,
		.feedback_horizon_ms = config->calibration.feedback_horizon_s * 1000,
		.learns = config->calibration.model != CONFIG_MODEL_OFF,
		.dry = options->dry_run,
		.ready = announce,
		.ready_context = (void *)(uintptr_t)options,
	};
	if (rebuild)
		return rebuild_rebuild(&request, arena, &summary, detail);
	err = rebuild_verify(&request, arena, &summary, detail);
	if (err)
		return err;
	if (options->json)
		rebuild_print_json(stdout, &summary, false);
	else
		rebuild_print(stdout, &summary, false);
	return judge(&summary, detail);
}

err_t calibration_run(const struct calibration_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	err_t err = config_load(options->config_file, &config, detail);
	if (err)
		return err;
	if (options->action == CALIBRATION_REPLAY)
		return replay_records(options, config, arena, detail);
	if (!config->calibration.configured)
		return err_fail(detail, ERR_CONFIG_MISSING, "%s has no group calibration; add one with a dsn",
				options->config_file);
	switch (options->action) {
	case CALIBRATION_REPORT:
		return report(options, &config->calibration, arena, detail);
	case CALIBRATION_DOCUMENTS:
		return show_documents(options, &config->calibration, arena, detail);
	case CALIBRATION_MODEL:
		return show_model(options, config, arena, detail);
	default:
		return verify_or_rebuild(options, config, arena, detail);
	}
}
