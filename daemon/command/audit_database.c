#include "command/audit_database.h"

#include "audit/archive/archive_store.h"
#include "common/log.h"

err_t audit_database_open(const struct config *config, struct database **ret_database,
			  struct err_detail *detail)
{
	struct config_database settings;
	if (!config_audit_database(config, &settings))
		return err_fail(detail, ERR_CONFIG_MISSING,
				"the configuration names no database of the audit: write audit.dsn, or the "
				"group calibration, whose database it is then");
	log_set_level(LOG_LEVEL_ERROR);
	*ret_database = database_new(settings.dsn, settings.password_file);
	database_set_settings(*ret_database, settings.settings);
	database_set_application(*ret_database, "assayd audit");
	return ERR_OK;
}

err_t audit_database_connect(struct database *database, struct err_detail *detail)
{
	int version = 0;
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = archive_store_read_version(database, &version, detail);
	if (err)
		return err;
	if (version == 0)
		return err_fail(detail, ERR_AUDIT_UNKNOWN,
				"the database has no archive; a daemon with audit.archive makes it when it "
				"scores its first event");
	if (version > archive_store_version())
		return err_fail(
			detail, ERR_DATABASE_REFUSED,
			"the archive has version %d, this program supports %d; run a newer version of "
			"assayd",
			version, archive_store_version());
	return ERR_OK;
}
