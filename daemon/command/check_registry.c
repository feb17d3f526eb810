#include "command/check_registry.h"

#include "address/base_url.h"
#include "command/settings.h"
#include "common/pem.h"
#include "common/secret.h"

static const char files_title[] = "schema registry files";

static bool is_good(const char *setting, err_t err, const struct err_detail *reason,
		    struct findings *findings)
{
	struct err_detail detail;
	if (!err)
		return true;
	err_fail(&detail, err, "registry.%s: %s", setting, err_message(err, reason));
	findings_tried(findings, files_title, err, &detail);
	return false;
}

static err_t read_token(const char *file, char **ret_token, struct err_detail *detail)
{
	err_t err = secret_read_line(file, ret_token, detail);
	if (!err && strncasecmp(*ret_token, "Bearer ", 7) == 0)
		err = err_fail(
			detail, ERR_CONFIG_RANGE,
			"%s: it begins with \"Bearer\", which assayd writes itself; leave the token alone",
			file);
	return err;
}

/* What is wrong with the key is told of the setting that names it. */
static bool check_pair(const char *certificate, const char *key, struct findings *findings)
{
	struct err_detail reason = { "" };
	err_t err = pem_check_certificates(certificate, &reason);
	if (err)
		return is_good("certificate_file", err, &reason, findings);
	err = pem_check_key(key ? key : certificate, NULL, &reason);
	if (err && key)
		return is_good("key_file", err, &reason, findings);
	if (err)
		err = err_fail(&reason, err, "%s: it holds no private key; name that in registry.key_file",
			       certificate);
	else
		err = pem_check_pair(certificate, key ? key : certificate, NULL, &reason);
	return is_good("certificate_file", err, &reason, findings);
}

static void warn_of_plain_text(const struct config_registry *registry, struct findings *findings)
{
	for (size_t i = 0; i < registry->urls.count && (registry->password_file || registry->token_file); i++)
		if (base_url_is_plain(registry->urls.items[i])) {
			findings_lines(findings, FINDING_WARNING, files_title,
				       STR("registry.urls: plain http to another host: the login travels "
					   "unencrypted; use https"));
			return;
		}
}

bool check_registry_files(const struct config_registry *registry, struct findings *findings)
{
	_cleanup_(secret_free) char *password = NULL, *token = NULL;
	const char *certificate = registry->certificate_file;
	const char *key = registry->key_file;
	struct err_detail reason = { "" };
	bool good = true;
	if (registry->password_file)
		good &= is_good("password_file",
				secret_read_password(registry->password_file, &password, &reason), &reason,
				findings);
	if (registry->token_file)
		good &= is_good("token_file", read_token(registry->token_file, &token, &reason), &reason,
				findings);
	if (registry->ca_file)
		good &= is_good("ca_file", pem_check_certificates(registry->ca_file, &reason), &reason,
				findings);
	if (certificate)
		good &= check_pair(certificate, key, findings);
	if (good)
		findings_ok(findings, files_title);
	warn_of_plain_text(registry, findings);
	return good;
}

/* Whether one address answers. */
static bool check_url(const struct config *config, const struct registry_settings *settings, size_t index,
		      struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct registry_settings one = *settings;
	struct registry_standing standing;
	struct err_detail detail = { "" };
	one.urls = &settings->urls[index];
	one.urls_count = 1;
	const char *subject = settings_subject(config, RECORD_QUERY, arena);
	err_t err = registry_look(&one, subject, RECORD_QUERY, &standing, &detail);
	findings_tried(findings, arena_printf(arena, "schema registry %s", settings->urls[index]).ptr, err,
		       &detail);
	return err == ERR_OK;
}

/* Producers may use others, too; the newest is what is known of them. */
static void check_input(const struct config *config, const struct registry_settings *settings,
			struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	const struct schema_name name = { .id = 1 };
	struct err_detail detail = { "" };
	const char *subject = settings_subject(config, RECORD_QUERY, arena);
	const char *what = arena_printf(arena, "schema registry, subject %s", subject).ptr;
	err_t err = registry_latest(settings, subject, &schema, &detail);
	if (err == ERR_SCHEMA_UNKNOWN) {
		findings_none(findings, what, "it is not there yet: the first producer registers its schema");
		return;
	}
	if (!err)
		err = codec_new(&(const struct codec_options){ .max_named = 1 }, &codec, &detail);
	if (!err)
		err = codec_learn_named(codec, &name, buf_str(&schema), &detail);
	findings_tried(findings, what, err, &detail);
}

static void check_output(const struct config *config, const struct registry_settings *settings,
			 enum record_id record, struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct registry_standing standing;
	struct err_detail detail = { "" };
	const char *subject = settings_subject(config, record, arena);
	const char *what = arena_printf(arena, "schema registry, subject %s", subject).ptr;
	err_t err = registry_look(settings, subject, record, &standing, &detail);
	if (!err && !standing.id && !standing.compatible)
		err = err_fail(&detail, ERR_SCHEMA_INCOMPATIBLE,
			       "our schema is not compatible with what it has%s%s; change the subject's "
			       "compatibility, or registry.subject_name_strategy",
			       standing.why[0] ? ": " : "", standing.why);
	else if (!err && !standing.id && !config->registry.may_register)
		err = err_fail(&detail, ERR_SCHEMA_UNKNOWN,
			       "it does not have our schema (%s); register that there, or set "
			       "registry.register",
			       builtin_record(record)->name);
	findings_tried(findings, what, err, &detail);
	if (!err && !standing.id)
		findings_lines(findings, FINDING_NOTE, what,
			       STR("our schema is registered at the next start"));
}

void check_registry(const struct config *config, struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct registry_settings *settings = settings_registry(config, arena);
	bool answers = false;
	if (!settings || !check_registry_files(&config->registry, findings))
		return;
	for (size_t i = 0; i < settings->urls_count; i++)
		answers |= check_url(config, settings, i, findings);
	if (!answers)
		return;
	check_input(config, settings, findings);
	if (config->kafka.wire_format != CONFIG_CONFLUENT)
		return;
	check_output(config, settings, RECORD_SCORED, findings);
	check_output(config, settings, RECORD_ADVISORY, findings);
}
