#include "audit/archive/archive_check.h"

#include "audit/archive/archive_store.h"

#define MAY_CREATE "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"

#define MAY_WRITE                                                                                            \
	"SELECT has_table_privilege('audit_archive', 'SELECT') AND has_table_privilege('audit_archive', "    \
	"'INSERT') AND has_table_privilege('audit_archive', 'UPDATE') AND "                                  \
	"has_table_privilege('audit_archive', 'DELETE')"

static err_t check_rights(struct database *database, int version, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	bool outdated = version < archive_store_version();
	err_t err = database_query(database, outdated ? MAY_CREATE : MAY_WRITE, 0, NULL, &result, detail);
	if (err || PQgetvalue(result, 0, 0)[0] == 't')
		return err;
	return err_fail(detail, ERR_DATABASE_REFUSED, "%s",
			outdated
				? "the role is not allowed to create the archive's table; grant it CREATE "
				  "on the schema, or have the owner of the schema apply schemas/archive.sql"
				: "the role may not use the archive's table; grant it SELECT, INSERT, UPDATE "
				  "and DELETE on audit_archive");
}

err_t archive_check(const char *dsn, const char *password_file, const char *settings, struct arena *arena,
		    str_t *ret_notes, struct err_detail *detail)
{
	_cleanup_(database_cleanup) struct database *database = database_new(dsn, password_file);
	int version = 0, newest = archive_store_version();
	database_set_settings(database, settings);
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = archive_store_read_version(database, &version, detail);
	if (!err && version > newest)
		err = err_fail(detail, ERR_DATABASE_REFUSED,
			       "the archive has version %d, this program supports %d; run a newer version of "
			       "assayd",
			       version, newest);
	if (!err)
		err = check_rights(database, version, detail);
	if (!err)
		*ret_notes = version < newest
				     ? arena_printf(arena,
						    "the archive has version %d; the daemon brings it to %d "
						    "with the first event\n",
						    version, newest)
				     : STR_NONE;
	return err;
}
