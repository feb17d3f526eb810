#include "command/check.h"

#include "avro/codec.h"
#include "calibration/check.h"
#include "command/settings.h"
#include "common/log.h"
#include "kafka/permissions.h"
#include "kafka/topics.h"

#include <errno.h>
#include <sys/stat.h>

enum { KAFKA_MS = 10000 };

/* What was tried so far: the first error decides the exit status. */
struct check {
	struct arena *arena;
	const struct config *config;
	err_t first;
	unsigned failed;
};

/* The message without what the line begins with anyway. */
static const char *without_prefix(const char *message, const char *what)
{
	size_t len = strlen(what);
	return strncmp(message, what, len) == 0 && strncmp(message + len, ": ", 2) == 0 ? message + len + 2
											: message;
}

/* One line each; notes are indented below it. */
static void report(struct check *check, const char *what, err_t err, const struct err_detail *detail,
		   str_t notes)
{
	if (err) {
		printf("FAILED  %s: %s\n", what, without_prefix(err_message(err, detail), what));
		check->failed++;
		if (!check->first)
			check->first = err;
		return;
	}
	printf("ok      %s\n", what);
	for (const char *line = notes.ptr; line && *line;) {
		size_t len = strcspn(line, "\n");
		printf("        note: %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* Whether catalogs and the judge's budget can be kept between runs. */
static void check_state(struct check *check)
{
	const char *directory = check->config->pipeline.state_directory;
	struct err_detail detail = { "" };
	struct stat status;
	err_t err = ERR_OK;
	if (!directory)
		return;
	if (stat(directory, &status) != 0)
		err = err_fail(&detail, ERR_FILE_UNREADABLE,
			       "%s: %s; make it, or mend "
			       "pipeline.state_directory",
			       directory, strerror(errno));
	else if (!S_ISDIR(status.st_mode))
		err = err_fail(&detail, ERR_FILE_UNREADABLE, "%s is no directory", directory);
	else if (access(directory, W_OK | X_OK) != 0)
		err = err_fail(&detail, ERR_FILE_UNREADABLE, "%s cannot be written to: %s", directory,
			       strerror(errno));
	report(check, "state directory", err, &detail, STR_NONE);
}

/* The schemas of writers that the configuration adds. */
static void check_schemas(struct check *check)
{
	const char *directory = check->config->kafka.schema_directory;
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct err_detail detail = { "" };
	if (!directory)
		return;
	err_t err =
		codec_new(&(const struct codec_options){ .schema_directory = directory }, &codec, &detail);
	report(check, "schema directory", err, &detail, STR_NONE);
}

static void check_kafka(struct check *check)
{
	struct kafka_settings settings;
	struct err_detail detail = { "" };
	str_t notes = STR_NONE;
	err_t err = settings_kafka(check->config, check->arena, &settings, &detail);
	if (!err)
		err = topics_check(&settings, KAFKA_MS, &detail);
	if (!err)
		err = topics_check_feedback(&settings, KAFKA_MS, &detail);
	if (!err)
		err = topics_inspect(&settings, KAFKA_MS, check->arena, &notes, &detail);
	report(check, "kafka", err, &detail, notes);
	if (err)
		return;
	detail.message[0] = 0;
	err = permissions_check(&settings, check->config->calibration.configured, KAFKA_MS, &detail);
	report(check, "kafka permissions", err, &detail, STR_NONE);
}

static void check_targets(struct check *check)
{
	struct targets_options options;
	settings_targets(check->config, check->arena, &options);
	for (size_t i = 0; i < options.targets_count; i++) {
		struct err_detail detail = { "" };
		str_t notes = STR_NONE;
		err_t err = target_check(&options.targets[i], check->arena, &notes, &detail);
		report(check, arena_printf(check->arena, "target \"%s\"", options.targets[i].name).ptr, err,
		       &detail, notes);
	}
}

static void check_judge(struct check *check)
{
	struct judge_settings settings;
	struct err_detail detail = { "" };
	if (!check->config->judge.configured) {
		puts("-       judge: none is configured; events stay UNJUDGED");
		return;
	}
	settings_judge(check->config, &settings);
	err_t err = judge_check(&settings, &detail);
	report(check, "judge", err, &detail, STR_NONE);
	if (!settings.cache_dsn || !*settings.cache_dsn)
		return;
	detail.message[0] = 0;
	err = judge_check_cache(&settings, &detail);
	report(check, "the judge's cache", err, &detail, STR_NONE);
}

static void check_calibration(struct check *check)
{
	const struct config_calibration *calibration = &check->config->calibration;
	struct err_detail detail = { "" };
	str_t notes = STR_NONE;
	if (!calibration->configured) {
		puts("-       calibration: none is configured");
		return;
	}
	err_t err = calibration_check(calibration->dsn, calibration->password_file, check->arena, &notes,
				      &detail);
	report(check, "calibration", err, &detail, notes);
}

err_t check_run(const char *config_file, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	log_set_level(LOG_LEVEL_ERROR);
	err_t err = config_load(config_file, &config, detail);
	if (err)
		return err;
	printf("ok      configuration %s\n", config_file);
	struct check check = { .arena = arena, .config = config };
	setlinebuf(stdout); /* what comes next may take its time */
	check_state(&check);
	check_schemas(&check);
	check_kafka(&check);
	check_targets(&check);
	check_judge(&check);
	check_calibration(&check);
	if (fflush(stdout) != 0 || ferror(stdout))
		return err_fail(detail, ERR_IO, "standard output cannot be written");
	if (check.first)
		return err_fail(detail, check.first, "%u of the checks failed", check.failed);
	return ERR_OK;
}
