#include "address/libpq_dsn.h"
#include "address/mariadb_dsn.h"
#include "address/mongodb_dsn.h"
#include "target/engine.h"
#include "target/supervisor.h"

#define MAX_CONNECTIONS 1000
#define MAX_BYTES	((int64_t)1 << 40)

const char *target_engine_name(enum target_engine engine)
{
	static const char *const names[TARGET_ENGINES_COUNT] = {
		[TARGET_POSTGRESQL] = "postgresql",
		[TARGET_SQLITE] = "sqlite",
		[TARGET_MARIADB] = "mariadb",
		[TARGET_MONGODB] = "mongodb",
	};
	return names[engine];
}

static const char *copy_text(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

static void copy_policy(struct sql_policy *policy, struct arena *arena)
{
	str_t *functions = ARENA_ARRAY(arena, str_t, policy->allowed_functions_count);
	struct sql_required_column *columns =
		ARENA_ARRAY(arena, struct sql_required_column, policy->required_columns_count);
	for (size_t i = 0; i < policy->allowed_functions_count; i++)
		functions[i] = arena_str(arena, policy->allowed_functions[i]);
	for (size_t i = 0; i < policy->required_columns_count; i++) {
		columns[i].table = arena_str(arena, policy->required_columns[i].table);
		columns[i].column = arena_str(arena, policy->required_columns[i].column);
	}
	policy->allowed_functions = functions;
	policy->required_columns = columns;
}

static err_t check_libpq_dsn(const struct target_settings *settings, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	err_t err = libpq_dsn_check(settings->dsn, &reason);
	return err ? err_fail(detail, err, "target \"%s\": dsn: %s", settings->name, reason.message) : ERR_OK;
}

static err_t check_mariadb_dsn(const struct target_settings *settings, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail reason = { "" };
	struct mariadb_dsn dsn;
	err_t err = mariadb_dsn_parse(settings->dsn, arena, &dsn, &reason);
	return err ? err_fail(detail, err, "target \"%s\": %s", settings->name, err_message(err, &reason))
		   : ERR_OK;
}

static err_t check_mongodb_dsn(const struct target_settings *settings, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail reason = { "" };
	struct mongodb_dsn dsn;
	err_t err = mongodb_dsn_parse(settings->dsn, arena, &dsn, &reason);
	return err ? err_fail(detail, err, "target \"%s\": %s", settings->name, err_message(err, &reason))
		   : ERR_OK;
}

static err_t check_dsn(const struct target_settings *settings, struct err_detail *detail)
{
	if (!settings->dsn)
		return err_fail(detail, ERR_CONFIG_MISSING, "target \"%s\": dsn is missing", settings->name);
	switch (settings->engine) {
	case TARGET_MARIADB:
		return check_mariadb_dsn(settings, detail);
	case TARGET_MONGODB:
		return check_mongodb_dsn(settings, detail);
	case TARGET_POSTGRESQL:
	case TARGET_SQLITE:
		break;
	}
	return check_libpq_dsn(settings, detail);
}

static err_t check_engine(const struct target_settings *settings, struct err_detail *detail)
{
	if (!target_engine_is_file(settings->engine))
		return check_dsn(settings, detail);
	if (!settings->path)
		return err_fail(detail, ERR_CONFIG_MISSING, "target \"%s\": path is missing", settings->name);
	return ERR_OK;
}

static err_t check_numbers(const struct target_settings *settings, struct err_detail *detail)
{
	const struct {
		const char *name;
		int64_t value, largest;
	} positive[] = {
		{ "connections", settings->connections, MAX_CONNECTIONS },
		{ "statement_timeout_ms", settings->statement_timeout_ms, INT32_MAX },
		{ "max_rows", settings->max_rows, INT32_MAX },
		{ "max_result_bytes", settings->max_result_bytes, MAX_BYTES },
		{ "catalog_ttl_s", settings->catalog_ttl_s, INT32_MAX },
		{ "sample_documents", settings->sample_documents, INT32_MAX },
	};
	if (settings->idle_timeout_s < 0 || settings->idle_timeout_s > INT32_MAX)
		return err_fail(detail, ERR_CONFIG_RANGE,
				"target \"%s\": idle_timeout_s = %lld is out of range", settings->name,
				(long long)settings->idle_timeout_s);
	for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
		if (positive[i].value < 1 || positive[i].value > positive[i].largest)
			return err_fail(detail, ERR_CONFIG_RANGE, "target \"%s\": %s = %lld is out of range",
					settings->name, positive[i].name, (long long)positive[i].value);
	return ERR_OK;
}

err_t target_settings_copy(const struct target_settings *from, struct arena *arena,
			   struct target_settings *ret_settings, struct err_detail *detail)
{
	err_t err = from->name ? check_engine(from, detail)
			       : err_fail(detail, ERR_CONFIG_MISSING, "a target has no name");
	if (!err)
		err = check_numbers(from, detail);
	if (err)
		return err;
	*ret_settings = *from;
	ret_settings->name = copy_text(arena, from->name);
	ret_settings->dsn = copy_text(arena, from->dsn);
	ret_settings->password_file = copy_text(arena, from->password_file);
	ret_settings->path = copy_text(arena, from->path);
	copy_policy(&ret_settings->policy, arena);
	return ERR_OK;
}
