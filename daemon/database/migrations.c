#include "database/migrations.h"

#include "common/buf.h"
#include "common/log.h"

#include <inttypes.h>

#define MARK "\n-- migration "

struct migration {
	int version;
	str_t sql;
};

/* The section that begins at the next mark; false: there is none. Moves `at` behind its mark. */
static bool next_migration(const char **at, struct migration *ret_migration)
{
	const char *mark = strstr(*at, MARK);
	if (!mark)
		return false;
	const char *end = strstr(mark + 1, MARK);
	*at = mark + 1;
	ret_migration->version = (int)strtol(mark + strlen(MARK), NULL, 10);
	ret_migration->sql = (str_t){ mark + 1, end ? (size_t)(end - mark - 1) : strlen(mark + 1) };
	return true;
}

int migrations_newest(const struct migrations *migrations)
{
	const char *at = migrations->script;
	struct migration migration = { 0, STR_NONE };
	while (next_migration(&at, &migration))
		;
	return migration.version;
}

static err_t query_number(struct database *database, const char *sql, int *ret_number,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, 0, NULL, &result, detail);
	if (!err)
		*ret_number = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
	return err;
}

err_t migrations_read(const struct migrations *migrations, struct database *database, int *ret_version,
		      struct err_detail *detail)
{
	int exists = 0;
	char sql[160];
	snprintf(sql, sizeof sql, "SELECT count(to_regclass('%s'))", migrations->versions_table);
	err_t err = query_number(database, sql, &exists, detail);
	if (!err && !exists)
		*ret_version = 0;
	if (err || !exists)
		return err;
	snprintf(sql, sizeof sql, "SELECT coalesce(max(version), 0) FROM %s", migrations->versions_table);
	return query_number(database, sql, ret_version, detail);
}

/* Inside of a transaction that holds the lock. */
static err_t apply(const struct migrations *migrations, struct database *database,
		   const struct migration *migration, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf script = BUF_INIT;
	buf_append_str(&script, migration->sql);
	buf_printf(&script, "\nINSERT INTO %s (version) VALUES (%d);", migrations->versions_table,
		   migration->version);
	err_t err = database_script(database, script.data, detail);
	if (!err)
		log_notice("%s: migration %d applied", migrations->what, migration->version);
	return err;
}

static err_t begin(const struct migrations *migrations, struct database *database, struct err_detail *detail)
{
	char script[320];
	snprintf(script, sizeof script,
		 "BEGIN; SELECT pg_advisory_xact_lock(%" PRId64 "); CREATE TABLE IF NOT EXISTS %s ("
		 "version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
		 migrations->lock, migrations->versions_table);
	return database_script(database, script, detail);
}

static err_t migrate_to(const struct migrations *migrations, struct database *database,
			const struct migration *migration, struct err_detail *detail)
{
	int version = 0;
	err_t err = begin(migrations, database, detail);
	if (!err)
		err = migrations_read(migrations, database, &version, detail);
	if (!err && version < migration->version)
		err = apply(migrations, database, migration, detail);
	if (!err)
		err = database_script(database, "COMMIT", detail);
	if (err)
		database_script(database, "ROLLBACK", NULL);
	return err;
}

err_t migrations_apply(const struct migrations *migrations, struct database *database,
		       struct err_detail *detail)
{
	const char *at = migrations->script;
	struct migration migration;
	int version = 0, newest = migrations_newest(migrations);
	err_t err = migrations_read(migrations, database, &version, detail);
	if (!err && version > newest)
		err = err_fail(
			detail, ERR_DATABASE_REFUSED,
			"the %s have version %d, this program supports %d; run a newer version of assayd",
			migrations->what, version, newest);
	while (!err && version < newest && next_migration(&at, &migration))
		if (migration.version > version)
			err = migrate_to(migrations, database, &migration, detail);
	return err;
}
