#include "calibration/schema.h"

#include "common/buf.h"
#include "common/log.h"

/* The included list of byte values is made from the file by the build and ends with a NUL. */
static const unsigned char migrations[] = {
#include "schemas/calibration.sql.inc"
};

#define MARK "\n-- migration "

/* Any number that is the same in all instances; another lock than the segments'. */
#define LOCK_MIGRATIONS "SELECT pg_advisory_xact_lock(7236837201)"

#define CREATE_VERSIONS                                                                                      \
	"CREATE TABLE IF NOT EXISTS calibration_migrations ("                                                \
	"version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"

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

int calibration_schema_version(void)
{
	const char *at = (const char *)migrations;
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

err_t calibration_schema_read(struct database *database, int *ret_version, struct err_detail *detail)
{
	int exists = 0;
	err_t err = query_number(database, "SELECT count(to_regclass('calibration_migrations'))", &exists,
				 detail);
	if (!err && !exists)
		*ret_version = 0;
	if (err || !exists)
		return err;
	return query_number(database, "SELECT coalesce(max(version), 0) FROM calibration_migrations",
			    ret_version, detail);
}

/* Inside of a transaction that holds the lock. */
static err_t apply(struct database *database, const struct migration *migration, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf script = BUF_INIT;
	buf_append_str(&script, migration->sql);
	buf_printf(&script, "\nINSERT INTO calibration_migrations (version) VALUES (%d);",
		   migration->version);
	err_t err = database_script(database, script.data, detail);
	if (!err)
		log_notice("calibration database: migration %d applied", migration->version);
	return err;
}

static err_t migrate_to(struct database *database, const struct migration *migration,
			struct err_detail *detail)
{
	int version = 0;
	err_t err = database_script(database, "BEGIN; " LOCK_MIGRATIONS "; " CREATE_VERSIONS, detail);
	if (!err)
		err = calibration_schema_read(database, &version, detail);
	if (!err && version < migration->version)
		err = apply(database, migration, detail);
	if (!err)
		err = database_script(database, "COMMIT", detail);
	if (err)
		database_script(database, "ROLLBACK", NULL);
	return err;
}

err_t calibration_schema_migrate(struct database *database, struct err_detail *detail)
{
	const char *at = (const char *)migrations;
	struct migration migration;
	int version = 0, newest = calibration_schema_version();
	err_t err = calibration_schema_read(database, &version, detail);
	if (!err && version > newest)
		err = err_fail(detail, ERR_DATABASE_REFUSED,
			       "the calibration tables have version %d, this program knows %d; run the newer "
			       "program",
			       version, newest);
	while (!err && version < newest && next_migration(&at, &migration))
		if (migration.version > version)
			err = migrate_to(database, &migration, detail);
	return err;
}
