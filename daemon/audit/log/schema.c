#include "audit/log/schema.h"

#include "database/migrations.h"

/* The included list of byte values is made from the file by the build and ends with a NUL. */
static const unsigned char script[] = {
#include "schemas/audit.sql.inc"
};

static const struct migrations migrations = { (const char *)script, "audit_versions", 7236837401,
					      "tables of the audit log" };

err_t audit_schema_migrate(struct database *database, struct err_detail *detail)
{
	return migrations_apply(&migrations, database, detail);
}
