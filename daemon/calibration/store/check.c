#include "calibration/store/check.h"

#include "calibration/store/schema.h"
#include "database/database.h"

/* trim_scale and, without an extension, gen_random_uuid came with 13. What is tried is 15. */
#define OLDEST_SERVER 130000

static err_t query_flag(struct database *database, const char *sql, bool *ret_flag, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, 0, NULL, &result, detail);
	if (!err)
		*ret_flag = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
	return err;
}

#define MAY_CREATE "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"

#define MAY_WRITE                                                                                            \
	"SELECT bool_and(has_table_privilege(t, 'SELECT') AND has_table_privilege(t, 'INSERT') "             \
	"AND has_table_privilege(t, 'UPDATE') AND has_table_privilege(t, 'DELETE')) "                        \
	"AND has_table_privilege('calibration_sums', 'SELECT') "                                             \
	"FROM unnest(ARRAY['calibration_positions', 'calibration_segments', 'calibration_buckets', "         \
	"'calibration_rollups', 'calibration_totals', 'calibration_hour_totals', 'calibration_sequences', "  \
	"'calibration_examples', "                                                                           \
	"'calibration_models', 'calibration_model_looks', 'calibration_model_judgements', "                  \
	"'calibration_claims', 'calibration_rules', "                                                        \
	"'calibration_drift_episodes', 'calibration_events', 'calibration_feedback']) AS t"

static err_t check_rights(struct database *database, int version, struct err_detail *detail)
{
	bool may = false;
	bool outdated = version < calibration_schema_version();
	err_t err = query_flag(database, outdated ? MAY_CREATE : MAY_WRITE, &may, detail);
	if (err || may)
		return err;
	if (outdated)
		return err_fail(
			detail, ERR_DATABASE_REFUSED,
			"the role is not allowed to create the calibration tables; grant it CREATE on the "
			"schema, or have the owner of the schema apply schemas/calibration.sql");
	return err_fail(detail, ERR_DATABASE_REFUSED,
			"the role may not use the calibration tables; grant it SELECT, INSERT, UPDATE and "
			"DELETE on them");
}

static err_t check_version(struct database *database, int version, struct err_detail *detail)
{
	int server = database_version(database);
	if (server < OLDEST_SERVER)
		return err_fail(detail, ERR_DATABASE_REFUSED,
				"PostgreSQL %d is too old; 13 or later is needed", server / 10000);
	if (version > calibration_schema_version())
		return err_fail(detail, ERR_DATABASE_REFUSED,
				"the calibration tables have version %d, this program supports %d; run a "
				"newer version of assayd",
				version, calibration_schema_version());
	return ERR_OK;
}

err_t calibration_check(const char *dsn, const char *password_file, struct arena *arena, str_t *ret_notes,
			str_t *ret_warnings, struct err_detail *detail)
{
	_cleanup_(database_cleanup) struct database *database = database_new(dsn, password_file);
	int version = 0, newest = calibration_schema_version();
	bool superuser = false;
	database_set_settings(database, "calibration.");
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = calibration_schema_read(database, &version, detail);
	if (!err)
		err = check_version(database, version, detail);
	if (!err)
		err = check_rights(database, version, detail);
	if (!err)
		err = query_flag(database, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user",
				 &superuser, detail);
	if (err)
		return err;
	*ret_notes = version < newest
			     ? arena_printf(arena,
					    "the calibration tables have version %d; the daemon brings them "
					    "to %d when it starts\n",
					    version, newest)
			     : STR_NONE;
	*ret_warnings =
		superuser ? STR("the role is a superuser; use a role that owns only the calibration tables\n")
			  : STR_NONE;
	return ERR_OK;
}
