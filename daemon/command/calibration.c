#include "command/calibration.h"

#include "calibration/rebuild/rebuild_print.h"
#include "calibration/report/print.h"
#include "calibration/report/print_models.h"
#include "command/settings.h"

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
	err_t err = options->accuracy ? parse_accuracy(options->accuracy, &query.wish, detail) : ERR_OK;
	if (err)
		return err;
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	database_set_settings(database, "calibration.");
	err = calibration_read(database, &query, arena, &reports, detail);
	if (err)
		return err;
	if (options->json)
		calibration_print_json(stdout, &reports);
	else
		calibration_print(stdout, &reports);
	return ERR_OK;
}

static err_t show_model(const struct calibration_options *options,
			const struct config_calibration *calibration, struct arena *arena,
			struct err_detail *detail)
{
	struct calibration_models models = { 0 };
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	const char *kind = calibration->model == CONFIG_MODEL_OFF   ? NULL
			   : calibration->model == CONFIG_MODEL_MAP ? model_kind_name(MODEL_MAP)
								    : model_kind_name(MODEL_FEATURES);
	database_set_settings(database, "calibration.");
	err_t err = calibration_models_read(database, kind, arena, &models, detail);
	if (err)
		return err;
	if (options->json)
		print_models_json(stdout, &models);
	else
		print_models_text(stdout, &models);
	calibration_models_free(&models);
	return ERR_OK;
}

/* What a verification amounts to, besides what it printed. */
static err_t judge(const struct rebuild_outcome *summary, struct err_detail *detail)
{
	const struct rebuild_differences *differences = &summary->differences;
	int64_t others =
		differences->totals + differences->sequences + differences->events + differences->feedback;
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
				"%lld totals, %lld tests for changes, %lld stored events and %lld stored "
				"feedback messages differ from the log; \"assayd calibration --rebuild\" "
				"rebuilds them",
				(long long)differences->totals, (long long)differences->sequences,
				(long long)differences->events, (long long)differences->feedback);
	if (!summary->complete && differences->compared == 0)
		return err_fail(detail, ERR_CALIBRATION_LOG, "no part of the calibration can be verified");
	return ERR_OK;
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
		err = codec_new(
			&(const struct codec_options){ .schema_directory = config->kafka.schema_directory,
						       .max_event_bytes =
							       (size_t)config->kafka.max_message_bytes },
			&codec, detail);
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
	};
	err = rebuild ? rebuild_rebuild(&request, arena, &summary, detail)
		      : rebuild_verify(&request, arena, &summary, detail);
	if (err)
		return err;
	if (options->json)
		rebuild_print_json(stdout, &summary, rebuild);
	else
		rebuild_print(stdout, &summary, rebuild);
	return rebuild ? ERR_OK : judge(&summary, detail);
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
	switch (options->action) {
	case CALIBRATION_REPORT:
		return report(options, &config->calibration, arena, detail);
	case CALIBRATION_MODEL:
		return show_model(options, &config->calibration, arena, detail);
	default:
		return verify_or_rebuild(options, config, arena, detail);
	}
}
