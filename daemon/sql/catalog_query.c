#include "sql/catalog.h"

/* catalog_query.sql as it stands. */
const char CATALOG_QUERY_POSTGRESQL[] = {
#include "daemon/sql/catalog_query.sql.inc"
};
