#include "config/secret.h"

#include "common/secret.h"

#include <limits.h>

/* What the name of a systemd credential begins with that was loaded as `credentials:` and a directory. */
static const char prefix[] = "credentials_";

/* Whether a part of it between slashes is longer than systems take. */
static bool is_too_long(const char *name)
{
	for (const char *at = name; *at;) {
		size_t len = strcspn(at, "/");
		if (len > NAME_MAX)
			return true;
		at += len + (at[len] == '/');
	}
	return strlen(name) >= PATH_MAX;
}

bool config_is_secret_itself(const char *name)
{
	static const char *const beginnings[] = { "sk-",     "sk_",	    "gsk_",	   "xai-",
						  "hf_",     "AIza",	    "eyJhbG",	   "ghp_",
						  "Bearer ", "-----BEGIN ", "PRIVATE+KEY+" };
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (!strchr(name, '/') && strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return strchr(name, '\n') || is_too_long(name);
}

/* "credentials/NAME" beside the configuration, whether it is there or not. */
static const char *file_beside(const char *config_file, const char *name, const char *mark,
			       struct arena *arena)
{
	const char *slash = strrchr(config_file, '/');
	size_t directory_len = slash ? (size_t)(slash - config_file) + 1 : 0;
	if (strncmp(name, prefix, sizeof prefix - 1) == 0)
		name += sizeof prefix - 1;
	return arena_printf(arena, "%.*scredentials/%s%s", (int)directory_len, config_file, mark, name).ptr;
}

const char *config_secret_file(const char *name, const char *config_file, struct arena *arena)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");
	if (*name == '/')
		return name;
	if (directory) {
		const char *passed = arena_printf(arena, "%s/%s", directory, name).ptr;
		if (access(passed, F_OK) == 0)
			return passed;
	}
	const char *beside = file_beside(config_file, name, "", arena);
	if (access(beside, F_OK) == 0)
		return beside;
	if (access(name, F_OK) == 0)
		return name;
	bool is_name = strchr(name, '/') || strncmp(name, prefix, sizeof prefix - 1) == 0;
	return is_name ? beside : file_beside(config_file, name, SECRET_HIDES, arena);
}

/* Those of single groups. */
static const struct {
	const char *setting;
	size_t offset; /* of the name in struct config */
} single[] = {
	{ "judge.api_key_file", offsetof(struct config, judge.api_key_file) },
	{ "judge.cache_password_file", offsetof(struct config, judge.cache_password_file) },
	{ "panel.cache_password_file", offsetof(struct config, panel.cache_password_file) },
	{ "calibration.password_file", offsetof(struct config, calibration.password_file) },
	{ "audit.password_file", offsetof(struct config, audit.password_file) },
	{ "audit.key_file", offsetof(struct config, audit.key_file) },
	{ "webhook.secret_file", offsetof(struct config, webhook.secret_file) },
	{ "registry.password_file", offsetof(struct config, registry.password_file) },
	{ "registry.token_file", offsetof(struct config, registry.token_file) },
	{ "registry.key_file", offsetof(struct config, registry.key_file) },
	{ "otlp.authorization_file", offsetof(struct config, otlp.authorization_file) },
	{ "kafka.oauth.client_secret_file", offsetof(struct config, oauth.client_secret_file) },
};

void config_each_secret(const struct config *config,
			void (*visit)(const char *setting, const char *file, void *context), void *context)
{
	const struct conf_strings *properties = &config->kafka.secret_properties;
	char setting[64];
	for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
		const char *file = *(const char *const *)((const char *)config + single[i].offset);
		if (file)
			visit(single[i].setting, file, context);
	}
	for (size_t i = 0; i < config->judges_count; i++) {
		snprintf(setting, sizeof setting, "judges[%zu].api_key_file", i);
		if (config->judges[i].api_key_file)
			visit(setting, config->judges[i].api_key_file, context);
	}
	for (size_t i = 0; i < config->targets_count; i++) {
		snprintf(setting, sizeof setting, "targets[%zu].password_file", i);
		if (config->targets[i].password_file)
			visit(setting, config->targets[i].password_file, context);
	}
	for (size_t i = 0; i < properties->count; i++) {
		const char *file = strchr(properties->items[i], '=');
		snprintf(setting, sizeof setting, "kafka.secret_properties[%zu]", i);
		if (file && file[1])
			visit(setting, file + 1, context);
	}
}

/* A secret that stands where its file's name should: nobody gets to see it, nor looks for such a file. */
static void resolve(const char **name, const char *path, struct arena *arena)
{
	if (*name)
		*name = config_is_secret_itself(*name) ? NULL : config_secret_file(*name, path, arena);
}

void config_resolve_secrets(struct config *config, const char *path, struct arena *arena)
{
	struct conf_strings *properties = &config->kafka.secret_properties;
	const char **resolved = ARENA_ARRAY(arena, const char *, properties->count);
	for (size_t i = 0; i < sizeof single / sizeof *single; i++)
		resolve((const char **)((char *)config + single[i].offset), path, arena);
	for (size_t i = 0; i < config->judges_count; i++)
		resolve(&config->judges[i].api_key_file, path, arena);
	for (size_t i = 0; i < config->targets_count; i++)
		resolve(&config->targets[i].password_file, path, arena);
	for (size_t i = 0; i < properties->count; i++) {
		const char *property = properties->items[i];
		size_t len = strcspn(property, "=");
		const char *file = property[len] ? property + len + 1 : NULL;
		resolve(&file, path, arena);
		resolved[i] =
			property[len]
				? arena_printf(arena, "%.*s=%s", (int)len, property, file ? file : "").ptr
				: property;
	}
	properties->items = resolved;
}

err_t config_read_property(const char *property, char **ret_value, struct err_detail *detail)
{
	size_t len = strcspn(property, "=");
	bool is_pem = len >= 4 && strncmp(property + len - 4, ".pem", 4) == 0;
	return (is_pem ? secret_read : secret_read_password)(property + len + 1, ret_value, detail);
}

err_t config_kafka_properties(const struct config *config, struct arena *arena,
			      struct conf_strings *ret_properties, struct err_detail *detail)
{
	const struct conf_strings *plain = &config->kafka.properties,
				  *secret = &config->kafka.secret_properties;
	const char **items = ARENA_ARRAY(arena, const char *, plain->count + secret->count);
	for (size_t i = 0; i < plain->count; i++)
		items[i] = plain->items[i];
	for (size_t i = 0; i < secret->count; i++) {
		_cleanup_(secret_free) char *value = NULL;
		size_t len = strcspn(secret->items[i], "=");
		struct err_detail reason = { "" };
		err_t err = config_read_property(secret->items[i], &value, &reason);
		if (err)
			return err_fail(detail, err, "kafka.secret_properties: %.*s: %s", (int)len,
					secret->items[i], reason.message);
		items[plain->count + i] =
			arena_printf(arena, "%.*s=%s", (int)len, secret->items[i], value).ptr;
	}
	*ret_properties = (struct conf_strings){ items, plain->count + secret->count };
	return ERR_OK;
}
