#include "command/calibration.h"

#include "avro/generated_query.h"
#include "calibration/print.h"
#include "config/config.h"

err_t calibration_run(const struct calibration_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	struct calibration_query query = { .application = options->application, .label_source = ENUM_ABSENT };
	struct calibration_reports reports;
	const char *window = options->window ? options->window : "24h";
	if (!calibration_parse_window(window, &query.window_s))
		return err_fail(detail, ERR_USAGE,
				"--window \"%s\" is no time span; write for example 1h, 24h or 7d", window);
	err_t err = config_load(options->config_file, &config, detail);
	if (err)
		return err;
	const struct config_calibration *calibration = &config->calibration;
	if (!calibration->configured)
		return err_fail(detail, ERR_CONFIG_MISSING, "%s has no group calibration; add one with a dsn",
				options->config_file);
	_cleanup_(database_cleanup) struct database *database =
		database_new(calibration->dsn, calibration->password_file);
	query.bucket_s = calibration->bucket_s;
	query.min_cases = calibration->min_cases;
	err = calibration_read(database, &query, arena, &reports, detail);
	if (err)
		return err;
	if (options->json)
		calibration_print_json(stdout, &reports);
	else
		calibration_print(stdout, &reports);
	return ERR_OK;
}
