#include "command/check_files.h"

#include "address/libpq_dsn.h"
#include "address/mariadb_dsn.h"
#include "address/mongodb_dsn.h"
#include "avro/codec.h"
#include "command/check_audit.h"
#include "command/check_outward.h"
#include "command/check_registry.h"
#include "command/settings.h"
#include "common/pem.h"
#include "common/secret.h"
#include "database/database.h"
#include "kafka/client.h"
#include "kafka/security.h"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>

/* What is looked at. */
struct files {
	const struct config *config;
	const struct conf_problems *problems; /* or NULL */
	struct arena *arena;
	struct findings *findings;
};

/* Whether one of the settings is wrong, or the group as such is. */
static bool is_wrong(const struct files *files, const char *group, const char *const *settings, size_t count)
{
	const struct conf_problems *problems = files->problems;
	if (problems && conf_problems_at(problems, group))
		return true;
	for (size_t i = 0; problems && i < count; i++)
		if (conf_problems_within(problems,
					 arena_printf(files->arena, "%s.%s", group, settings[i]).ptr))
			return true;
	return false;
}

#define IS_WRONG(files, group, ...)                                                                          \
	is_wrong((files), (group), (const char *const[]){ __VA_ARGS__ },                                     \
		 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* What is not contacted here: that its settings are right says nothing of a server. */
static void tell_settings(const struct files *files, const char *what, const char *group, err_t err,
			  const struct err_detail *detail)
{
	if (err)
		findings_tried(files->findings, what, err, detail);
	else if (files->problems && conf_problems_within(files->problems, group))
		findings_none(files->findings, what, "not tried; correct its settings first, see above");
	else
		findings_none(files->findings, what, "not tried; its settings and files are right");
}

/* Each of them by itself: what follows reads them all, and stops at the first. */
static bool check_kafka_secrets(const struct config *config, struct findings *findings)
{
	const struct conf_strings *secrets = &config->kafka.secret_properties;
	bool all = true;
	for (size_t i = 0; i < secrets->count; i++) {
		struct err_detail reason = { "" }, detail;
		_cleanup_(secret_free) char *value = NULL;
		size_t len = strcspn(secrets->items[i], "=");
		err_t err = config_read_property(secrets->items[i], &value, &reason);
		if (!err)
			continue;
		err_fail(&detail, err, "kafka.secret_properties: %.*s: %s", (int)len, secrets->items[i],
			 err_message(err, &reason));
		findings_tried(findings, "kafka", err, &detail);
		all = false;
	}
	return all;
}

static void check_kafka(const struct files *files)
{
	struct err_detail detail = { "" };
	struct kafka_settings settings;
	if (IS_WRONG(files, "kafka", "properties", "secret_properties") ||
	    !check_kafka_secrets(files->config, files->findings))
		return;
	err_t err = settings_kafka(files->config, files->arena, &settings, &detail);
	if (!err && !check_security(&settings, files->arena, files->findings))
		return;
	if (!err)
		err = kafka_client_try(&settings, &detail);
	tell_settings(files, "kafka", "kafka", err, &detail);
}

static void check_targets(const struct files *files)
{
	for (size_t i = 0; i < files->config->targets_count; i++) {
		struct err_detail detail = { "" };
		struct target_settings target;
		const char *path = arena_printf(files->arena, "targets[%zu]", i).ptr;
		if (files->problems && conf_problems_within(files->problems, path))
			continue;
		settings_target(files->config, i, files->arena, &target);
		files->findings->group = path;
		const char *what = arena_printf(files->arena, "target \"%s\"", target.name).ptr;
		if (check_target_files(&files->config->targets[i], what, files->findings))
			tell_settings(files, what, path, target_check_settings(&target, &detail), &detail);
		files->findings->group = NULL;
	}
}

static void check_judge(const struct files *files, const struct judge_settings *judge)
{
	struct err_detail detail = { "" };
	const char *what = settings_judge_title(judge, files->arena);
	files->findings->group = judge->setting;
	if (!IS_WRONG(files, judge->setting, "provider", "base_url", "model", "api_key_file", "ca_file"))
		tell_settings(files, what, judge->setting, judge_check_settings(judge, &detail), &detail);
	if (!judge->prompt_directory || IS_WRONG(files, judge->setting, "prompt_directory"))
		return;
	detail.message[0] = 0;
	findings_tried(files->findings, arena_printf(files->arena, "%s prompts", what).ptr,
		       judge_check_prompts(judge, &detail), &detail);
}

static void check_judges(const struct files *files)
{
	struct judge_settings *settings;
	size_t count = settings_judges(files->config, files->arena, &settings);
	if (files->problems && conf_problems_at(files->problems, "judges"))
		return;
	for (size_t i = 0; i < count; i++)
		check_judge(files, &settings[i]);
	files->findings->group = NULL;
}

static void check_databases(const struct files *files)
{
	const struct config_calibration *calibration = &files->config->calibration;
	const struct config_audit *audit = &files->config->audit;
	const struct config_panel judging = config_judging(files->config);
	const char *group = files->config->judges_count > 0 ? "panel" : "judge";
	struct err_detail detail = { "" };
	if (judging.cache_dsn && *judging.cache_dsn &&
	    !IS_WRONG(files, group, "cache_dsn", "cache_password_file") &&
	    check_database_files(judging.cache_dsn, "the judge's cache", files->findings))
		tell_settings(files, "the judge's cache", group,
			      database_check_settings(judging.cache_dsn, judging.cache_password_file,
						      arena_printf(files->arena, "%s.cache_", group).ptr,
						      &detail),
			      &detail);
	detail.message[0] = 0;
	if (calibration->configured && !IS_WRONG(files, "calibration", "dsn", "password_file") &&
	    check_database_files(calibration->dsn, "calibration", files->findings))
		tell_settings(files, "calibration", "calibration",
			      database_check_settings(calibration->dsn, calibration->password_file,
						      "calibration.", &detail),
			      &detail);
	detail.message[0] = 0;
	if (audit->dsn && *audit->dsn && !IS_WRONG(files, "audit", "dsn", "password_file") &&
	    check_database_files(audit->dsn, "archive", files->findings))
		tell_settings(files, "archive", "audit",
			      database_check_settings(audit->dsn, audit->password_file, "audit.", &detail),
			      &detail);
}

static void check_audit(const struct files *files)
{
	const struct config_audit *audit = &files->config->audit;
	char name[NOTE_NAME_MAX + 1];
	if (audit->log)
		check_audit_files(audit, audit->key_file && !IS_WRONG(files, "audit", "key_file"),
				  !IS_WRONG(files, "audit", "checkpoint_file"), name, files->findings);
}

static void check_receivers(const struct files *files)
{
	const struct config_webhook *webhook = &files->config->webhook;
	const struct config_otlp *otlp = &files->config->otlp;
	if (webhook->configured && !IS_WRONG(files, "webhook", "secret_file", "ca_file"))
		check_webhook_files(webhook, files->findings);
	if (otlp->configured && !IS_WRONG(files, "otlp", "authorization_file", "ca_file"))
		check_otlp_files(otlp, files->findings);
}

/* ---- what connection strings name ---- */

static bool report_file(const char *what, const char *keyword, err_t err, const struct err_detail *reason,
			struct findings *findings)
{
	struct err_detail detail;
	if (!err)
		return true;
	err_fail(&detail, err, "dsn: %s=%s", keyword, err_message(err, reason));
	findings_tried(findings, what, err, &detail);
	return false;
}

/* Files that may be named, or NULL, and their keywords; that of the pair is the certificate's. */
struct tls_files {
	const char *authorities, *certificate, *key;
	const char *authorities_is, *certificate_is;
};

static bool check_tls_files(const struct tls_files *files, const char *what, struct findings *findings)
{
	struct err_detail reason = { "" };
	bool good = true;
	if (files->authorities && strcmp(files->authorities, "system") != 0)
		good &= report_file(what, files->authorities_is,
				    pem_check_certificates(files->authorities, &reason), &reason, findings);
	if (files->certificate && files->key && !strchr(files->key, ':')) /* but a key in an engine */
		good &= report_file(what, files->certificate_is,
				    pem_check_pair(files->certificate, files->key, NULL, &reason), &reason,
				    findings);
	return good;
}

/* Whether a file of services has the section; `ret_there`: whether there is such a file. */
static bool has_service(const char *file, const char *service, bool *ret_there)
{
	char line[1024];
	bool found = false;
	_cleanup_(cleanup_fclose) FILE *stream = fopen(file, "re");
	*ret_there = stream != NULL;
	while (stream && !found && fgets(line, sizeof line, stream)) {
		const char *from = line + strspn(line, " \t");
		size_t len = strlen(service);
		found = *from == '[' && strncmp(from + 1, service, len) == 0 && from[1 + len] == ']';
	}
	return found;
}

/* Where libpq looks: the user's file, then the system's. */
static bool check_service(const char *service, const char *what, struct arena *arena,
			  struct findings *findings)
{
	const char *named = getenv("PGSERVICEFILE"), *folder = getenv("PGSYSCONFDIR");
	char memory[4096];
	struct passwd entry, *user = NULL;
	if (!named)
		getpwuid_r(geteuid(), &entry, memory, sizeof memory, &user);
	const char *own =
		named ? named : arena_printf(arena, "%s/.pg_service.conf", user ? user->pw_dir : "").ptr;
	const char *common =
		arena_printf(arena, "%s/pg_service.conf", folder ? folder : "/etc/postgresql-common").ptr;
	struct err_detail reason = { "" };
	bool own_there, common_there;
	if (has_service(own, service, &own_there) || has_service(common, service, &common_there))
		return true;
	return report_file(
		what, "service",
		err_fail(&reason, ERR_CONFIG_RANGE,
			 "%.60s: there is no section [%.60s] in %s%s or %s; add it, name the file in "
			 "PGSERVICEFILE of the daemon's environment, or write what it says into the dsn",
			 service, service, own, own_there ? "" : " (which is not there)", common),
		&reason, findings);
}

bool check_database_files(const char *dsn, const char *what, struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const char *mode = libpq_dsn_value(dsn, "sslmode", arena);
	const char *service = libpq_dsn_value(dsn, "service", arena);
	const struct tls_files files = {
		libpq_dsn_value(dsn, "sslrootcert", arena),
		libpq_dsn_value(dsn, "sslcert", arena),
		libpq_dsn_value(dsn, "sslkey", arena),
		"sslrootcert",
		"sslcert",
	};
	bool good = mode && strcmp(mode, "disable") == 0 ? true : check_tls_files(&files, what, findings);
	return (!service || check_service(service, what, arena, findings)) && good;
}

static bool check_file_target(const char *path, const char *what, struct arena *arena,
			      struct findings *findings)
{
	struct stat status;
	struct err_detail detail;
	if (*path != '/')
		findings_lines(
			findings, FINDING_WARNING, what,
			arena_printf(
				arena,
				"path: %s is looked for in the folder that the daemon is started in, which "
				"is / in its unit; write the whole path",
				path));
	if (stat(path, &status) == 0)
		return true;
	err_fail(&detail, ERR_TARGET_UNAVAILABLE, "path: %s: %s; mend path", path, strerror(errno));
	findings_tried(findings, what, ERR_TARGET_UNAVAILABLE, &detail);
	return false;
}

/* The library reads certificate and key from one file. */
static bool check_mongodb_files(const struct config_target *target, const char *what, struct arena *arena,
				struct findings *findings)
{
	struct mongodb_dsn dsn;
	if (mongodb_dsn_parse(target->dsn, arena, &dsn, NULL))
		return true;
	const struct tls_files files = { dsn.ca_file, dsn.key_file, dsn.key_file, "tlsCAFile",
					 "tlsCertificateKeyFile" };
	return check_tls_files(&files, what, findings);
}

bool check_target_files(const struct config_target *target, const char *what, struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct mariadb_dsn dsn;
	if (target->engine == CONFIG_POSTGRESQL)
		return check_database_files(target->dsn, what, findings);
	if (config_engine_is_file(target->engine))
		return check_file_target(target->path, what, arena, findings);
	if (target->engine == CONFIG_MONGODB)
		return check_mongodb_files(target, what, arena, findings);
	if (mariadb_dsn_parse(target->dsn, arena, &dsn, NULL))
		return true;
	const struct tls_files files = { dsn.ssl_ca, dsn.ssl_cert, dsn.ssl_key, "ssl_ca", "ssl_cert" };
	return check_tls_files(&files, what, findings);
}

static void report_wrong(err_t err, const struct err_detail *detail, void *findings)
{
	findings_tried(findings, "kafka", err, detail);
}

bool check_security(const struct kafka_settings *settings, struct arena *arena, struct findings *findings)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	struct err_detail detail = { "" };
	if (kafka_conf_new(settings, &conf, &detail)) /* which is told when it is needed */
		return true;
	findings_lines(findings, FINDING_WARNING, "kafka", security_doubts(settings, conf, arena));
	err_t err = security_check(conf, report_wrong, findings);
	if (settings->oauth && security_check_oauth(settings->oauth, report_wrong, findings))
		return false;
	return err == ERR_OK;
}

void check_schemas(const struct config *config, struct findings *findings)
{
	const char *directory = config->kafka.schema_directory;
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct err_detail detail = { "" };
	if (!directory)
		return;
	err_t err =
		codec_new(&(const struct codec_options){ .schema_directory = directory }, &codec, &detail);
	findings_tried(findings, "schema directory", err, &detail);
}

void check_files(const struct config *config, const struct conf_problems *problems, struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct files files = { config, problems, arena, findings };
	if (!IS_WRONG(&files, "kafka", "schema_directory"))
		check_schemas(config, findings);
	check_kafka(&files);
	check_targets(&files);
	check_judges(&files);
	check_databases(&files);
	check_audit(&files);
	check_receivers(&files);
	if (config->registry.configured && !IS_WRONG(&files, "registry", "password_file", "token_file",
						     "ca_file", "certificate_file", "key_file"))
		check_registry_files(&config->registry, findings);
}
