#include "calibration/store/schema.h"

#include "database/migrations.h"

/* The included list of byte values is made from the file by the build and ends with a NUL. */
static const unsigned char script[] = {
#include "schemas/calibration.sql.inc"
};

/* Another lock than the segments'. */
static const struct migrations migrations = { (const char *)script, "calibration_migrations", 7236837201,
					      "calibration tables" };

int calibration_schema_version(void)
{
	return migrations_newest(&migrations);
}

err_t calibration_schema_read(struct database *database, int *ret_version, struct err_detail *detail)
{
	return migrations_read(&migrations, database, ret_version, detail);
}

err_t calibration_schema_migrate(struct database *database, struct err_detail *detail)
{
	return migrations_apply(&migrations, database, detail);
}

err_t calibration_schema_mismatch(int version, struct err_detail *detail)
{
	int newest = calibration_schema_version();
	if (version == 0)
		return err_fail(
			detail, ERR_DATABASE_REFUSED,
			"there are no calibration tables in this database: the daemon makes them when it "
			"starts; if it runs, calibration.dsn is not that of its database");
	if (version > newest)
		return err_fail(
			detail, ERR_DATABASE_REFUSED,
			"the calibration tables have version %d, this program knows up to %d: a newer "
			"version of assayd has brought them up to date; use that",
			version, newest);
	return err_fail(
		detail, ERR_DATABASE_REFUSED,
		"the calibration tables have version %d, this program needs %d; the daemon brings them up "
		"to date when it starts",
		version, newest);
}
