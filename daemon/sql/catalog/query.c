#include "sql/catalog/catalog.h"

/* The files as they stand. */
const char CATALOG_QUERY_POSTGRESQL[] = {
#include "daemon/sql/catalog/catalog_query.sql.inc"
};

const char CATALOG_QUERY_MYSQL[] = {
#include "daemon/sql/catalog/catalog_query_mysql.sql.inc"
};
