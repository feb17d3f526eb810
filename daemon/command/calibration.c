#include "command/calibration.h"

#include "calibration/print.h"
#include "calibration/recount_print.h"
#include "command/settings.h"

static err_t report(const struct calibration_options *options, const struct config_calibration *calibration,
		    struct arena *arena, struct err_detail *detail)
{
	struct calibration_query query = { .application = options->application,
					   .bucket_s = calibration->bucket_s,
					   .min_cases = calibration->min_cases,
					   .label_source = ENUM_ABSENT };
	struct calibration_reports reports;
	const char *window = options->window ? options->window : "24h";
	if (!calibration_parse_window(window, &query.window_s))
		return err_fail(detail, ERR_USAGE,
				"--window \"%s\" is no time span; write for example 1h, 24h or 7d", window);
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	database_set_settings(database, "calibration.");
	err_t err = calibration_read(database, &query, arena, &reports, detail);
	if (err)
		return err;
	if (options->json)
		calibration_print_json(stdout, &reports);
	else
		calibration_print(stdout, &reports);
	return ERR_OK;
}

/* What a verification amounts to, besides what it printed. */
static err_t judge(const struct recount_outcome *outcome, struct err_detail *detail)
{
	const struct recount_differences *differences = &outcome->differences;
	if (differences->differing && !outcome->trusted)
		return err_fail(
			detail, ERR_CALIBRATION_LOG,
			"%lld of %lld buckets differ from the log, which cannot be trusted (see the notes)",
			(long long)differences->differing,
			(long long)(differences->compared + differences->days));
	if (differences->differing)
		return err_fail(detail, ERR_CALIBRATION_DIFFERS,
				"%lld of %lld buckets differ from the log; \"assayd calibration --rebuild\" "
				"counts them anew",
				(long long)differences->differing,
				(long long)(differences->compared + differences->days));
	if (!outcome->complete && differences->compared == 0)
		return err_fail(detail, ERR_CALIBRATION_LOG, "nothing of the calibration can be verified");
	return ERR_OK;
}

static err_t recount(const struct calibration_options *options, const struct config *config,
		     struct arena *arena, struct err_detail *detail)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct kafka_settings kafka;
	struct recount_outcome outcome;
	bool rebuild = options->action == CALIBRATION_REBUILD;
	err_t err = settings_kafka(config, arena, &kafka, detail);
	if (!err)
		err = codec_new(
			&(const struct codec_options){ .schema_directory = config->kafka.schema_directory,
						       .max_event_bytes =
							       (size_t)config->kafka.max_message_bytes },
			&codec, detail);
	if (err)
		return err;
	const struct recount_options recount = {
		.kafka = &kafka,
		.codec = codec,
		.dsn = config->calibration.dsn,
		.password_file = config->calibration.password_file,
		.bucket_s = config->calibration.bucket_s,
		.max_segments = config->calibration.max_segments,
		.retention_days = config->calibration.retention_days,
		.feedback_topic = config->kafka.feedback_topic,
		.feedback_horizon_ms = config->calibration.feedback_horizon_s * 1000,
	};
	err = rebuild ? recount_rebuild(&recount, arena, &outcome, detail)
		      : recount_verify(&recount, arena, &outcome, detail);
	if (err)
		return err;
	if (options->json)
		recount_print_json(stdout, &outcome, rebuild);
	else
		recount_print(stdout, &outcome, rebuild);
	return rebuild ? ERR_OK : judge(&outcome, detail);
}

err_t calibration_run(const struct calibration_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	err_t err = config_load(options->config_file, &config, detail);
	if (err)
		return err;
	if (!config->calibration.configured)
		return err_fail(detail, ERR_CONFIG_MISSING, "%s has no group calibration; add one with a dsn",
				options->config_file);
	return options->action == CALIBRATION_REPORT ? report(options, &config->calibration, arena, detail)
						     : recount(options, config, arena, detail);
}
