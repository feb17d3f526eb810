#include "command/check.h"

#include "address/environment.h"
#include "audit/archive/archive_check.h"
#include "calibration/store/check.h"
#include "command/check_audit.h"
#include "command/check_files.h"
#include "command/check_http.h"
#include "command/check_outward.h"
#include "command/check_registry.h"
#include "command/check_unit.h"
#include "command/settings.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/permissions.h"
#include "kafka/token_keeper.h"
#include "kafka/topics.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { KAFKA_MS = 10000, MAX_THREADS = 32 };

/* What one thread looks at. */
struct check {
	struct arena *arena;
	const struct config *config;
	size_t index; /* of the target or the judge that it is about */
	struct findings findings;
};

/* Whether catalogs and the judges' budgets can be kept between runs. */
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
	findings_tried(&check->findings, "state directory", err, &detail);
}

struct topics_report {
	struct findings *findings;
	bool silent; /* the cluster did not answer */
};

static void report_topic(err_t err, const struct err_detail *detail, void *context)
{
	struct topics_report *report = context;
	findings_tried(report->findings, "kafka", err, detail);
	report->silent |= err == ERR_KAFKA_UNAVAILABLE;
}

/* Whether the cluster answers, so that permissions can be tested but for `ret_untestable`. */
static bool check_topics(struct check *check, const struct kafka_settings *settings,
			 right_set *ret_untestable)
{
	struct err_detail detail = { "" };
	struct findings *findings = &check->findings;
	unsigned before = findings->errors;
	struct topics_report report = { .findings = findings };
	str_t notes = STR_NONE;
	err_t err = topics_check_all(settings, KAFKA_MS, report_topic, &report, ret_untestable, &detail);
	if (!err)
		err = topics_inspect(settings, check->config->calibration.feedback_horizon_s * 1000, KAFKA_MS,
				     check->arena, &notes, &detail);
	if (err || findings->errors == before)
		findings_tried(findings, "kafka", err, &detail);
	findings_lines(findings, FINDING_WARNING, "kafka", notes);
	return !err && !report.silent;
}

/* Whether there is a token to log in with; what it is for may be what a broker refuses. */
static bool check_token(struct check *check, const struct kafka_oauth_settings *oauth)
{
	struct err_detail detail = { "" };
	char description[sizeof((struct token *)0)->description];
	int64_t lifetime_ms = 0;
	if (!oauth)
		return true;
	err_t err = token_keeper_try(oauth, description, &lifetime_ms, &detail);
	findings_tried(&check->findings, "kafka token", err, &detail);
	if (!err)
		findings_lines(&check->findings, FINDING_NOTE, "kafka token",
			       arena_printf(check->arena, "lives %lld s%s%s", (long long)lifetime_ms / 1000,
					    *description ? ", " : "", description));
	return !err;
}

static void check_kafka(struct check *check)
{
	struct kafka_settings settings;
	struct err_detail detail = { "" };
	err_t err = settings_kafka(check->config, check->arena, &settings, &detail);
	if (err)
		findings_tried(&check->findings, "kafka", err, &detail);
	right_set untestable;
	if (err || !check_security(&settings, check->arena, &check->findings) ||
	    !check_token(check, settings.oauth) || !check_topics(check, &settings, &untestable))
		return;
	if (!check_audit_topic(&settings, KAFKA_MS, &check->findings))
		untestable |= RIGHT_BIT(RIGHT_WRITE_CHECKPOINTS);
	bool runs = false;
	err = permissions_check(&settings, check->config->calibration.configured, untestable, KAFKA_MS, &runs,
				&detail);
	if (err || !untestable)
		findings_tried(&check->findings, "kafka permissions", err, &detail);
	if (runs)
		findings_lines(
			&check->findings, FINDING_NOTE, "kafka",
			arena_printf(check->arena,
				     "an instance \"%s\" is in group \"%s\": the one that runs here "
				     "already, or another machine has the name (kafka.instance_id), and "
				     "they would shut each other out",
				     settings.instance_id, settings.group_id));
}

static void check_target(struct check *check)
{
	struct target_settings target;
	struct err_detail detail = { "" };
	str_t notes = STR_NONE;
	settings_target(check->config, check->index, check->arena, &target);
	check->findings.group = arena_printf(check->arena, "targets[%zu]", check->index).ptr;
	const char *what = arena_printf(check->arena, "target \"%s\"", target.name).ptr;
	if (!check_target_files(&check->config->targets[check->index], what, &check->findings))
		return;
	err_t err = target_check(&target, check->arena, &notes, &detail);
	findings_tried(&check->findings, what, err, &detail);
	findings_lines(&check->findings, FINDING_WARNING, what, notes);
}

static void check_judge(struct check *check)
{
	struct judge_settings *settings;
	struct err_detail detail = { "" };
	settings_judges(check->config, check->arena, &settings);
	const struct judge_settings *judge = &settings[check->index];
	check->findings.group = judge->setting;
	err_t err = judge_check(judge, &detail);
	findings_tried(&check->findings, settings_judge_title(judge, check->arena), err, &detail);
}

static void check_judge_cache(struct check *check)
{
	struct judge_settings *settings;
	struct err_detail detail = { "" };
	if (settings_judges(check->config, check->arena, &settings) == 0) {
		findings_none(&check->findings, "judge", "none is configured; events stay UNJUDGED");
		return;
	}
	if (!settings->cache_dsn || !*settings->cache_dsn ||
	    !check_database_files(settings->cache_dsn, "the judge's cache", &check->findings))
		return;
	err_t err = judge_check_cache(settings, &detail);
	findings_tried(&check->findings, "the judge's cache", err, &detail);
}

static void check_calibration(struct check *check)
{
	const struct config_calibration *calibration = &check->config->calibration;
	struct err_detail detail = { "" };
	str_t notes = STR_NONE, warnings = STR_NONE;
	if (!calibration->configured) {
		findings_none(&check->findings, "calibration", "none is configured");
		return;
	}
	if (!check_database_files(calibration->dsn, "calibration", &check->findings))
		return;
	err_t err = calibration_check(calibration->dsn, calibration->password_file, check->arena, &notes,
				      &warnings, &detail);
	findings_tried(&check->findings, "calibration", err, &detail);
	findings_lines(&check->findings, FINDING_NOTE, "calibration", notes);
	findings_lines(&check->findings, FINDING_WARNING, "calibration", warnings);
}

static void check_archive(struct check *check)
{
	struct config_database database;
	struct err_detail detail = { "" };
	str_t notes = STR_NONE;
	if (!check->config->audit.archive || !config_audit_database(check->config, &database)) {
		findings_none(&check->findings, "archive",
			      "none is configured; what records name by digest is not kept");
		return;
	}
	if (!check_database_files(database.dsn, "archive", &check->findings))
		return;
	err_t err = archive_check(database.dsn, database.password_file, database.settings, check->arena,
				  &notes, &detail);
	if (err == ERR_DATABASE_UNAVAILABLE && database.dsn == check->config->calibration.dsn)
		findings_none(&check->findings, "archive",
			      "its database is that of the calibration, see above");
	else
		findings_tried(&check->findings, "archive", err, &detail);
	findings_lines(&check->findings, FINDING_NOTE, "archive", notes);
}

static void check_audit(struct check *check)
{
	check_audit_log(check->config, check->arena, &check->findings);
}

static void check_schema_registry(struct check *check)
{
	check_registry(check->config, &check->findings);
}

static void check_receivers(struct check *check)
{
	check_webhook(&check->config->webhook, &check->findings);
	check_otlp(&check->config->otlp, &check->findings);
}

static void check_http_address(struct check *check)
{
	check_http(check->config, &check->findings);
}

static void check_writers_schemas(struct check *check)
{
	check_schemas(check->config, &check->findings);
}

/* ---- all at once ---- */

/* What waits for nothing else. */
struct check_part {
	void (*work)(struct check *check);
	struct check check;
	char *text; /* what it has to say */
	size_t text_bytes;
	bool done;
};

struct check_parts {
	struct check_part *items;
	size_t count;
	atomic_size_t next;    /* that no thread has taken */
	pthread_mutex_t mutex; /* guards what is done */
	pthread_cond_t changed;
};

static void work_on(struct check_part *part)
{
	struct check *check = &part->check;
	check->arena = arena_new();
	check->findings.out = open_memstream(&part->text, &part->text_bytes);
	if (!check->findings.out)
		abort();
	part->work(check);
	if (fclose(check->findings.out) != 0)
		abort();
	arena_free(check->arena);
}

static void run_thread(void *context, unsigned index)
{
	struct check_parts *parts = context;
	size_t next;
	(void)index;
	while ((next = atomic_fetch_add(&parts->next, 1)) < parts->count) {
		work_on(&parts->items[next]);
		pthread_mutex_lock(&parts->mutex);
		parts->items[next].done = true;
		pthread_cond_signal(&parts->changed);
		pthread_mutex_unlock(&parts->mutex);
	}
}

/* Prints each as soon as it and all before it are done. */
static void run_parts(struct check_parts *parts, struct findings *findings)
{
	unsigned threads = parts->count < MAX_THREADS ? (unsigned)parts->count : MAX_THREADS;
	pthread_mutex_init(&parts->mutex, NULL);
	pthread_cond_init(&parts->changed, NULL);
	struct pool *pool = pool_start("check", threads, run_thread, parts);
	for (size_t i = 0; i < parts->count; i++) {
		struct check_part *part = &parts->items[i];
		pthread_mutex_lock(&parts->mutex);
		while (!part->done)
			pthread_cond_wait(&parts->changed, &parts->mutex);
		pthread_mutex_unlock(&parts->mutex);
		fwrite(part->text, 1, part->text_bytes, findings->out);
		findings_add(findings, &part->check.findings);
		free(part->text);
	}
	pool_join(pool);
	pthread_cond_destroy(&parts->changed);
	pthread_mutex_destroy(&parts->mutex);
}

static void add_part(struct check_parts *parts, const struct check *check, void (*work)(struct check *check),
		     size_t index)
{
	parts->items[parts->count++] = (struct check_part){
		.work = work,
		.check = { .config = check->config, .index = index, .findings.config = check->config }
	};
}

static void check_environment(struct findings *findings)
{
	char text[640];
	if (!*environment_removed())
		return;
	snprintf(text, sizeof text,
		 "not used is %s: which server, role and database are meant says the dsn alone; write it "
		 "there",
		 environment_removed());
	findings_lines(findings, FINDING_WARNING, "environment", str_from(text));
}

static void reach_everything(struct check *check)
{
	static void (*const before[])(struct check * check) = { check_state, check_http_address,
								check_writers_schemas, check_kafka };
	static void (*const after[])(struct check * check) = { check_judge_cache, check_calibration,
							       check_archive,	  check_audit,
							       check_receivers,	  check_schema_registry };
	enum { BEFORE = sizeof before / sizeof *before, AFTER = sizeof after / sizeof *after };
	size_t targets = check->config->targets_count, judges;
	config_judges(check->config, &judges);
	struct check_parts parts = { 0 };
	parts.items = ARENA_ARRAY(check->arena, struct check_part, BEFORE + targets + judges + AFTER);
	for (size_t i = 0; i < BEFORE; i++)
		add_part(&parts, check, before[i], i);
	for (size_t i = 0; i < targets; i++)
		add_part(&parts, check, check_target, i);
	for (size_t i = 0; i < judges; i++)
		add_part(&parts, check, check_judge, i);
	for (size_t i = 0; i < AFTER; i++)
		add_part(&parts, check, after[i], i);
	check_unit(check->config, &check->findings); /* first: there are no threads yet */
	run_parts(&parts, &check->findings);
}

/* A folder that others cannot enter keeps them from its files, too. */
static void check_secret_mode(const char *setting, const char *file, void *context)
{
	struct check *check = context;
	struct stat status, folder;
	const char *slash = strrchr(file, '/');
	const char *within = slash ? arena_printf(check->arena, "%.*s/", (int)(slash - file), file).ptr : ".";
	char place[PATH_MAX + 16] = "";
	if (strcmp(setting, "audit.key_file") == 0) /* of which more is asked, see check_audit.c */
		return;
	if (stat(file, &status) != 0 || stat(within, &folder) != 0 || !(folder.st_mode & S_IXOTH) ||
	    !(status.st_mode & (S_IROTH | S_IWOTH)))
		return;
	config_place(check->config, setting, place, sizeof place);
	findings_lines(
		&check->findings, FINDING_WARNING, "secrets",
		arena_printf(check->arena,
			     "%s%s%s: everybody on this machine may %s %s (mode %03o): chmod 640, with "
			     "the group of the daemon's user",
			     place, *place ? ": " : "", setting, status.st_mode & S_IWOTH ? "change" : "read",
			     file, (unsigned)(status.st_mode & 0777)));
}

/* What is set and does nothing, since something else is not. */
static void check_effects(struct check *check)
{
	const struct config *config = check->config;
	const struct config_calibration *calibration = &config->calibration;
	bool learns = calibration->configured && calibration->model != CONFIG_MODEL_OFF;
	const struct {
		bool is;
		str_t text;
	} idle[] = {
		{ config->confidence.level_by == CONFIG_LEVEL_BY_PROBABILITY && !learns,
		  STR("confidence.level_by = \"probability\" has no effect: nothing learns a probability; "
		      "set "
		      "calibration.dsn and calibration.model") },
		{ calibration->configured && calibration->model_reasons > 0 && !learns,
		  STR("calibration.model_reasons has no effect: calibration.model is \"off\"") },
		{ config->agreement.execute && config->targets_count == 0,
		  STR("agreement.execute has no effect: there are no targets to run candidates on") },
	};
	for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
		if (idle[i].is)
			findings_lines(&check->findings, FINDING_WARNING, "configuration", idle[i].text);
}

/* Everything that is wrong with the file. */
static err_t check_configuration(struct check *check, const char *file, struct config **ret_config,
				 struct err_detail *detail)
{
	struct conf_problems problems = { .arena = check->arena };
	err_t err = config_examine(file, &problems, ret_config);
	if (!err)
		findings_ok(&check->findings, arena_printf(check->arena, "configuration %s", file).ptr);
	for (size_t i = 0; i < problems.count; i++) {
		struct err_detail problem;
		err_fail(&problem, problems.items[i].err, "%s", problems.items[i].message);
		findings_tried(&check->findings, "configuration", problems.items[i].err, &problem);
	}
	check->findings.config = *ret_config;
	if (err && *ret_config) /* and what else there is, so that one round is enough */
		check_files(*ret_config, &problems, &check->findings);
	return err ? findings_end(&check->findings, false, detail) : ERR_OK;
}

err_t check_run(const struct check_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(config_cleanup) struct config *config = NULL;
	struct check check = { .arena = arena, .findings.out = stdout };
	log_set_level(LOG_LEVEL_ERROR);
	setlinebuf(stdout); /* some lines may take their time */
	err_t err = check_configuration(&check, options->config_file, &config, detail);
	if (err)
		return err;
	check.config = config;
	check_effects(&check);
	config_each_secret(config, check_secret_mode, &check);
	check_environment(&check.findings);
	if (options->offline) {
		check_state(&check);
		check_http_offline(config, &check.findings);
		check_files(config, NULL, &check.findings);
	} else {
		reach_everything(&check);
	}
	return findings_end(&check.findings, options->strict, detail);
}
